"""A branch that `where` does not take has no derivative, whatever operations it is made of: those that mix elements, and inner programs, too.

Each branch has an infinite derivative at 0, and `where` takes x: the derivative is 1, by every route, and no higher one is a NaN.
"""

import numpy as np
import pytest

import functad as fd

BRANCHES = {
    "var": lambda x: np.var(np.log(np.stack([x, x + 1]))),
    "std": lambda x: np.std(np.sqrt(np.stack([x, 2 * x]))),
    "centred": lambda x: np.sum((np.sqrt(x * np.ones(3)) - np.mean(np.sqrt(x * np.ones(3)))) * np.sqrt(x)),
    "cumsum": lambda x: np.cumsum(np.sqrt(np.stack([x, x])))[-1],
    "cumprod": lambda x: np.sum(np.cumprod(np.sqrt(np.stack([x, x])))),
    "prod": lambda x: np.prod(np.log(np.stack([x, x]))),
    "outer": lambda x: np.sum(np.outer(np.sqrt(np.stack([x, x])), np.log(np.stack([x, x])))),
    "dot": lambda x: np.dot(np.sqrt(np.stack([x, x])), np.ones(2)) * np.log(x),
    "scan": lambda x: fd.scan(lambda c, _: (np.sqrt(c), c), x, np.ones(3))[0],
    "stacked": lambda x: np.sum(fd.scan(lambda c, _: (c, np.log(c) * c), x, np.ones(3))[1]),
    "cond": lambda x: fd.cond(True, np.sqrt, np.sin, x),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branch_not_taken(name):
    def f(x):
        return np.where(x > 0, BRANCHES[name](x), x)

    zeros, ones = np.zeros(2), np.ones(2)
    routes = {
        "reverse": fd.grad(f)(0.0),
        "forward": fd.jvp(f, (0.0,), (1.0,))[1],
        "compiled": fd.jit(fd.grad(f))(0.0),
        "mapped": fd.vmap(fd.grad(f))(zeros)[0],
        "of mapped": fd.grad(lambda z: np.sum(fd.vmap(f)(z)))(zeros)[0],
        "forward of mapped": fd.jvp(fd.vmap(f), (zeros,), (ones,))[1][0],
    }
    assert routes == dict.fromkeys(routes, 1.0)
    for second in (fd.grad(fd.grad(f)), fd.jacfwd(fd.grad(f)), fd.jacfwd(fd.jacfwd(f))):
        assert second(0.0) == 0.0


def test_branch_taken_is_untouched():
    def f(x):
        return np.where(x > 0, BRANCHES["var"](x) + BRANCHES["scan"](x), x)

    def plain(x):
        return np.var(np.log(np.stack([x, x + 1]))) + np.sqrt(np.sqrt(np.sqrt(x)))

    h = 1e-3
    fine, coarse = [(plain(0.75 + d) - plain(0.75 - d)) / (2 * d) for d in (h, 2 * h)]
    np.testing.assert_allclose(fd.grad(f)(0.75), (4 * fine - coarse) / 3, rtol=1e-9)


def test_rows_some_of_which_are_masked():
    x = np.array([[0.0, 1.0], [2.0, 3.0]])
    live = np.array([False, True])

    def f(x):
        y = np.sqrt(x)
        return np.sum(np.where(live[:, None], np.cumsum(y - y.mean(1, keepdims=True), axis=1) ** 2, 0.0))

    def row(x):
        return np.cumsum(np.sqrt(x) - np.sqrt(x).mean())[0] ** 2

    h, unit = 1e-3, np.eye(2)
    fine, coarse = [np.array([(row(x[1] + d * e) - row(x[1] - d * e)) / (2 * d) for e in unit]) for d in (h, 2 * h)]
    np.testing.assert_allclose(fd.grad(f)(x), [[0.0, 0.0], (4 * fine - coarse) / 3], rtol=1e-8)
