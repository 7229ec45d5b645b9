"""What are the arguments of backward?

A weight for each element of the output: the cotangent. Here it is the argument of the function that `functad.vjp` returns, which
gives one cotangent for each input of the function.
"""

import numpy as np

import functad as fd


def f(a, b, c):
    """y = 3a + 2b*b + log(c), elementwise."""
    return 3 * a + 2 * b * b + np.log(c)


def on_vectors():
    """The cotangents of a, b and c for an output weighted by 0.1, 1 and 0.0001: three arrays of shape (3,)."""
    a, b, c = np.array([0.0, 1.0, 2.0]), np.array([3.0, 4.0, 5.0]), np.array([6.0, 7.0, 8.0])
    _, pullback = fd.vjp(f, a, b, c)
    return pullback(np.array([0.1, 1.0, 1e-4]))


def on_scalars():
    """The three derivatives at a = 1, b = 1, c = 0.1; a scalar output has the cotangent 1."""
    return fd.grad(f, argnums=(0, 1, 2))(1.0, 1.0, 0.1)


def at_a_pole():
    """The same at c = 0, where log(c) has an infinite slope: the answer is infinity, without a crash or a warning."""
    return fd.grad(f, argnums=(0, 1, 2))(1.0, 1.0, 0.0)


def twice():
    """A pullback called twice: the two answers, which are equal as nothing accumulates, and their sum, made by hand."""
    _, pullback = fd.vjp(f, 1.0, 1.0, 0.1)
    first, second = pullback(1.0), pullback(1.0)
    return first, second, tuple(one + other for one, other in zip(first, second, strict=True))


def rows_of_the_jacobian():
    """For z = 2x, x of shape (1, 4): what each one-hot cotangent gives, shape (4, 1, 4), and what ones give, shape (1, 4)."""
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    _, pullback = fd.vjp(lambda x: 2 * x, x)
    rows = np.stack([pullback(one_hot.reshape(1, 4))[0] for one_hot in np.eye(4)])
    return rows, pullback(np.ones((1, 4)))[0]


def main() -> None:
    """Print all five answers."""
    print("y = 3a + 2b*b + log(c) on vectors, cotangent (0.1, 1, 0.0001)")
    for name, cotangent in zip("abc", on_vectors(), strict=True):
        print(f"    {name}:", *(f"{value:.6g}" for value in cotangent))
    print("on scalars, at b = 1 and c = 0.1:", *on_scalars())
    print("at c = 0:", *at_a_pole())
    first, second, total = twice()
    print("a pullback called twice gives", *first)
    print("    and again               ", *second)
    print("    and their sum by hand   ", *total)
    rows, total = rows_of_the_jacobian()
    print("z = 2x, x of shape (1, 4): one-hot cotangents give the rows of the Jacobian")
    print("    " + str(rows.reshape(4, 4)).replace("\n", "\n    "))
    print("and ones give their sum:", total)


if __name__ == "__main__":
    main()
