"""Why is the derivative of y = x not 1?

Because a backward pass does not compute a derivative: it multiplies a cotangent by the Jacobian. For y = z the Jacobian is the
identity, so what comes back is the cotangent that was put in.
"""

import numpy as np

import functad as fd
from functad.errors import NonScalarOutputError


def identity(z):
    """y = z."""
    return z


def square(z):
    """y = z**2, elementwise."""
    return z**2


def show(what: str, value) -> None:
    """Print an expression and its value, arrays indented below."""
    text = str(value)
    print(f"{what}\n    " + text.replace("\n", "\n    "))


def main() -> None:
    """Print the answers for the vector (1, 2, 3)."""
    z = np.array([1.0, 2.0, 3.0])

    _, pullback = fd.vjp(identity, z)
    show("The pullback of y = z gives back its cotangent; with the cotangent z that is z, not ones:", pullback(z)[0])
    show("With a cotangent of ones it gives ones:", pullback(np.ones_like(z))[0])

    try:
        fd.grad(identity)(z)
    except NonScalarOutputError as error:
        show("grad wants a scalar, and y = z is a vector. It does not guess a cotangent:", error)

    show("The derivative of a vector by a vector is a matrix. That of y = z is the identity:", fd.jacobian(identity)(z))
    show("That of y = z**2 is diag(2 z):", fd.jacobian(square)(z))
    show("A sum makes a scalar: grad of sum(z) is ones:", fd.grad(np.sum)(z))
    show("and grad of sum(z**2) is 2 z:", fd.grad(lambda z: np.sum(z**2))(z))

    _, pullback = fd.vjp(square, 3.0)
    show("For a scalar, grad is the pullback of 1, so here no cotangent need be named:", (fd.grad(square)(3.0), pullback(1.0)[0]))


if __name__ == "__main__":
    main()
