"""Is the gradient of 1/a really -1/a**2, to the last bit?

No: it is -(1/a)*(1/a), which has the same real value and another rounding. This example counts how often the two differ, by how
many units in the last place (ULP), and how often each is the floating-point number nearest to the true derivative.
"""

from fractions import Fraction

import numpy as np

import functad as fd


def total_of_reciprocals(a):
    """The sum of 1/a, a scalar, so that its gradient holds the derivative of each reciprocal."""
    return np.sum(1 / a)


def random_values(dtype, count: int = 10_000, seed: int = 0) -> np.ndarray:
    """Values of both signs, shape (count,), spread evenly over the orders of magnitude from 1e-3 to 1e3."""
    generator = np.random.default_rng(seed)
    return (generator.choice([-1.0, 1.0], count) * 10.0 ** generator.uniform(-3, 3, count)).astype(dtype)


def derivatives(a: np.ndarray) -> dict[str, np.ndarray]:
    """The derivative of 1/a in each way in which functad computes it, by name."""
    _, pullback = fd.vjp(lambda a: 1 / a, a)
    return {
        "grad": fd.grad(total_of_reciprocals)(a),
        "vjp": pullback(np.ones_like(a))[0],
        "jit(grad)": fd.jit(fd.grad(total_of_reciprocals))(a),
        "grad(jit)": fd.grad(fd.jit(total_of_reciprocals))(a),
    }


def ulps_apart(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How many floating-point numbers lie between two arrays of equal signs, elementwise."""
    integer = {4: np.int32, 8: np.int64}[left.dtype.itemsize]
    return np.abs(left.view(integer).astype(np.int64) - right.view(integer).astype(np.int64))


def nearest(a: np.ndarray) -> np.ndarray:
    """The true -1/a**2, from rational arithmetic, rounded once to the dtype of `a`."""
    return np.array([-1 / Fraction(float(value)) ** 2 for value in a], dtype=float).astype(a.dtype)


def main() -> None:
    """Print the comparison for float32 and float64."""
    for dtype in (np.float32, np.float64):
        a = random_values(dtype)
        reciprocal = 1 / a
        product, quotient, true = -reciprocal * reciprocal, -1 / a**2, nearest(a)
        print(f"{a.dtype}, {a.size} random values")
        for name, found in derivatives(a).items():
            same = np.array_equal(found, product)
            print(f"  {name:<10} has dtype {found.dtype} and {'equals' if same else 'DIFFERS FROM'} -(1/a)*(1/a) bit for bit")
        apart = ulps_apart(product, quotient)
        counts = ", ".join(f"{np.sum(apart == ulp)} by {ulp} ULP" for ulp in range(1, apart.max() + 1))
        print(f"  {np.sum(apart > 0)} differ from -1/a**2: {counts}")
        best = f"{np.sum(product == true)} of -(1/a)*(1/a), {np.sum(quotient == true)} of -1/a**2"
        print(f"  nearest to the true derivative: {best}")
        relative = np.max(np.abs(product.astype(float) - true.astype(float)) / np.abs(true.astype(float)))
        print(f"  largest relative error {relative:.1e}, where the dtype resolves {np.finfo(dtype).eps:.1e}\n")
    print(
        "Both forms round twice: one rounds 1/a and then its square, the other rounds a**2 and then its reciprocal. Neither is\n"
        "always the number nearest to the true value. functad uses the first, because 1/a is there already from the forward\n"
        "pass: one multiplication in place of a square and a division, for a rounding error that is seldom larger by more than\n"
        "one unit. The precision is that of the dtype: whoever needs more digits passes float64."
    )


if __name__ == "__main__":
    main()
