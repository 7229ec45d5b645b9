"""Products as users spell them, under jit against NumPy: where BLAS is called, operands lie anyhow and a second size compiles nothing."""

import contextlib
import io

import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import compile_count

TOLERANCE = {"f4": 2e-5, "f8": 1e-12, "c8": 2e-5, "c16": 1e-12}
einsum = lambda text: lambda x, y: np.einsum(text, x, y)


def drawn(code, *shape, seed=0):
    numbers = np.random.default_rng([seed, *shape]).normal(size=(2, *shape))
    return (numbers[0] + 1j * numbers[1] if code[0] == "c" else numbers[0]).astype(code)


def close(found, wanted, code):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[code], atol=30 * TOLERANCE[code])


def source(function, *args):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        fd.show_source(function)(*args)
    return printed.getvalue()


# spelling, shapes of both operands, whether BLAS computes it
PRODUCTS = {
    "nn": (lambda x, y: x @ y, (9, 8), (8, 11), True),
    "tn": (lambda x, y: x.T @ y, (8, 9), (8, 11), True),
    "nt": (lambda x, y: x @ y.T, (9, 8), (11, 8), True),
    "tt": (lambda x, y: x.T @ y.T, (8, 9), (11, 8), True),
    "transposed after": (lambda x, y: (x @ y).T, (9, 8), (8, 11), True),
    "conjugated": (lambda x, y: np.conj(x).T @ y, (8, 9), (8, 11), True),
    "square with itself": (lambda x, y: (x @ x.T) @ (y.T @ y), (8, 9), (9, 8), True),
    "long": (lambda x, y: x @ y, (3, 2000), (2000, 5), True),
    "just below": (lambda x, y: x @ y, (7, 8), (8, 9), False),
    "just at": (lambda x, y: x @ y, (8, 8), (8, 8), True),
    "a batch": (lambda x, y: x @ y, (3, 9, 8), (3, 8, 10), True),
    "a batch of batches": (lambda x, y: x @ y, (2, 3, 9, 8), (2, 3, 8, 10), True),
    "a batch, transposed": (lambda x, y: np.swapaxes(x, 1, 2) @ np.swapaxes(y, 1, 2), (3, 8, 9), (3, 10, 8), True),
    "a batch with one matrix": (lambda x, y: x @ y, (3, 9, 8), (8, 10), True),
    "one matrix with a batch": (lambda x, y: x @ y, (9, 8), (3, 8, 10), True),
    "a batch of one": (lambda x, y: x @ y, (1, 9, 8), (3, 8, 10), True),
    "no batch": (lambda x, y: x @ y, (0, 9, 8), (0, 8, 10), False),
    "batch axes last": (einsum("ijb,jkb->bik"), (9, 8, 5), (8, 10, 5), True),
    "batch axes apart": (einsum("iajb,bjka->abik"), (9, 5, 8, 6), (6, 8, 10, 5), True),
    "tensordot of two axes": (lambda x, y: np.tensordot(x, y, 2), (9, 3, 5), (3, 5, 7), True),
    "tensordot in another order": (lambda x, y: np.tensordot(x, y, ([2, 1], [0, 1])), (9, 3, 5), (5, 3, 7), True),
    "tensordot, both in another order": (lambda x, y: np.tensordot(x, y, ([2, 1], [1, 2])), (9, 6, 5), (7, 5, 6), True),
    "tensordot with axes apart": (lambda x, y: np.tensordot(x, y, ([0, 2], [1, 2])), (3, 9, 5), (7, 3, 5), True),
    "tensordot of one in the middle": (lambda x, y: np.tensordot(x, y, ([1], [1])), (5, 8, 7), (4, 8, 6), True),
    "einsum, result turned": (einsum("aij,bji->ba"), (9, 6, 5), (7, 5, 6), True),
    "einsum with a batch and two sums": (einsum("nijk,nkjl->nil"), (2, 9, 3, 5), (2, 5, 3, 7), True),
    "einsum of several free axes": (einsum("aib,cid->acbd"), (3, 8, 6), (2, 8, 5), True),
    "matrix times vector": (lambda x, y: x @ y, (40, 30), (30,), False),
    "vector times matrix": (lambda x, y: x @ y, (40,), (40, 30), False),
    "transposed times vector": (lambda x, y: x.T @ y, (40, 30), (40,), False),
    "vector times vector": (lambda x, y: x @ y, (3000,), (3000,), False),
    "outer": (lambda x, y: np.outer(x, y), (40,), (30,), False),
    "tensordot of none": (lambda x, y: np.tensordot(x, y, 0), (5, 8), (4, 6), False),
    "one row": (lambda x, y: x @ y, (1, 30), (30, 40), False),
    "one column": (lambda x, y: x @ y, (40, 30), (30, 1), False),
    "one term": (lambda x, y: x @ y, (40, 1), (1, 30), False),
    "no row": (lambda x, y: x @ y, (0, 30), (30, 40), False),
    "no column": (lambda x, y: x @ y, (40, 30), (30, 0), False),
    "no term": (lambda x, y: x @ y, (40, 0), (0, 30), False),
}  # fmt: skip
CODES = tuple(TOLERANCE)
NAMED = pytest.mark.parametrize("name", PRODUCTS)


@NAMED
@pytest.mark.parametrize("code", CODES)
def test_value(name, code):
    function, x_shape, y_shape, calls_blas = PRODUCTS[name]
    x, y = drawn(code, *x_shape), drawn(code, *y_shape, seed=1)
    compiled = fd.jit(function)
    close(compiled(x, y), function(x, y), code)
    assert ("gemm_" in source(compiled, x, y)) is calls_blas


@NAMED
@pytest.mark.parametrize("code", ["f8", "c8"])
def test_gradient(name, code):
    """Along a direction, against the symmetric difference, which is exact for what is at most quadratic in either operand."""
    function, x_shape, y_shape, _ = PRODUCTS[name]
    x, y = drawn(code, *x_shape), drawn(code, *y_shape, seed=1)
    weights = drawn(code, *np.shape(function(x, y)), seed=2)

    def loss(x, y):
        return np.sum(np.real(weights * function(x, y)))

    gradients = fd.jit(fd.grad(loss, (0, 1)))(x, y)
    directions = drawn(code, *x_shape, seed=3), drawn(code, *y_shape, seed=4)
    wanted = (loss(x + directions[0], y) - loss(x - directions[0], y)) / 2, (loss(x, y + directions[1]) - loss(x, y - directions[1])) / 2
    for of, gradient, direction, difference in zip((x, y), gradients, directions, wanted, strict=True):
        assert (gradient.dtype, gradient.shape) == (of.dtype, of.shape)
        size = 1.0 + np.sum(np.abs(gradient) * np.abs(direction))
        np.testing.assert_allclose(np.sum(np.real(gradient * direction)), difference, rtol=0, atol=3 * TOLERANCE[code] * size)


@pytest.mark.parametrize("lie", ["C", "F", "strided", "reversed"])
@pytest.mark.parametrize("name", ["nn", "tt", "a batch", "tensordot in another order"])
def test_operands_in_any_memory(name, lie):
    function, *shapes, _ = PRODUCTS[name]
    given = []
    for seed, shape in enumerate(shapes):
        x = drawn("f8", *[2 * n for n in shape], seed=seed)
        part = x[tuple([slice(None, None, 2)] * len(shape))]
        given.append({"C": part.copy(), "F": np.asfortranarray(part), "strided": part, "reversed": part[::-1]}[lie])
    close(fd.jit(function)(*given), function(*given), "f8")


@pytest.mark.parametrize("name", [name for name, (*_, calls_blas) in PRODUCTS.items() if calls_blas and name != "a batch of one"])
def test_another_size_compiles_nothing(name):
    """Every size that is not 1 is read at run time, from one that is just worth BLAS to larger ones."""
    function, *shapes, _ = PRODUCTS[name]
    compiled = fd.jit(function)
    compiled(*[drawn("f8", *shape) for shape in shapes])
    before = compile_count()
    for seed, larger in enumerate((3, 5)):
        x, y = (drawn("f8", *[larger * n for n in shape], seed=seed) for shape in shapes)
        if x.size < 10**6:
            close(compiled(x, y), function(x, y), "f8")
    assert compile_count() == before


def test_products_within_one_kernel_keep_their_memory_apart():
    """Operands that are computed first, results that are read further, and one product inside a loop."""

    def steps(x, y):
        def step(c, row):
            c = np.tanh(c @ y) + row
            return c, np.sum(c.T @ c)

        return fd.scan(step, np.sin(x) @ np.cos(y), np.stack([x, 2 * x, x - 1]))

    def loop(x, y):
        c, sums = np.sin(x) @ np.cos(y), []
        for row in (x, 2 * x, x - 1):
            c = np.tanh(c @ y) + row
            sums.append(np.sum(c.T @ c))
        return c, np.stack(sums)

    x, y = drawn("f8", 9, 9), drawn("f8", 9, 9, seed=1)
    compiled = fd.jit(steps)
    assert "gemm_f8" in source(compiled, x, y)
    for found, wanted in zip(compiled(x, y), loop(x, y), strict=True):
        close(found, wanted, "f8")


def test_mapped_operands():
    x, y = drawn("f8", 4, 9, 8), drawn("f8", 4, 8, 7, seed=1)
    product = lambda x, y: x @ y
    close(fd.jit(fd.vmap(product))(x, y), x @ y, "f8")
    close(fd.jit(fd.vmap(product, in_axes=(0, None)))(x, y[0]), x @ y[0], "f8")
    close(fd.jit(fd.vmap(product, in_axes=(None, 2)))(x[0], np.moveaxis(y, 0, 2)), x[0] @ y, "f8")
