"""Types of values: shape, dtype, and whether the value is a weak Python scalar.

Types are interned: equal types are one object, so they compare and hash by identity, which is what recording's dictionary lookups need.
The table of types lives as long as the process; it grows with the number of distinct shapes met.
"""

import math
from typing import Any, Final

import numpy as np

__all__ = ["DTYPE_CODES", "SCALAR_TYPES", "ArrayType", "array_type", "type_of_value"]


class ArrayType:
    """Shape and dtype of an array; `weak` marks what stands for a Python scalar (NEP 50: it does not promote others)."""

    __slots__ = ("dtype", "ndim", "shape", "size", "weak")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], weak: bool) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak = weak
        self.ndim = len(shape)
        self.size = math.prod(shape)

    def __repr__(self) -> str:
        return f"{'weak ' if self.weak else ''}{self.dtype.str[1:]}[{','.join(map(str, self.shape))}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return array_type, (self.shape, self.dtype, self.weak)

    def with_shape(self, shape: tuple[int, ...]) -> "ArrayType":
        """The same dtype, strong, with another shape."""
        return array_type(shape, self.dtype)

    def with_dtype(self, dtype: Any) -> "ArrayType":
        """The same shape, strong, with another dtype."""
        return array_type(self.shape, dtype)

    @property
    def is_inexact(self) -> bool:
        """Whether derivatives with respect to such a value exist."""
        return self.dtype.kind in "fc"


_TYPES: dict[tuple[tuple[int, ...], np.dtype[Any], bool], ArrayType] = {}


def array_type(shape: tuple[int, ...], dtype: Any, weak: bool = False) -> ArrayType:
    """The one type with this shape and dtype (native byte order)."""
    found = _TYPES.get((shape, dtype, weak))
    if found is not None:
        return found
    dtype = np.dtype(dtype)
    # NumPy's own object where there is one: `newbyteorder` and pickle make equal ones that are not it, and a kernel's front compares identities
    dtype = np.dtype(dtype.type) if dtype.kind in "biufc" else dtype.newbyteorder("=")
    shape = tuple(int(n) for n in shape)
    key = (shape, dtype, weak)
    return _TYPES.get(key) or _TYPES.setdefault(key, ArrayType(shape, dtype, weak))


DTYPE_CODES: Final = "?bhilqBHILQfdFD"  # of the dtypes that traced values may have: np.dtype(...).char

# Exact Python types of scalars that are recorded as literals, keyed by kind and never by value.
SCALAR_TYPES: Final[dict[type, ArrayType]] = {
    bool: array_type((), np.bool_),
    int: array_type((), np.int64, True),
    float: array_type((), np.float64, True),
    complex: array_type((), np.complex128, True),
}
for _code in DTYPE_CODES:
    SCALAR_TYPES[np.dtype(_code).type] = array_type((), np.dtype(_code))


def type_of_value(value: Any) -> ArrayType:
    """Type of a concrete scalar or array."""
    found = SCALAR_TYPES.get(type(value))
    return found if found is not None else array_type(value.shape, value.dtype)
