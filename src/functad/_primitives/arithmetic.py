"""The elementwise kind, arithmetic and choice, and how tangents and cotangents are multiplied.

They need each other: a product's derivative multiplies tangents, a tangent is multiplied by products and choices, and the kind adds up tangents.
An elementwise row states one tangent rule for each input, `(t, out, *xs) -> tangent`, written with `scale`, `over` and `mask`, or None where the
derivative is zero.
"""

from collections.abc import Callable, Sequence

import numpy as np

from functad._core.primitive import Expression, Primitive, Spelling
from functad._core.program import Equation, Literal
from functad._core.recorder import CURRENT
from functad._core.types import ArrayType, array_type
from functad._primitives.alive import alive, inputs_of, maker, passes_on
from functad._primitives.operands import Array, Example, Examples, Shape, Tangent, Value, constant, spread_literal, zeros_like
from functad._primitives.rules import NOT_LINEAR, Batched, Flags, Inferred, Known, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad._primitives.shape import aligned, broadcast, meet
from functad.errors import ShapeMismatchError

__all__ = [
    "Emit", "add", "apply", "div", "elementwise", "mask", "mul", "neg", "over", "reciprocal", "scale", "select", "sub", "total",
]  # fmt: skip

Emit = Callable[..., str | None]  # see `Expression`
MOST_MOVED = 12  # equations that a multiplication is moved inside of: three slices side by side, say

# ---- the kind


def total(ts: Tangents) -> Tangent:
    """Sum of tangents; None stands for zero."""
    out: Tangent = None
    for t in ts:
        if t is not None:
            out = t if out is None else add(out, t)
    return out


def _same_shape(name: str, types: Types) -> Shape:
    shape = types[0].shape
    for t in types[1:]:
        if t.shape != shape:
            raise ShapeMismatchError(f"{name} got operands of shapes {', '.join(str(t.shape) for t in types)}")
    return shape


def elementwise(
    name: str,
    numpy: Rule,
    tangents: Sequence[Rule | None],
    emit: str | Emit,
    *,
    domain: Sequence[tuple[float, float]] = (),
    dtype: Rule | None = None,
    transpose: Rule | None = None,
    structural: Callable[..., bool] | None = None,
    inward: Rule | None = None,
    cost: float = 1.0,
    costs: Callable[..., float] | None = None,
    kinds: str = "f",
    examples: Examples | None = None,
    spelling: Spelling | None = None,
    identity: bool = False,
    note: str = "",
) -> Primitive:
    """Declare an elementwise primitive.

    `emit` is a template (`"sin_{d}({0})"`: operand texts by position, `{d}` the helper code of the first input's dtype, `{o}` of the output's) or a
    function as in `Expression`, to which `cost` and `costs` belong too.  `domain` gives an interval `(low, high)` for each input, where the
    function is smooth: tests and benchmarks sample there, unless `examples` are given.  `kinds` are the dtype kinds that it is tested with
    (f, c, i, b).  `dtype(*dtypes, **params)` gives the output's dtype; the default asks the ufunc.  A ufunc is also the `spelling`, unless that
    says more.
    """
    ufunc = numpy if isinstance(numpy, np.ufunc) else None

    def infer(*types: ArrayType, **params: object) -> Inferred:
        shape = _same_shape(name, types)
        dtypes = [t.dtype for t in types]
        if dtype is not None:
            return (array_type(shape, dtype(*dtypes, **params)),)
        assert ufunc is not None, name
        return (array_type(shape, ufunc.resolve_dtypes((*dtypes, None))[-1]),)

    def jvp(transform: Transform, xs: Values, ts: Tangents, /, **params: object) -> Pushed:
        out = op(*xs, **params)
        parts = [rule(t, out, *xs, **params) for rule, t in zip(tangents, ts, strict=True) if rule is not None and t is not None]
        return [out], [total(parts)]

    def batch(transform: Transform, xs: Values, mapped: Flags, size: int, /, **params: object) -> Batched:
        return [op(*aligned(xs, mapped, size), **params)], [True]

    def pull(transform: Transform, cts: Values, xs: Tangents, types: Types, /, **params: object) -> Pulled:
        assert transpose is not None
        return transpose(cts[0], *xs, **params)

    op = Primitive(
        name=name, numpy=numpy, infer=infer, jvp=jvp, transpose=pull if transpose is not None else NOT_LINEAR, batch=batch,
        kernel=Expression(_template(emit) if isinstance(emit, str) else emit, cost, costs), kind="elementwise", ufunc=ufunc, partials=tangents,
        structural=structural, inward=inward, identity=identity, note=note,
        spelling=Spelling((ufunc,)) if spelling is None and ufunc is not None else spelling,
    )  # fmt: skip
    op.examples = examples if examples is not None else lambda: [_sample(domain, kind) for kind in kinds]
    return op


def _template(text: str) -> Emit:
    return lambda codes, out, *operands, **params: text.format(*operands, d=codes[0], o=out)


def _sample(domain: Sequence[tuple[float, float]], kind: str) -> Example:
    random = np.random.default_rng(7)
    columns: list[Array] = []
    for low, high in domain:
        x = random.uniform(low, high, (3, 4))
        if kind == "c":
            columns.append(x + 1j * random.uniform(0.1, 0.4, (3, 4)))
        elif kind == "i":
            columns.append(random.integers(max(int(low), -9), max(int(high), 3) + 1, (3, 4)))
        else:
            columns.append(x if kind == "f" else x > (low + high) / 2)
    return columns, {}


# ---- choice, and zeros where a condition fails


def mask(condition: Value, t: Value) -> Value:
    """t where the condition holds, a structural zero elsewhere."""
    return select(condition, t, zeros_like(t))


def _has_zero_branch(equation: Equation, known: Known) -> bool:
    """A literal zero in a tangent's select is structural; so is a zero inside a branch when the other has some as well."""
    zeros = [isinstance(a, Literal) and a.is_zero() for a in equation.inputs[1:]]
    return any(zeros) or all(a in known for a in equation.inputs[1:])


def _select_transpose(ct: Value, condition: Value, x: Tangent, y: Tangent) -> Pulled:
    return [None, mask(condition, ct) if x is None else None, select(condition, zeros_like(ct), ct) if y is None else None]


def _select_examples() -> Sequence[Example]:
    condition = np.array([[True, False, True], [False, False, True]])
    x, y = np.arange(6.0).reshape(2, 3), -np.arange(6.0).reshape(2, 3)
    return [([condition, x, y], {}), ([condition, x + 1j, y - 2j], {}), ([condition, x.astype(int), y.astype(int)], {})]


select: Primitive = elementwise(
    "select", lambda c, x, y: np.asarray(np.where(c, x, y))[()],
    [None, lambda t, out, c, x, y: mask(c, t), lambda t, out, c, x, y: select(c, zeros_like(t), t)], "select({0}, {1}, {2})",
    dtype=lambda c, x, y: x, transpose=_select_transpose, structural=_has_zero_branch,
    inward=lambda times, inputs, p: select(inputs[0], *[times(x, p) for x in inputs[1:]]), examples=_select_examples,
)  # fmt: skip
select.alive, select.spreads = select, True


def _broadcast_inward(times: Rule, inputs: Values, p: Value, shape: Shape, axes: Shape) -> Tangent:
    """The zeros of a broadcast select: broadcast its parts instead, which costs nothing."""
    made = maker(inputs[0])
    if made is None or made.op is not select:
        return None

    def grown(x: Value) -> Value:
        return spread_literal(x, shape) if isinstance(x, Literal) else broadcast(x, shape=shape, axes=axes)

    condition, *branches = inputs_of(made)
    return select(grown(condition), *[times(grown(x), p) for x in branches])


broadcast.inward = _broadcast_inward

# ---- multiplying tangents and cotangents, see Note [structural zeros] in `alive`


def scale(t: Value, p: Value) -> Value:
    """t * p, where t is a tangent or cotangent and p a value: structural zeros of t stay zeros whatever p is."""
    return apply(mul, t, p)


def over(t: Value, p: Value) -> Value:
    """t / p, as `scale`."""
    return apply(div, t, p)


def apply(op: Rule, t: Value, p: Value) -> Value:
    """op(t, p) for an op that is linear in t, moved inside whatever gave t structural zeros."""
    if isinstance(t, Literal):  # a zero takes the result's dtype: `op` may cast
        if not t.is_zero():
            return op(t, p)
        zero = t.value if p.type.dtype.kind == "c" else t.value.real  # a conversion to real numbers may stand between the two
        return Literal(zero, t.type.with_dtype(p.type.dtype))
    made = maker(t)
    if made is None:
        return op(t, p)
    if made.op.inward is not None and _few(made):

        def times(u: Value, q: Value, first: Rule | None = None) -> Value:
            return apply(op if first is None else lambda v, r: op(first(v), r), u, q)

        moved: Tangent = made.op.inward(times, inputs_of(made), p, **made.params)
        if moved is not None:
            return moved
    holds = alive(t)
    return op(t, p) if isinstance(holds, Literal) and holds.value else mask(holds, op(t, p))


def _few(made: Equation) -> bool:
    """Whether few equations made the zeros, each counted as often as it is reached."""
    builder = CURRENT.get()
    assert builder is not None
    known = builder.structural
    count, stack = 0, [made]
    while stack and count <= MOST_MOVED:
        count += 1
        stack += [known[a] for a in stack.pop().inputs if a in known]
    return count <= MOST_MOVED


# ---- sums


def _sum_has_zeros(equation: Equation, known: Known) -> bool:
    """Zeros remain where both terms have them, unless two slices of one axis cover it."""
    x, y = equation.inputs
    return x in known and y in known and not meet(known[x], known[y], known)  # type: ignore[index]  # members of `known` are variables


def _operator(sign: str, boolean: str, complex_name: str = "") -> Emit:
    """Python's operator, except where NumPy's meaning is another: booleans, and products and quotients of complex numbers."""

    def emit(codes: Sequence[str], out: str, x: str, y: str) -> str:
        if out == "b1":
            return f"({x} {boolean} {y})"
        return f"{complex_name}_{out}({x}, {y})" if complex_name and out[0] == "c" else f"({x} {sign} {y})"

    return emit


_PAIR = [(-3, 3), (-3, 3)]

add: Primitive = elementwise(
    "add", np.add, [lambda t, out, x, y: t, lambda t, out, x, y: t], _operator("+", "|"), domain=_PAIR, kinds="fci",
    transpose=lambda ct, x, y: [ct if x is None else None, ct if y is None else None],
    structural=_sum_has_zeros, inward=lambda times, inputs, p: add(*[times(x, p) for x in inputs]), spelling=Spelling((np.add,), keeps_weak=True),
)  # fmt: skip
neg: Primitive = elementwise(
    "neg", np.negative, [lambda t, out, x: neg(t)], "(-{0})", domain=_PAIR[:1], kinds="fci", transpose=lambda ct, x: [neg(ct)],
    structural=passes_on, inward=lambda times, inputs, p: neg(times(inputs[0], p)), spelling=Spelling((np.negative,), keeps_weak=True),
)  # fmt: skip
sub: Primitive = elementwise(
    "sub", np.subtract, [lambda t, out, x, y: t, lambda t, out, x, y: neg(t)], "({0} - {1})", domain=_PAIR, kinds="fci",
    transpose=lambda ct, x, y: [ct if x is None else None, neg(ct) if y is None else None], spelling=Spelling((np.subtract,), keeps_weak=True),
)  # fmt: skip

# ---- products and quotients


def _by_literal(equation: Equation, known: Known) -> bool:
    """A product has the structural zeros of its first factor only while the other is a literal: everything else went through `scale`."""
    return equation.inputs[0] in known and isinstance(equation.inputs[1], Literal)


mul: Primitive = elementwise(
    "mul", np.multiply, [lambda t, out, x, y: scale(t, y), lambda t, out, x, y: scale(t, x)], _operator("*", "&", "multiply"), domain=_PAIR,
    kinds="fci", transpose=lambda ct, x, y: [scale(ct, y) if x is None else None, scale(ct, x) if y is None else None], structural=_by_literal,
    inward=lambda times, inputs, p: mul(times(inputs[0], p), constant(inputs[1].value, inputs[1].type.with_dtype(p.type.dtype))),
    spelling=Spelling((np.multiply,), keeps_weak=True),
)  # fmt: skip
reciprocal: Primitive = elementwise(
    "reciprocal", np.reciprocal, [lambda t, out, x: scale(t, neg(mul(out, out)))],
    lambda codes, out, x: {"f": f"({out}(1.0) / {x})", "c": f"divide_{out}({out}(1.0), {x})"}.get(out[0]), domain=[(0.5, 3)], kinds="fc", cost=4,
)  # fmt: skip


def _div_emit(codes: Sequence[str], out: str, x: str, y: str) -> str:
    if out[0] == "c":
        return f"divide_{out}({x}, {y})"
    # integers are cast first, so that the quotient has the dtype that NumPy says
    return f"({x} / {y})" if codes[0][0] == "f" else f"({out}({x}) / {out}({y}))"


div: Primitive = elementwise(
    "div", np.true_divide,
    # -(x/y)*(1/y), not -x/y**2: at x = 1 it is -(1/y)*(1/y) to the last bit, and y**2 cannot overflow
    [lambda t, out, x, y: over(t, y), lambda t, out, x, y: scale(t, neg(mul(out, reciprocal(y))))], _div_emit, domain=[(-3, 3), (0.5, 3)], kinds="fc",
    transpose=lambda ct, x, y: [over(ct, y), None], cost=4, spelling=Spelling((np.true_divide,), keeps_weak=True),
)  # fmt: skip
