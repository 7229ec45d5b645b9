"""Functions of two numbers as people write them, with lists and conversions: run once with `np` as NumPy and once as functad.numpy."""

# ruff: noqa: F821 -- np is put into the namespace of this file by the test


def solve(x, y):
    return np.linalg.solve(np.array([[x, 1.0], [1.0, y]]), np.array([1.0, 2.0]))


def solve_lists(x, y):
    return np.linalg.solve([[x, 1.0], [1.0, y]], [x, 2.0])


def determinant(x, y):
    return np.linalg.det(np.array([[x, 2.0], [y, 1.0]]))


def norm(x, y):
    return np.linalg.norm([x, y])


def norm_of_rows(x, y):
    return np.linalg.norm([[x, y], [1.0, 2.0]], axis=1)


def mean(x, y):
    return np.mean([x, y])


def mean_dtype(x, y):
    return np.mean([x, y], dtype=float)


def spread(x, y):
    return np.std([x, y, 1.0]) + np.var((x, y))


def median(x, y):
    return np.median([x, y, 0.1])


def converted(x, y):
    return np.asarray([x, y], dtype=float) * np.asarray(x, dtype=float)


def filled(x, y):
    return np.full((2, 2), x) + np.full_like(np.ones(2), y)


def stacked(x, y):
    return np.concatenate([np.array([x, y]), np.ones(2)]) * np.hstack([x, y, x, y])


def blocks(x, y):
    return np.block([[np.array([[x]]), np.ones((1, 2))]])


def rotated(x, y):
    return np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]) @ np.array([y, 1.0])


def spectrum(x, y):
    return np.abs(np.fft.rfft([x, y, 0.5]))


def interpolated(x, y):
    return np.interp(0.3, [0.0, 1.0], [x, y])


def polynomial(x, y):
    return np.polyval([x, y, 1.0], 2.0)


def covariance(x, y):
    return np.cov([x, y, 1.0], [1.0, 2.0, 4.0])


def sorted_and_chosen(x, y):
    return np.where(np.sort([y, x]) > 0.6, [x, y], 0.0)


def sums(x, y):
    return np.sum([x, y]) + np.prod([x, y]) + np.max([x, y]) + np.cumsum([x, y])[-1] + np.dot([x, y], [1.0, 2.0])


def einsum(x, y):
    return np.einsum("i,ij->j", [x, y], np.array([[1.0, 2.0], [3.0, x]]))


def steps(x, y):
    return np.arange(x, x + 2.0, 0.5) * np.linspace(x, y, 4)


def elementwise(x, y):
    return np.vectorize(lambda a, b: a * b if a > b else a)([x, y], 1.0)


def elementwise_of_floats(x, y):
    return np.vectorize(lambda a: a * a, otypes=[float])([x, y])


def from_generator(x, y):
    return np.fromiter((v * v for v in (x, y)), float)


def required(x, y):
    return np.require([x, y], float) + np.asfortranarray([[x], [y]]).sum() + np.asarray_chkfinite([x, y])


def plain(x, y):
    return np.zeros(2) + np.eye(2)[0] * np.pi + np.float64(1.5) + np.random.default_rng(0).normal(size=2) * np.inf**-1


def lexical(x, y):
    return np.array([x, y])[np.lexsort([[x, y], [1, 1]])]


def extremes(x, y):
    return np.clip([x, y], 0.0, 1.0) + np.diff([x, y]) + np.outer([x, y], [1.0, 2.0])[0] + np.average([x, y], weights=[1.0, x])
