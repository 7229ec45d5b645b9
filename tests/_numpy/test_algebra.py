"""Products of arrays through NumPy's doors: values, shapes and dtypes are NumPy's, derivatives are those of differences, both modes agree."""

import warnings

import numpy as np
import pytest

import functad as fd
from functad.errors import MutationError, ShapeMismatchError, UnsupportedArgumentError

from .products_and_matrices import RANDOM, START, check, complex_, real


@pytest.fixture(autouse=True)
def same_numbers():
    """Whatever ran before."""
    RANDOM.bit_generator.state = START


# ---- matmul and @

STACKS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 2, 3), (3,)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (2, 3, 2)),
    ((2, 3), (5, 3, 2)), ((3,), (5, 3, 2)), ((1, 2, 3), (4, 3, 2)), ((4, 1, 2, 3), (5, 3, 1)), ((2, 0), (0, 3)), ((0, 2), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", STACKS)
@pytest.mark.parametrize("make", [real, complex_])
def test_matmul(shapes, make):
    check(lambda x, y: x @ y, *[make(*s) for s in shapes])
    check(np.matmul, *[make(*s) for s in shapes])


def test_matmul_with_what_is_not_traced():
    x, w = real(3), real(2, 3)
    check(lambda x: w @ x, x)
    check(lambda x: x @ w.T, x)
    check(lambda x: [[1.0, 2.0, 3.0]] @ x, x)
    check(lambda x: x @ [1.0, 2.0, 3.0], x)
    check(lambda x: np.matmul([[1.0, 2.0, 3.0]], x), x)


def test_matmul_of_single_precision():
    out = fd.grad(lambda x: (x @ x)[0, 0])(np.ones((2, 2), np.float32))
    assert out.dtype == np.float32
    value, _ = fd.vjp(lambda x: np.matmul(x, x, dtype=np.float64), np.ones((2, 2), np.float32))
    assert value.dtype == np.float64


def test_stacked_vectors():
    check(np.vecdot, complex_(2, 3), complex_(3))
    check(np.vecdot, complex_(3), complex_(3))
    check(lambda x, y: np.vecdot(x, y, axis=0), real(3, 2), real(3, 1))
    check(lambda x, y: np.linalg.vecdot(x, y, axis=0), real(3, 2), real(3, 2))


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="new in NumPy 2.2")
def test_stacked_matrices_and_vectors():
    check(np.matvec, real(2, 3, 4), real(4))
    check(np.matvec, real(2, 3, 4), real(2, 4))
    check(np.vecmat, complex_(3), complex_(2, 3, 2))
    check(np.vecmat, complex_(2, 3), complex_(2, 3, 2))


# ---- dot and its relatives


@pytest.mark.parametrize(
    "shapes", [((), (3,)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (3,)), ((2, 2, 3), (4, 3, 2))]
)
def test_dot(shapes):
    check(np.dot, *[real(*s) for s in shapes])
    check(lambda x: x.dot(x), real(2, 2))


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3))])
def test_inner(shapes):
    check(np.inner, *[real(*s) for s in shapes])


@pytest.mark.parametrize(
    ("call", "xs"),
    [
        (np.vdot, (complex_(2, 3), complex_(2, 3))),
        (np.vdot, (real(6), real(6))),
        (np.outer, (real(2, 3), real(2))),
        (np.linalg.outer, (real(3), real(2))),
        (np.tensordot, (real(2, 3, 4), real(3, 4, 2))),
        (lambda x, y: np.tensordot(x, y, 1), (real(2, 3), real(3, 2))),
        (lambda x, y: np.tensordot(x, y, 0), (real(2, 3), real(3, 2))),
        (lambda x, y: np.tensordot(x, y, ([0, -1], [1, 0])), (real(2, 3, 4), real(4, 2))),
        (lambda x, y: np.tensordot(x, y, axes=(1, 1)), (real(2, 3), real(4, 3))),
        (lambda x, y: np.tensordot(x, y, axes=np.array([[1], [1]])), (real(2, 3), real(4, 3))),
        (lambda x, y: np.linalg.tensordot(x, y, axes=1), (real(2, 3), real(3, 3))),
        (np.kron, (real(2, 3), real(3, 2))),
        (np.kron, (real(3), real(2, 2))),
        (np.kron, (real(2, 2, 2), real(2))),
        (np.cross, (real(3), real(3))),
        (np.cross, (real(4, 3), real(3))),
        (lambda x, y: np.cross(x, y, axis=0), (real(3, 4), real(3, 4))),
        (lambda x, y: np.cross(x, y, axisa=0, axisc=0), (real(3, 4), real(4, 3))),
        (np.linalg.cross, (real(4, 3), real(3))),
        (np.linalg.matmul, (real(2, 3), real(3, 2))),
        (lambda *xs: np.linalg.multi_dot(xs), (real(2), real(2, 5), real(5, 3), real(3, 2))),
        (lambda *xs: np.linalg.multi_dot(xs), (real(2, 2), real(2, 5), real(5, 3), real(3))),
        (lambda *xs: np.linalg.multi_dot(xs), (real(2), real(2, 3), real(3))),
    ],
)
def test_products(call, xs):
    check(call, *xs)


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((4, 2), (3,)), ((4, 3), (2,))])
def test_cross_products_in_the_plane(shapes):
    xs = [real(*s) for s in shapes]
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":  # NumPy refuses them from here on, and so does functad
        for call in (np.cross, fd.make_program(np.cross)):
            with pytest.raises(ValueError, match="vectors"):
                call(*xs)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        check(np.cross, *xs)


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 2, 5])
def test_trace(offset):
    check(lambda x: np.trace(x, offset), real(3, 4))
    check(lambda x: np.trace(x, offset, 2, 0), real(3, 2, 4))
    check(lambda x: np.linalg.trace(x, offset=offset), real(2, 3, 4))
    check(lambda x: np.linalg.diagonal(x, offset=offset), real(2, 3, 4))


def test_transposed_stacks():
    check(np.linalg.matrix_transpose, real(2, 3, 4))
    check(lambda x: x.trace(), real(3, 4))


def test_python_scalars_count_with_their_own_dtype():
    """Unlike in ufuncs, and as NumPy does it."""
    x = np.ones(3, np.float32)
    for call in (np.dot, np.inner, np.outer, np.kron):
        value, _ = fd.vjp(lambda x, call=call: call(x, 2.0), x)
        assert value.dtype == call(x, 2.0).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int32, bool])
def test_integers_and_booleans(dtype):
    x, y = np.array([[1, 0], [3, 2]]).astype(dtype), np.array([1, 2]).astype(dtype)
    for call in (np.dot, np.matmul, np.inner, np.outer, lambda x, y: np.einsum("ij,j->i", x, y)):
        program = fd.make_program(call)(x, y)
        kind = program.output_types[0]
        assert (kind.shape, kind.dtype) == (call(x, y).shape, call(x, y).dtype)
    assert fd.make_program(np.trace)(x).output_types[0].dtype == np.trace(x).dtype


# ---- einsum

SUBSCRIPTS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii->", (3, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ij->ji", (2, 3)),
    ("ij->", (2, 3)), ("ba", (2, 3)), ("abcd->bd", (3, 2, 2, 2)), ("i,j->ij", (2,), (3,)), ("i,i", (3,), (3,)),
    ("bij,bjk->bik", (2, 3, 2), (2, 2, 3)), ("...ij,...jk->...ik", (2, 3, 2), (2, 2, 3)), ("...ij,jk", (2, 3, 2), (2, 3)),
    ("ij,ij->i", (3, 4), (3, 4)), ("ij,ij->i", (3, 1), (3, 4)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 2), (2, 2)), ("iji->j", (2, 3, 2)), ("iij,jk->ik", (2, 2, 3), (3, 2)), ("i...->...", (2, 3)),
    ("...,...", (2, 3), (3,)), ("a,b,c->abc", (2,), (3,), (2,)), ("iii->i", (3, 3, 3)), (",i", (), (3,)), ("ij,kl->", (2, 3), (3, 2)),
    ("ijk,ilm,njm,nlk,abc->", *[(2, 2, 2)] * 5), ("ijj,jkk->", (2, 3, 3), (3, 2, 2)), ("b n, n m->b m", (2, 3), (3, 2)), ("i->", (0,)),
    ("...ij,...i->...j", (2, 3, 2), (4, 1, 3)), ("a...b,b...->a...", (2, 4, 3), (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("case", SUBSCRIPTS, ids=lambda case: case[0])
@pytest.mark.parametrize("optimize", [False, True, "optimal"])
def test_einsum(case, optimize):
    text, *shapes = case
    check(lambda *xs: np.einsum(text, *xs, optimize=optimize), *[real(*s) for s in shapes])


@pytest.mark.parametrize("case", SUBSCRIPTS[:12], ids=lambda case: case[0])
def test_einsum_of_complex_numbers(case):
    text, *shapes = case
    check(lambda *xs: np.einsum(text, *xs), *[complex_(*s) for s in shapes])


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), ((2, 3), (3, 2))),
        (lambda x, y: np.einsum(x, [0, 1], y, [1, 2]), ((2, 3), (3, 2))),
        (lambda x, y: np.einsum(x, [..., 1], y, [1, 2], [..., 2]), ((2, 3), (3, 2))),
        (lambda x: np.einsum(x, [5, 5]), ((3, 3),)),
        (lambda x, y: np.einsum("ij,jk,k->i", x, y, np.ones(2), optimize=["einsum_path", (1, 2), (0, 1)]), ((2, 3), (3, 2))),
        (lambda x, y: np.einsum("ij,jk,k->i", x, y, [1.0, 2.0]), ((2, 3), (3, 2))),
    ],
)
def test_einsum_in_its_other_form(call, shapes):
    check(call, *[real(*s) for s in shapes])


def test_einsum_dtype():
    x = np.ones((2, 2), np.float32)
    value, _ = fd.vjp(lambda x: np.einsum("ij->i", x, dtype=np.float64), x)
    assert value.dtype == np.float64


def test_a_product_without_a_sum_is_elementwise():
    """So that kernels can fuse it; and a matrix product is one primitive."""
    names = [e.op.name for e in fd.make_program(lambda x, y: np.einsum("ij,ij->ij", x, y))(real(2, 3), real(2, 3)).equations]
    assert names == ["mul"]
    names = [e.op.name for e in fd.make_program(lambda x, y: np.einsum("ij,jk->ik", x, y))(real(2, 3), real(3, 2)).equations]
    assert names == ["dot"]


# ---- what is refused


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.dot(x, x, out=np.empty(())),
        lambda x: np.matmul(x, x, out=np.empty(())),
        lambda x: np.outer(x, x, out=np.empty((3, 3))),
        lambda x: np.einsum("i,i", x, x, out=np.empty(())),
    ],
)
def test_out_is_refused(call):
    with pytest.raises(MutationError, match="out="):
        fd.make_program(call)(np.ones(3))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.matmul(x, x, axes=[0, 0, ()]), "axes"),
        (lambda x: np.einsum("i,i", x, x, casting="unsafe"), "casting"),
        (lambda x: np.einsum("i,i", x, x, order="X"), "order"),
    ],
)
def test_arguments_are_refused_by_name(call, name):
    with pytest.raises(UnsupportedArgumentError, match=f"{name}="):
        fd.make_program(call)(np.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.dot(x, np.ones(4)),
        lambda x: x @ np.ones((4, 2)),
        lambda x: x @ 2.0,
        lambda x: np.inner(x, np.ones(4)),
        lambda x: np.vdot(x, np.ones(4)),
        lambda x: np.tensordot(x, np.ones(4), 1),
        lambda x: np.tensordot(x, x, 2),
        lambda x: np.cross(x, np.ones(4)),
        lambda x: np.trace(x),
        lambda x: np.einsum("ij", x),
        lambda x: np.einsum("i,j", x),
        lambda x: np.einsum("i->j", x),
        lambda x: np.einsum("i->ii", x),
        lambda x: np.einsum("i,i", x, np.ones(4)),
        lambda x: np.einsum("i?", x),
        lambda x: np.einsum("i...->i", x[:, None]),
        lambda x: np.linalg.multi_dot([x]),
        lambda x: np.linalg.outer(x[:, None], x),
    ],
)
def test_shapes_that_do_not_fit(call):
    with pytest.raises(ShapeMismatchError):
        fd.make_program(call)(np.ones(3))
