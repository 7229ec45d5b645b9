"""emit: the text of kernels (golden), and that random programs mean what NumPy means."""

import random

import numpy as np
import pytest

from functad._compile.emitting.emit import kernel_text
from functad._compile.pipeline import Executable
from functad._compile.rewriting.simplify import simplify
from functad._compile.scheduling.sizes import read
from functad._core.interpret import python_function
from functad._core.program import Literal
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._primitives import cond, cumulative, dot, elementwise, index, logic, reduce, scan, shape

F8, F4, I8, B1 = (np.dtype(d) for d in ("f8", "f4", "i8", "?"))


def text_of(function, *types):
    program = simplify(stage(function, types))
    return kernel_text(program, read(program)[1]).source


# ---- golden texts

SUM = """\
def kernel(x0, s0, o0, o1):
    # x0: f4[s0]
    # o0: f4[]
    # o1: f4[s0]
    t0 = f4(0.0)
    lost0 = f4(0.0)
    for b0 in range(0, s0, 1024):
        p0 = f4(0.0)
        for i0 in range(b0, min(b0 + 1024, s0)):
            v0 = x0[i0]
            v1 = (f4(2.0) * v0)
            o1[i0] = v1
            v2 = (v0 * v0)
            p0 = add_reassoc_f4(p0, v2)
        y0 = p0 - lost0
        z0 = t0 + y0
        lost0 = (z0 - t0) - y0
        if lost0 - lost0 != f4(0.0):  # an infinite total leaves inf - inf
            lost0 = f4(0.0)
        t0 = z0
    o0[0] = t0
    return 0
"""


def test_value_and_gradient():
    kind = array_type((7,), F4)

    def f(x):
        return [reduce.reduce_sum(elementwise.square(x), axes=(0,)), elementwise.mul(Literal(2, kind), x)]

    assert text_of(f, kind) == SUM


PAD = """\
def kernel(x0, s0, s1, o0):
    # x0: f8[s0]
    # o0: f8[s1]
    for i0 in range(s1):
        j0 = i0 - 1
        if (i0 >= 1):
            v1 = x0[j0]
            v2 = sin_f8(v1)
            v0 = v2
        else:
            v0 = f8(0.0)
        o0[i0] = v0
    return 0
"""


def test_a_pad_reads_nothing_outside():
    kind = array_type((7,), F8)
    assert text_of(lambda x: [shape.pad(elementwise.sin(x), low=(1,), high=(0,), inner=(0,))], kind) == PAD


ROWS = """\
def kernel(x0, x1, s0, s1, o0):
    # x0: f8[s0, s1]
    # x1: f8[s0]
    # o0: f8[s0]
    for i0 in range(s0):
        v1 = x1[i0]
        t0 = f8(-inf)
        for i1 in range(s1):
            v0 = x0[i0 * s1 + i1]
            v2 = (v0 - v1)
            t0 = maximum_f8(t0, v2)
        o0[i0] = t0
    return 0
"""


def test_a_column_is_read_once_in_each_row():
    kinds = array_type((3, 7), F8), array_type((3,), F8)

    def f(x, y):
        return [reduce.reduce_max(elementwise.sub(x, shape.broadcast(y, shape=(3, 7), axes=(0,))), axes=(1,))]

    assert text_of(f, *kinds) == ROWS


def test_short_rows_are_unrolled():
    text = text_of(lambda x: [reduce.reduce_sum(x, axes=(1,))], array_type((9, 3), F8))
    assert "range(3)" in text
    assert "1024" not in text


def test_sizes_and_starts_are_arguments():
    def f(n):
        kind = array_type((n,), F8)
        return text_of(lambda x: [shape.slice_(x, start=(n // 2,), size=(n // 4,), step=(1,))], kind)

    assert f(16) == f(100)
    assert "16" not in f(16).replace("int64", "")


def test_numbers_that_may_come_from_sizes_are_read():
    def f(n):
        kind = array_type((n,), F8)
        return text_of(lambda x: [elementwise.div(x, Literal(n, kind))], kind)

    assert f(16) == f(100)


def test_equations_of_lines():
    program = simplify(stage(lambda x: [elementwise.exp(x)], [array_type((3,), F8)]))
    text = kernel_text(program, read(program)[1])
    line = next(i for i, s in enumerate(text.source.splitlines(), 1) if "exp_f8" in s)
    assert text.notes[line].startswith("exp of")


# ---- random programs


class Writer:
    """Writes a random program over three arrays and a boolean."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = []

    def pick(self, condition=lambda v: True):
        found = [v for v in self.values if condition(v)]
        return self.random.choice(found) if found else None

    def literal(self, x):
        return Literal(self.random.choice([0, 1, 2, 3] if x.type.dtype.kind == "i" else [0.0, 1.0, -1.0, 2.0, 0.3, -0.0]), x.type)

    def write(self, xs, steps):
        self.values = list(xs)
        writers = [
            self.unary, self.binary, self.binary, self.select, self.view, self.view, self.reduction, self.convert, self.along,
            self.product, self.places, self.join, self.branch, self.loop,
        ]  # fmt: skip
        for _ in range(steps):
            new = self.random.choice(writers)()
            self.values += [v for v in new or () if v.type.size <= 400]
        outputs = [self.random.choice(self.values) for _ in range(self.random.randint(1, 4))]
        return [*outputs, outputs[0]]

    def unary(self):
        x = self.pick(is_float)
        names = ("sin", "exp", "neg", "tanh", "sqrt", "absolute", "square", "reciprocal", "floor")
        return None if x is None else [getattr(elementwise, self.random.choice(names))(x)]

    def binary(self):
        x = self.pick(lambda v: v.type.dtype.kind in "fi")
        if x is None:
            return None
        y = self.pick(lambda v: v.type is x.type) if self.random.random() < 0.7 else self.literal(x)
        y = self.literal(x) if y is None else y
        names = ["add", "mul", "sub", "maximum", "minimum", *(("div",) if is_float(x) else ("floor_divide", "remainder"))]
        op = self.random.choice([*[getattr(elementwise, n) for n in names], logic.less])
        return [op(x, y) if self.random.random() < 0.5 else op(y, x)]

    def select(self):
        c = self.pick(lambda v: v.type.dtype == B1)
        x = None if c is None else self.pick(lambda v: v.type.shape == c.type.shape and v.type.dtype != B1)
        if x is None:
            return None
        return [logic.select(c, x, self.pick(lambda v: v.type is x.type) if self.random.random() < 0.6 else self.literal(x))]

    def view(self):
        x, choose = self.pick(), self.random.choice
        s = x.type.shape
        kind = choose(["broadcast", "broadcast", "reshape", "transpose", "slice", "pad", "flip"])
        if kind == "broadcast":
            place = self.random.randint(0, len(s))
            axes = tuple(i if i < place else i + 1 for i in range(len(s)))
            return [shape.broadcast(x, shape=(*s[:place], choose([1, 2, 3, 5]), *s[place:]), axes=axes)] if len(s) < 3 else None
        if kind == "reshape":
            n = x.type.size
            return [shape.reshape(x, shape=choose([(n,), (1, n), (n, 1), *[(a, n // a) for a in (2, 3, 5) if n and n % a == 0]]))]
        if kind == "transpose":
            return [shape.transpose(x, order=tuple(self.random.sample(range(len(s)), len(s))))]
        if kind == "slice":
            start = [self.random.randint(0, max(n - 1, 0)) for n in s]
            step = [choose([1, 1, 2]) for _ in s]
            size = [self.random.randint(0, max(0, (n - a + d - 1) // d)) for n, a, d in zip(s, start, step, strict=True)]
            return [shape.slice_(x, start=tuple(start), size=tuple(size), step=tuple(step))]
        if kind == "pad":
            low, high, inner = ([choose(c) for _ in s] for c in ([0, 1, 2], [0, 1, 2], [0, 0, 1]))
            return [shape.pad(x, low=tuple(low), high=tuple(high), inner=tuple(inner))] if x.type.dtype != B1 else None
        return [shape.flip(x, axes=(self.random.randrange(len(s)),))] if s else None

    def reduction(self):
        x = self.pick()
        s = x.type.shape
        axes = tuple(i for i in range(len(s)) if self.random.random() < 0.6)
        names = ["all", "any"] if x.type.dtype == B1 else ["sum", "sum", "prod", *([] if 0 in s else ["max", "min"])]
        y = getattr(reduce, f"reduce_{self.random.choice(names)}")(x, axes=axes)
        found = [y, shape.broadcast(y, shape=s, axes=tuple(i for i in range(len(s)) if i not in axes))]
        if s and 0 not in s and x.type.dtype != B1:
            found.append(self.random.choice([reduce.argmax, reduce.argmin])(x, axis=self.random.randrange(len(s))))
        return found

    def convert(self):
        x = self.pick()
        return [logic.convert(x, dtype=self.random.choice([F8, F4] if is_float(x) else [F8, F4, I8]))]

    def along(self):
        x = self.pick(lambda v: v.type.dtype.kind in "fi" and v.type.ndim)
        op = self.random.choice([cumulative.cumsum, cumulative.cumprod])
        return None if x is None else [op(x, axis=self.random.randrange(x.type.ndim), reverse=self.random.random() < 0.5)]

    def product(self):
        x = self.pick(lambda v: v.type.dtype.kind in "fi" and v.type.ndim < 3)
        if x is None:
            return None
        y = self.pick(lambda v: v.type.dtype == x.type.dtype and v.type.ndim < 3)
        pairs = [(i, j) for i, n in enumerate(x.type.shape) for j, m in enumerate(y.type.shape) if n == m]
        if not pairs:
            return None
        i, j = self.random.choice(pairs)
        rest = [(a, b) for a, b in pairs if a != i and b != j]
        batch = tuple((k,) for k in self.random.choice(rest)) if rest and self.random.random() < 0.4 else ((), ())
        return [dot.dot(x, y, contract=((i,), (j,)), batch=batch)]

    def places(self):
        x = self.pick(lambda v: v.type.ndim and 0 not in v.type.shape)
        if x is None:
            return None
        count = index.iota(shape=(4,), axis=0, dtype=I8)
        places = elementwise.remainder(elementwise.mul(count, Literal(3, count.type)), Literal(x.type.shape[0], count.type))
        found = index.gather(x, places)
        return [found, *([index.scatter_add(found, places, shape=x.type.shape)] if x.type.dtype != B1 else [])]

    def join(self):
        x = self.pick(lambda v: v.type.ndim)
        if x is None:
            return None
        axis = self.random.randrange(x.type.ndim)

        def fits(v):
            s, t = v.type.shape, x.type.shape
            return v.type.dtype == x.type.dtype and len(s) == len(t) and s[:axis] == t[:axis] and s[axis + 1 :] == t[axis + 1 :]

        return [shape.concatenate(x, *[self.pick(fits) for _ in range(self.random.randint(1, 5))], axis=axis)]

    def branch(self):
        x = self.pick(is_float)
        predicate = self.pick(lambda v: v.type.dtype == B1 and v.type.shape == ())
        if x is None or predicate is None:
            return None
        first = stage(lambda a: [elementwise.sin(a), a], [x.type])
        second = stage(lambda a: [elementwise.mul(a, a), elementwise.neg(a)], [x.type])
        return list(cond.cond(predicate, x, branches=cond.Branches(first, second)))

    def loop(self):
        x = self.pick(lambda v: is_float(v) and v.type.ndim)
        if x is None:
            return None
        row = array_type(x.type.shape[1:], x.type.dtype)
        start = self.pick(lambda v: v.type is row)
        start = Literal(0.5, row) if start is None else start
        turned = row.shape and self.random.random() < 0.5  # a step that cannot be made in place

        def step(k, a, b):
            new = elementwise.add(elementwise.mul(a, Literal(0.5, row)), elementwise.sin(b))
            new = shape.flip(new, axes=(0,)) if turned else new
            return [new, elementwise.mul(new, k)]

        params = dict(constants=1, carry=1, length=x.type.shape[0], reverse=self.random.random() < 0.5)
        return list(scan.scan(start, start, x, body=stage(step, [row] * 3), **params))


def is_float(v):
    return v.type.dtype.kind == "f"


SHAPES = [(), (3,), (4,), (2, 3), (3, 3), (1, 3), (0,), (2, 3, 2), (2, 0), (1,)]


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    writer = Writer(seed)
    types = [array_type(writer.random.choice(SHAPES), writer.random.choice([F8, F8, F4, I8])) for _ in range(3)]
    types.append(array_type((), B1))
    program = verify(stage(lambda *xs: writer.write(xs, 30), types))
    verify(simplify(program))
    numbers = np.random.default_rng(seed)
    args = [numbers.normal(size=t.shape).astype(t.dtype) if t.dtype.kind == "f" else numbers.integers(-3, 4, t.shape).astype(t.dtype) for t in types]
    args = [a[()] if np.ndim(a) == 0 else a for a in args]
    if seed % 4 == 0:
        for a in args:
            if np.ndim(a) and a.size and a.dtype.kind == "f":
                a.flat[0] = numbers.choice([np.nan, np.inf, -np.inf, -0.0])
    with np.errstate(all="ignore"):
        wanted = python_function(program)(*args)
    narrow = any(v.type.dtype == F4 for e in program.equations for v in e.outputs) or any(t.dtype == F4 for t in types)
    for found in (python_function(simplify(program))(*args), Executable(program).compile()(*args)):
        for w, g in zip(wanted, found, strict=True):
            assert type(w) is type(g)
            assert (w.dtype, w.shape) == (g.dtype, g.shape)
            size = np.max(np.abs(np.where(np.isfinite(w), w, 0)), initial=0)
            tolerance = 2e-4 if narrow else 1e-10
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * max(1.0, float(size)))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_recurrence_over_rows_of_a_scan_reads_its_own_row(reverse):
    """Factors, terms and results are parts of arrays that begin at different places."""
    rows, row = array_type((4, 5), F8), array_type((5,), F8)

    def step(c, x):
        first = elementwise.add(x, c)
        return [c, cumulative.recurrence(x, first, axis=0, reverse=reverse)]

    body = stage(step, [row, row])
    program = verify(stage(lambda c, x: list(scan.scan(c, x, body=body, constants=0, carry=1, length=4, reverse=False)), [row, rows]))
    args = np.random.default_rng(0).normal(size=5), np.random.default_rng(1).normal(size=(4, 5))
    for wanted, found in zip(python_function(program)(*args), Executable(program).compile()(*args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def agree(program, *args):
    executable = Executable(verify(program))
    for wanted, found in zip(python_function(program)(*args), executable.compile()(*args), strict=True):
        assert wanted.dtype == found.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("code", ["?", "i4", "u2", "c16", "f4"])
def test_reductions_of_every_kind_of_number(code, axes):
    kind = array_type((5, 3), np.dtype(code))
    ops = {"?": ["max", "min", "all", "any"], "i4": ["sum", "prod", "max", "min"], "c16": ["sum", "prod"]}.get(code, ["max", "min"])
    program = stage(lambda x: [getattr(reduce, f"reduce_{name}")(x, axes=axes) for name in ops], [kind])
    numbers = np.random.default_rng(0).normal(size=(2, 5, 3))
    agree(program, {"?": numbers[0] > 0, "c16": numbers[0] + 1j * numbers[1]}.get(code, 9 * np.abs(numbers[0])).astype(kind.dtype))


def test_long_complex_sums():
    kind = array_type((5000,), np.dtype("c16"))
    x = np.random.default_rng(0).normal(size=(2, 5000))
    agree(stage(lambda x: [reduce.reduce_sum(x, axes=(0,))], [kind]), x[0] + 1j * x[1])


def test_a_scan_over_a_literal_and_with_a_number_that_is_an_array_of_one():
    one, number, row = array_type((1,), F8), array_type((), F8), array_type((4,), F8)

    def step(c, x):
        running = cumulative.cumsum(shape.reshape(elementwise.add(c, x), shape=(1,)), axis=0, reverse=False)
        return [shape.reshape(running, shape=()), elementwise.mul(running, Literal(2.0, one))]

    body = stage(step, [number, number])
    params = dict(body=body, constants=0, carry=1, length=4, reverse=False)
    agree(stage(lambda c: list(scan.scan(c, Literal(0.5, row), **params)), [number]), np.float64(1.5))


CARRIES = {
    "read by a routine": lambda c, x: elementwise.add(elementwise.mul(c, x), cumulative.cumsum(c, axis=0, reverse=True)),
    "read by other loops": lambda c, x: elementwise.mul(c, shape.broadcast(reduce.reduce_max(elementwise.mul(c, x), axes=(0,)), shape=(3,), axes=())),
    "not read at all": lambda c, x: elementwise.sin(x),
    "read by what writes it": lambda c, x: elementwise.add(elementwise.sin(c), x),
    "read elsewhere by what writes it": lambda c, x: elementwise.add(shape.flip(c, axes=(0,)), x),
}


@pytest.mark.parametrize("name", CARRIES)
def test_an_array_is_carried_in_place_only_where_that_is_safe(name):
    row, rows = array_type((3,), F8), array_type((4, 3), F8)

    def step(c, x):
        new = CARRIES[name](c, x)
        return [new, elementwise.mul(c, x)]

    params = dict(body=stage(step, [row, row]), constants=0, carry=1, length=4, reverse=False)
    numbers = np.random.default_rng(0).normal(size=(5, 3))
    agree(stage(lambda c, x: list(scan.scan(c, x, **params)), [row, rows]), numbers[0], numbers[1:])


def test_places_that_are_known_under_a_condition():
    kinds = [array_type((5,), F8), array_type((2,), I8), array_type((1,), I8)]

    def f(x, a, b):
        found = index.gather(x, shape.concatenate(a, b, axis=0))
        return [shape.pad(shape.broadcast(found, shape=(2, 3), axes=(1,)), low=(1, 0), high=(0, 0), inner=(0, 0))]

    agree(stage(f, kinds), np.arange(5.0), np.array([4, 2]), np.array([3]))


def test_a_gather_from_a_literal():
    program = stage(lambda i: [index.gather(Literal(2.5, array_type((5,), F8)), i)], [array_type((3,), I8)])
    agree(program, np.array([4, 2, 0]))
