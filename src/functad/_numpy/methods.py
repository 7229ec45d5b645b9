"""The rest of ndarray's face: attributes, methods, conversions to Python's numbers, iteration, and what is said about writing.

Conversions that would cut a derivative in silence are errors with their cure; questions whose answer has no derivative (`int(x)`, `if x`, an index)
are answered with the value.  `x += y` on an array changes every name of it, as in NumPy, by re-pointing the tracer; where another array would share
the memory it is refused.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from functad._core.recorder import CURRENT, Door, answer, record, shares_memory, unary
from functad._core.tracer import Tracer, install, make
from functad._core.values import force
from functad._numpy.arguments import DTypeLike, Operand, Result
from functad._numpy.creating import as_type
from functad._numpy.dispatch import DOORS
from functad._numpy.indexing import getitem
from functad._numpy.objects import ELEMENTS, object_array, stack_objects
from functad._numpy.promote import operand
from functad._numpy.shaping import reshaped, unstacked
from functad._numpy.sorting import sorted_along
from functad._primitives import sort as order
from functad.errors import ConversionError, FunctadError, MutationError

__all__ = ["stack_objects"]

# ---- attributes


def _attribute(name: str, get: Callable[[Operand], Operand]) -> None:
    install(name, property(get))


_attribute("T", lambda self: DOORS[np.transpose](self))
_attribute("mT", lambda self: DOORS[np.matrix_transpose](self))
_attribute("real", lambda self: DOORS[np.real](self))
_attribute("imag", lambda self: DOORS[np.imag](self))
_attribute("flat", lambda self: DOORS[np.ravel](self))
_attribute("itemsize", lambda self: self.dtype.itemsize)
_attribute("nbytes", lambda self: self.size * self.dtype.itemsize)
_attribute("strides", lambda self: np.empty(self.shape, self.dtype).strides)
_attribute("base", lambda self: None)
_attribute("device", lambda self: "cpu")

# ---- shapes


def _reshape(self: Tracer, *shape: Operand, order: str = "C", copy: object = None) -> Result:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    if order == "C" and copy is not False and all(type(n) is int for n in shape):  # the usual call: half the time of the general door
        return unary(_RESHAPE, self, shape)
    return DOORS[np.reshape](self, shape, order, copy=copy)


_RESHAPE = Door("reshape", lambda x, shape: reshaped(x, shape), view=True)


def _transpose(self: Tracer, *axes: Operand) -> Result:
    if not axes or axes == (None,):
        return DOORS[np.transpose](self)
    return DOORS[np.transpose](self, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)


_FLATTEN = Door("flatten", lambda x, order: reshaped(x, (operand(x).type.size,), order))
_ASTYPE = Door("astype", as_type)


def _flatten(self: Tracer, order: str = "C") -> Result:
    return record(_FLATTEN, order, (self,), lambda given: reshaped(given[0], (operand(given[0]).type.size,), order))


def _astype(self: Tracer, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Result:
    wanted = np.dtype(dtype)
    if not copy and wanted == self.dtype:
        return self
    return record(_ASTYPE, (wanted, order, casting), (self,), lambda given: as_type(given[0], wanted, order, casting))


_SORT = Door("sort", lambda x, axis: sorted_along(order.sort, "sort", x, axis, None, None))


def _sort_in_place(self: Operand, axis: int = -1, kind: Operand = None, order: Operand = None, *, stable: Operand = None) -> None:
    _repoint(self, np.sort(self, axis, kind, order), "x.sort()", "x = np.sort(x)")


install("reshape", _reshape)
install("transpose", _transpose)
install("flatten", _flatten)
install("astype", _astype)
install("sort", _sort_in_place)
install("copy", lambda self, order="C": DOORS[np.copy](self, order))
install("clip", lambda self, min=None, max=None, out=None, **kwargs: DOORS[np.clip](self, min, max, out, **kwargs))
for _name in ("conj", "conjugate"):  # a real array is its own conjugate, not a copy
    install(_name, lambda self: np.conjugate(self) if self.dtype.kind == "c" else self)
install("ptp", lambda self, axis=None, out=None, keepdims=False: DOORS[np.ptp](self, axis, out, keepdims))
install("compress", lambda self, condition, axis=None, out=None: DOORS[np.compress](condition, self, axis, out))
install("choose", lambda self, choices, out=None, mode="raise": DOORS[np.choose](self, choices, out, mode))
install("argpartition", lambda self, kth, axis=-1, kind="introselect", order=None: DOORS[np.argpartition](self, kth, axis, kind, order))
install("view", lambda self, *args: DOORS[np.reshape](self, self.shape) if not args else _no_view())
for _name in ("dot", "trace"):
    install(_name, lambda self, *args, _name=_name, **kwargs: getattr(np, _name)(self, *args, **kwargs))


def _no_view() -> Result:
    raise ConversionError("x.view(dtype) of a traced value would read its bits, which has no derivative: use x.astype(dtype)")


def _item(self: Tracer, *index: Operand) -> Result:
    """The element, which stays traced."""
    if index:
        key = index[0] if len(index) == 1 else index
        return getitem(self, key) if isinstance(key, tuple) else getitem(DOORS[np.ravel](self), key)
    if self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return DOORS[np.reshape](self, ()) if self.ndim else self


def _tolist(self: Tracer) -> Result:
    """Nested lists of scalar tracers."""
    if self.ndim == 0:
        return self
    return np.reshape(np.array([None, *record(ELEMENTS, None, (self,), None)], object)[1:], self.shape).tolist()


install("item", _item)
install("tolist", _tolist)

# ---- length and iteration


def _len(self: Tracer) -> int:
    if self.ndim == 0:
        raise TypeError("len() of unsized object")
    return self.shape[0]


_ROWS = Door("rows", lambda x: tuple(unstacked(operand(x))), view=True)


def _iter(self: Tracer) -> Iterator[Result]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    if self.ndim == 1:
        return iter(record(ELEMENTS, None, (self,), None))
    return iter(record(_ROWS, None, (self,), None))


install("__len__", _len)
install("__iter__", _iter)
install("__reversed__", lambda self: iter(self[::-1]))
install("__contains__", lambda self, value: bool(np.any(self == value)))
install("__pos__", lambda self: make(self.builder, self.atom, self.cell))  # another object: +x is a copy, and += re-points
install("__copy__", lambda self: make(self.builder, self.atom, self.cell))
install("__deepcopy__", lambda self, memo: make(self.builder, self.atom, self.cell))


def _pickled(self: Tracer, protocol: int) -> str:
    raise ConversionError(
        "a traced value cannot be pickled, nor sent to another process: it means nothing outside of its trace.  Return it from the function "
        "instead; has_aux hands it through"
    )


install("__reduce_ex__", _pickled)

# ---- Python's numbers


def _bool(self: Tracer) -> bool:
    if self.size != 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            if self.size
            else "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    return answer(self, bool)  # type: ignore[no-any-return]  # an answer is what its kind gives


def _scalar_only(self: Tracer) -> None:
    if self.ndim:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")


def _int(self: Tracer) -> int:
    _scalar_only(self)
    return answer(self, int)  # type: ignore[no-any-return]


def _index(self: Tracer) -> int:
    if self.ndim or self.dtype.kind not in "iu":
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    return answer(self, int)  # type: ignore[no-any-return]


def _number(kind: type) -> Callable[[Tracer], Result]:
    def convert(self: Tracer) -> Result:
        _scalar_only(self)
        if self.dtype.kind in "iub":
            return answer(self, kind)
        raise ConversionError(
            f"{kind.__name__}(x) of a traced value would cut its derivative.  Keep it traced: leave the conversion out, use NumPy's functions "
            "instead of the math module's (np.sin(x) instead of math.sin(x)), np.array([x, y]) without a dtype, where no derivative is wanted of "
            "functad.stop_gradient(x), which stays traced; if NumPy asked for it, a plain np.array([x, y]) holds objects: np.stack([x, y]) is "
            "traced, and with `import functad.numpy as np` np.array is"
        )

    return convert


def _hash(self: Tracer) -> int:
    if self.ndim or isinstance(self, np.ndarray):
        raise TypeError("unhashable type: 'numpy.ndarray'")
    return answer(self, hash)  # type: ignore[no-any-return]


install("__hash__", _hash)
install("__bool__", _bool)
install("__int__", _int)
install("__index__", _index)
install("__float__", _number(float))
install("__complex__", _number(complex))
install("__round__", lambda self, ndigits=None: np.round(self, 0 if ndigits is None else ndigits))
for _function in (math.floor, math.ceil, math.trunc):

    def _whole(self: Tracer, _function: Operand = _function) -> int:
        _scalar_only(self)
        return answer(self, _function)  # type: ignore[no-any-return]

    install(f"__{_function.__name__}__", _whole)

install("__array__", object_array)


def _format(self: Tracer, specification: str) -> str:
    """The value where there is one, for prints inside of functions."""
    try:
        return format(force(self.cell), specification)  # type: ignore[arg-type]  # a tracer that users see has a cell
    except (FunctadError, AttributeError):
        return repr(self)


install("__format__", _format)

# ---- writing


def _setitem(self: Tracer, key: Operand, value: Operand) -> None:
    raise MutationError(
        "x[i] = v writes into a traced array, which cannot be written to.  Make a new one: np.where(mask, v, x) to change elements, np.concatenate "
        "or np.stack to build an array from parts, np.pad to place one inside zeros"
    )


def _delitem(self: Tracer, key: Operand) -> None:
    raise ValueError("cannot delete array elements")


def _fill(self: Tracer, value: Operand) -> None:
    _repoint(self, np.full_like(self, value), "x.fill(v)", "x = np.full_like(x, v)")


def _repoint(self: Tracer, new: Operand, what: str, cure: str) -> Tracer:
    """Make the tracer stand for a new array, so that all its names see the change."""
    if self.builder is not CURRENT.get() or not isinstance(new, Tracer) or new.builder is not self.builder:
        raise MutationError(f"{what} would change an array of an enclosing traced function: write `{cure}`")
    if shares_memory(self):
        raise MutationError(
            f"{what} on an array that shares its memory with another (one is a slice, reshape or transpose of the other): NumPy would change both.  "
            f"Write `{cure}`"
        )
    self.atom, self.cell = new.atom, new.cell
    return self


def _in_place(name: str, symbol: str, ufunc: np.ufunc) -> None:
    def operate(self: Tracer, other: Operand) -> Result:
        if isinstance(self, np.ndarray) and self.ndim == 0:
            raise MutationError(
                f"`x {symbol} y` on an array without axes would change all of its names, while results without axes are numbers: write "
                f"`x = x {symbol[:-1]} y`"
            )
        if self.ndim == 0:
            return NotImplemented  # a NumPy scalar: the name is bound anew
        new = ufunc(self, other)
        if new.shape != self.shape:
            raise ValueError(f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast shape {new.shape}")
        if new.dtype != self.dtype:
            if not np.can_cast(new.dtype, self.dtype, "same_kind"):
                raise TypeError(f"Cannot cast ufunc '{ufunc.__name__}' output from {new.dtype!r} to {self.dtype!r} with casting rule 'same_kind'")
            new = new.astype(self.dtype)
        return _repoint(self, new, f"`x {symbol} y`", f"x = x {symbol[:-1]} y")

    install(f"__i{name}__", operate)


for _name, _symbol, _ufunc in (
    ("add", "+=", np.add), ("sub", "-=", np.subtract), ("mul", "*=", np.multiply), ("truediv", "/=", np.true_divide),
    ("floordiv", "//=", np.floor_divide), ("mod", "%=", np.remainder), ("pow", "**=", np.power), ("and", "&=", np.bitwise_and),
    ("or", "|=", np.bitwise_or), ("xor", "^=", np.bitwise_xor), ("matmul", "@=", np.matmul),
):  # fmt: skip
    _in_place(_name, _symbol, _ufunc)
install("__setitem__", _setitem)
install("__delitem__", _delitem)
install("fill", _fill)
install("put", lambda self, *args, **kwargs: _setitem(self, None, None))
install("itemset", lambda self, *args: _setitem(self, None, None))
install("resize", lambda self, *args, **kwargs: _setitem(self, None, None))
install("partition", lambda self, kth, axis=-1, kind="introselect", order=None: _sort_in_place(self, axis))
