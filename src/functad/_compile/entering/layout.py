"""Where CPython and NumPy keep what the front reads, and whether they do so here.

What lives here: byte offsets, the table that the front is told by, addresses of C functions, and `layout_is_known`, which
compares the offsets with what Python itself reports.
What it promises: where `layout_is_known()` is false, nobody reads memory by these offsets; nothing is compiled or
imported for it.

CPython's object header has the type at 8; a float, and every NumPy scalar, its value at 16.  NumPy 2's ndarray has
its data at 16, ndim at 24, shape at 32, dtype at 56, flags at 64.  Free-threaded builds have another header and are
always refused.
"""

import ctypes
import functools
import struct
import sys
import sysconfig
from enum import IntEnum

import numpy as np
from numpy._core import multiarray  # private, but the C API is reached through it

TYPE, SCALAR_VALUE = 8, 16
DATA, NDIM, SHAPE, DTYPE, FLAGS = 16, 24, 32, 56, 64
C_CONTIGUOUS_AND_ALIGNED = 0x101
_NDARRAY, _SCALAR, _NEW = 2, 60, 93  # positions in NumPy's table of C functions, fixed by its ABI

SLOT_BYTES = 16  # room for one scalar of any kind


class Head(IntEnum):
    """Words at the start of the table."""

    KERNEL = 0
    KERNEL_OBJECT = 1
    ARGUMENTS = 2
    INPUT_RECORDS = 3
    WORDS = 4
    TEMPLATE = 5  # the kernel's words, constants and bound arrays in their places
    OUTPUTS = 6
    OUTPUT_RECORDS = 7
    SCRATCHES = 8
    SCRATCH_RECORDS = 9
    SCRATCH_BYTES = 10
    SCRATCH_BUFFER = 11  # kept between calls, or 0
    SCRATCH_BUSY = 12
    FALLBACK = 13
    ON_STATUS = 14
    RELEASE_GIL = 15


class Record(IntEnum):
    """Words of the record of one input or output; its length comes first, since the shape's length varies."""

    BYTES = 0
    CONVERSION = 1  # ARRAY or one of the scalar kinds
    WORD = 2  # which of the kernel's words it fills
    DTYPE = 3  # id of the dtype; for an array to be made, its type number
    NDIM = 4
    SHAPE = 5
    # of a scalar input, in place of the last three
    TYPE_A = 3
    TYPE_B = 4
    LOW = 5
    HIGH = 6


class Conversion(IntEnum):
    """What else than the types named in its record a scalar input may be."""

    ARRAY = 0
    NOTHING = 1
    TO_FLOAT64 = 2  # int
    TO_FLOAT32 = 3  # float, int
    TO_INTEGER = 4  # int from LOW to HIGH
    TO_BOOL = 5  # bool


_SCALAR_SAMPLES = (
    (np.float64(1.25), np.float32(1.25), np.complex128(1.25 + 2j), np.complex64(1.25 + 2j), np.bool_(True))
    + tuple(kind(3) for kind in (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8))
)  # fmt: skip


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _array_is_known() -> bool:
    x = np.zeros((3, 5))
    at = id(x)
    return (
        (_word(at + TYPE), _word(at + DATA), _half(at + NDIM), _word(at + DTYPE)) == (id(np.ndarray), x.ctypes.data, 2, id(x.dtype))
        and [_word(_word(at + SHAPE) + 8 * axis) for axis in (0, 1)] == [3, 5]
        and _half(at + FLAGS) == x.flags.num
        and _numpy_function(_NDARRAY) == id(np.ndarray)
    )


def _scalars_are_known() -> bool:
    for sample in _SCALAR_SAMPLES:
        if ctypes.string_at(id(sample) + SCALAR_VALUE, sample.nbytes) != sample.tobytes():
            return False
    number, pair = 1.25, 1.25 + 2j
    return ctypes.string_at(id(number) + SCALAR_VALUE, 8) == struct.pack("d", number) and ctypes.string_at(
        id(pair) + SCALAR_VALUE, 16
    ) == struct.pack("dd", pair.real, pair.imag)


@functools.cache
def layout_is_known() -> bool:
    """Whether memory looks as described above."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    return _array_is_known() and _scalars_are_known()


def _numpy_function(position: int) -> int:
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    table = ctypes.cast(pointer_of(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[position] or 0)


@functools.cache
def c_function(name: str) -> int:
    """Address of a function of CPython's C API, or of NumPy's PyArray_New and PyArray_Scalar."""
    if name == "PyArray_New":
        return _numpy_function(_NEW)
    if name == "PyArray_Scalar":
        return _numpy_function(_SCALAR)
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
