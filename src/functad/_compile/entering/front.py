"""The way from Python into a kernel: check the arguments, allocate the results, call.

What lives here: `make_caller`, which builds a callable for one traced program (every shape is known).
What it may assume: the kernel's parameters are input pointers, int64 constants, output pointers, scratch pointers, in this order.
What it promises: results are fresh arrays that share memory with nothing; anything unexpected goes to the fallback; a
kernel's failure is raised by `_raise_status`.  Importing this file imports neither numba nor llvmlite.

The fast way is one C function for all kernels (`front_code`), which reads objects by their layout: 0.07 us for an
array of ten elements, against 0.2 to 0.5 us for checks written in Python and a call through ctypes.  Where the layout
is not known, the same is done through plain NumPy and ctypes.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from functad._compile.building.kernel import DOUBT, Kernel
from functad._compile.building.locks import COMPILING
from functad._compile.entering.layout import Conversion, Head, layout_is_known
from functad.errors import KernelError

__all__ = ["STATUS_ERRORS", "Array", "Caller", "Slot", "guarded", "make_caller"]

Array = npt.NDArray[np.generic]
Caller = Callable[..., Any]  # takes the inputs, returns the one output or a tuple of outputs

MOST_WORDS = 4096  # the fast way keeps 8 to 24 bytes of stack for each
KEPT_SCRATCH = 1 << 20  # bytes of scratch memory that a caller keeps; more is allocated at each call
_ALIGNMENT = 64

# What a kernel's status means; more may be added.  Negative ones are the kernel room's own.
STATUS_ERRORS: dict[int, Callable[[Kernel], Exception]] = {
    1: lambda kernel: IndexError("index out of bounds"),
    -1: lambda kernel: KernelError(f"kernel {kernel.name} raised inside code that numba made, which functad's sources never ask for"),
}


@dataclass(frozen=True)
class Slot:
    """One argument or result of a kernel."""

    dtype: np.dtype[Any]  # in the machine's byte order
    shape: tuple[int, ...]
    scalar: bool = False  # of an input: a Python or NumPy scalar is given; of an output: a NumPy scalar is returned
    weak: bool | None = None  # of a scalar input: it must be a Python number (True), a NumPy scalar (False), or either; a boolean is either

    @property
    def byte_count(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def kernel_kind(self) -> str:
        """The kind of pointer that the kernel takes for it: booleans are stored as uint8."""
        return ("u1" if self.dtype.kind == "b" else f"{self.dtype.kind}{self.dtype.itemsize}") + "*"


def _raise_status(kernel: Kernel, status: int) -> None:
    """Raise what a kernel's status other than 0 stands for."""
    make = STATUS_ERRORS.get(status)
    raise make(kernel) if make else KernelError(f"kernel {kernel.name} returned status {status}")


def _on_status(kernel: Kernel, status: int, address: int) -> None:
    """Called by the fast way for a status other than 0, the kernel's words being at `address`."""
    if status == DOUBT:
        status = kernel.careful().run_at(address)
    if status:
        _raise_status(kernel, status)


def make_caller(
    kernel: Kernel,
    inputs: Sequence[Slot],
    constants: Sequence[int],
    outputs: Sequence[Slot],
    scratch: Sequence[Slot],
    fallback: Caller | None,
    bound: Mapping[int, Array] | None = None,
    release_gil: bool = False,
) -> Caller:
    """A callable that takes the inputs which are not bound, and returns the one output or a tuple of outputs.

    The kernel's parameters are the inputs, the constants, the outputs and the scratch arrays.  `bound` has inputs that are given
    once and for all, by position.  `fallback` is called with the same arguments where they are not exactly as described: other
    types, dtypes, shapes, strides, or number.  Without it, they are converted if no number changes its kind, and refused with a
    TypeError or ValueError otherwise.  `release_gil`: other threads may run meanwhile (0.04 us).
    """
    plan = _Plan(kernel, inputs, constants, outputs, scratch, bound or {})
    if layout_is_known() and len(kernel.arguments) <= MOST_WORDS and max((len(s.shape) for s in plan.inputs), default=0) <= 64:
        return _fast_caller(plan, fallback or plan.call_converting, release_gil)
    return plan.call_converting if fallback is None else plan.checked_caller(fallback)


_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_PYTHON_RANKS: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}


def _converted(slot: Slot, given: object) -> Array:
    """`given` as the array that the slot describes."""
    rank = _PYTHON_RANKS.get(type(given))
    if rank is not None:  # Python's numbers take the slot's type, as in NumPy, unless they would change their kind
        if rank > _RANKS[slot.dtype.kind]:
            raise TypeError(f"an argument of dtype {slot.dtype} is needed, {given!r} was given")
        given = slot.dtype.type(given)
    array = np.asarray(given)
    if array.shape != slot.shape:
        raise ValueError(f"an argument of shape {slot.shape} is needed, {array.shape} was given")
    if array.dtype.newbyteorder("=") != slot.dtype:
        raise TypeError(f"an argument of dtype {slot.dtype} is needed, {array.dtype} was given")
    return np.require(array, slot.dtype, ["C_CONTIGUOUS", "ALIGNED"])


# For each kind of dtype, the Python types that a scalar input accepts beside NumPy's own.
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {"f": (float, int), "i": (int,), "u": (int,), "b": (bool,), "c": (complex,)}


def _is_exact(slot: Slot, given: object) -> bool:
    """Whether an argument is just as the slot describes it."""
    if slot.scalar:
        python = _PYTHON_TYPES[slot.dtype.kind]
        if slot.weak is None or slot.dtype.kind == "b":
            python = python if slot.dtype != np.complex64 else ()  # the fast way rounds no complex number
            return type(given) is slot.dtype.type or type(given) in python
        return type(given) is (python[0] if slot.weak else slot.dtype.type)
    if type(given) is not np.ndarray or given.dtype is not slot.dtype or given.shape != slot.shape:
        return False
    return given.flags.c_contiguous and given.flags.aligned


def guarded(slots: Sequence[Slot], call: Caller, fallback: Caller) -> Caller:
    """`call` for arguments that are just as the slots describe them, the fallback for all others."""

    def checked(*args: object, **keywords: object) -> Any:
        if keywords or len(args) != len(slots) or not all(map(_is_exact, slots, args)):
            return fallback(*args, **keywords)
        return call(*args)

    return checked


@dataclass(eq=False)
class _Plan:
    """What a caller knows, in plain Python."""

    kernel: Kernel
    inputs: Sequence[Slot]
    constants: Sequence[int]
    outputs: Sequence[Slot]
    scratch: Sequence[Slot]
    bound: Mapping[int, Array]

    def __post_init__(self) -> None:
        self.bound = {position: _converted(self.inputs[position], given) for position, given in self.bound.items()}
        self.free = [position for position in range(len(self.inputs)) if position not in self.bound]  # inputs given at each call
        kinds = [slot.kernel_kind for slot in (*self.inputs, *self.outputs, *self.scratch)]
        expected = (*kinds[: len(self.inputs)], *["i8"] * len(self.constants), *kinds[len(self.inputs) :])
        if expected != self.kernel.arguments:
            raise KernelError(f"{self.kernel!r} does not take {', '.join(expected)}")
        if any(slot.scalar and slot.shape for slot in (*self.inputs, *self.outputs)):
            raise ValueError("a scalar has no shape")

    def call_converting(self, *args: object) -> Any:
        """The call through NumPy and ctypes, converting the arguments.

        Copies what is not contiguous, aligned and in the machine's byte order; a scalar is cast if it keeps its kind.  Another
        number of arguments or dtype is a TypeError, another shape a ValueError.
        """
        if len(args) != len(self.free):
            raise TypeError(f"{len(self.free)} arguments are needed, {len(args)} were given")
        taken = {**self.bound, **{i: _converted(self.inputs[i], given) for i, given in zip(self.free, args, strict=True)}}
        made, spare = ([np.empty(slot.shape, slot.dtype) for slot in slots] for slots in (self.outputs, self.scratch))
        given, results = [taken[i] for i in range(len(self.inputs))], [*made, *spare]
        status = self.kernel.run([*(x.ctypes.data for x in given), *self.constants, *(x.ctypes.data for x in results)])
        if status:
            _raise_status(self.kernel, status)
        returned = tuple(array[()] if slot.scalar else array for slot, array in zip(self.outputs, made, strict=True))
        return returned[0] if len(returned) == 1 else returned

    def checked_caller(self, fallback: Caller) -> Caller:
        """What the fast way does, in Python: what is not exactly as described goes to the fallback."""

        def call(*args: object) -> Any:
            try:
                return self.call_converting(*args)
            except OverflowError:  # an int too large for its slot
                return fallback(*args)

        return guarded([self.inputs[i] for i in self.free], call, fallback)


class _FrontTable(np.ndarray[tuple[int], np.dtype[np.int64]]):
    """The table of one caller, and the owner of all that its addresses point to.

    It is the `self` of a builtin function, which finds the table where an array has its data.
    """

    owned: tuple[object, ...]


def _fast_caller(plan: _Plan, fallback: Caller, release_gil: bool) -> Caller:
    """The C function of `front_code`, bound to a table made from the plan."""
    from functad._compile.entering.front_code import compiled_front

    with COMPILING:
        definition, code = compiled_front()
    kernel, n_inputs, n_constants = plan.kernel, len(plan.inputs), len(plan.constants)
    first_output = n_inputs + n_constants
    template = np.zeros(max(len(kernel.arguments), 1), np.int64)
    template[n_inputs:first_output] = plan.constants
    for position, array in plan.bound.items():
        template[position] = array.ctypes.data
    input_records = _joined([_input_record(plan.inputs[i], i) for i in plan.free])
    output_records = _joined([_output_record(slot, first_output + i) for i, slot in enumerate(plan.outputs)])
    places, scratch_bytes = [], 0
    for i, slot in enumerate(plan.scratch):
        places += [first_output + len(plan.outputs) + i, scratch_bytes]
        scratch_bytes += -(-slot.byte_count // _ALIGNMENT) * _ALIGNMENT
    scratch_records = _joined([places])
    buffer = np.empty(scratch_bytes + _ALIGNMENT if 0 < scratch_bytes <= KEPT_SCRATCH else 0, np.uint8)

    table = np.zeros(len(Head), np.int64).view(_FrontTable)
    fields = {
        Head.KERNEL: kernel.address,
        Head.KERNEL_OBJECT: id(kernel),
        Head.ARGUMENTS: len(plan.free),
        Head.INPUT_RECORDS: input_records.ctypes.data,
        Head.WORDS: len(kernel.arguments),
        Head.TEMPLATE: template.ctypes.data,
        Head.OUTPUTS: len(plan.outputs),
        Head.OUTPUT_RECORDS: output_records.ctypes.data,
        Head.SCRATCHES: len(plan.scratch),
        Head.SCRATCH_RECORDS: scratch_records.ctypes.data,
        Head.SCRATCH_BYTES: scratch_bytes,
        Head.SCRATCH_BUFFER: -(-buffer.ctypes.data // _ALIGNMENT) * _ALIGNMENT if buffer.size else 0,
        Head.FALLBACK: id(fallback),
        Head.ON_STATUS: id(_on_status),
        Head.RELEASE_GIL: int(release_gil),
    }
    for field, value in fields.items():
        table[field] = value
    table.owned = (plan, fallback, _on_status, code, template, input_records, output_records, scratch_records, buffer)
    table.owned += tuple(slot.dtype for slot in (*plan.inputs, *plan.outputs))
    new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    made: Caller = new_function(("PyCFunction_NewEx", ctypes.pythonapi))(definition, table, None)
    return made


def _joined(records: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """The records one after the other; never without an address."""
    words = [word for record in records for word in record]
    return np.array(words or [0], np.int64)


class _Nobody:
    """A type that no argument has."""


def _record(*words: int) -> list[int]:
    """A record begins with its own length in bytes."""
    return [8 * (len(words) + 1), *words]


def _input_record(slot: Slot, position: int) -> list[int]:
    """See `layout.Record`."""
    dtype = slot.dtype
    if not slot.scalar:
        return _record(Conversion.ARRAY, position, id(dtype), len(slot.shape), *slot.shape)
    own, python, low, high = dtype.type, dtype.type, 0, 0  # `python`: a Python type whose objects hold the number in the same form
    conversion = Conversion.NOTHING
    if dtype == np.float64:
        python, conversion = float, Conversion.TO_FLOAT64
    elif dtype == np.complex128:
        python = complex
    elif dtype == np.float32:
        conversion = Conversion.TO_FLOAT32
    elif dtype.kind == "b":
        conversion = Conversion.TO_BOOL
    elif dtype.kind in "iu":
        conversion = Conversion.TO_INTEGER
        low, high = int(np.iinfo(dtype).min), min(int(np.iinfo(dtype).max), 2**63 - 1)
    if slot.weak is not None and dtype.kind != "b":
        if not slot.weak:
            python, conversion = own, Conversion.NOTHING
        elif dtype.kind in "iu" or dtype == np.float32:
            own = python = _Nobody  # a Python number that must be converted
        else:
            own, conversion = python, Conversion.NOTHING
    return _record(conversion, position, id(own), id(python), low, high)


def _output_record(slot: Slot, position: int) -> list[int]:
    """See `layout.Record`."""
    kind, dtype = (Conversion.NOTHING, id(slot.dtype)) if slot.scalar else (Conversion.ARRAY, slot.dtype.num)
    return _record(kind, position, dtype, len(slot.shape), *slot.shape)
