"""The way from Python into a kernel: check the arguments, allocate the results, call.

What lives here: `make_caller`, which builds a callable for one traced program (every shape is known), and
`call_slow`, the same call through plain NumPy and ctypes.
What it may assume: the kernel's parameters are input pointers, int64 constants, output pointers, scratch pointers, in this order.
What it promises: results are fresh arrays that share memory with nothing; anything unexpected goes to the fallback; a
kernel's failure is raised by `raise_status`.  Importing this file imports neither numba nor llvmlite.

The fast way is one C function for all kernels (`front_code`), which reads objects by their layout: 0.07 us for an
array of ten elements, against 0.2 to 0.5 us for checks written in Python and a call through ctypes.  Where the layout
is not known, `call_slow` serves.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from functad._compile.building.kernel import Kernel, compile_lock
from functad._compile.entering.layout import layout_is_known
from functad._compile.mathlib.names import DOUBT
from functad.errors import KernelError

__all__ = ["STATUS_ERRORS", "Slot", "call_slow", "is_exact", "make_caller", "raise_status"]

Array: TypeAlias = npt.NDArray[Any]
Result: TypeAlias = Any  # an array, a number, or a tuple of them
Caller = Callable[..., Result]

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
    """One argument or result of a kernel.

    Attributes
    ----------
    dtype : numpy.dtype
        Type of the elements, in the machine's byte order.
    shape : tuple of int
        The exact shape.
    scalar : bool
        For an input: a Python or NumPy scalar is given.  For an output: a NumPy scalar is returned.
    weak : bool, optional
        For a scalar input: whether it must be a Python number (True) or a NumPy scalar (False); None takes both.  A boolean
        is either.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    scalar: bool = False
    weak: bool | None = None

    @property
    def byte_count(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def kernel_kind(self) -> str:
        """The kind of pointer that the kernel takes for it: booleans are stored as uint8."""
        return ("u1" if self.dtype.kind == "b" else f"{self.dtype.kind}{self.dtype.itemsize}") + "*"


def raise_status(kernel: Kernel, status: int) -> None:
    """Raise what a kernel's status other than 0 stands for."""
    make = STATUS_ERRORS.get(status)
    raise make(kernel) if make else KernelError(f"kernel {kernel.name} returned status {status}")


def _on_status(kernel: Kernel, status: int, address: int) -> None:
    """Called by the fast way for a status other than 0, the kernel's words being at `address`."""
    if status == DOUBT:
        status = kernel.careful().run_at(address)
    if status:
        raise_status(kernel, status)


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

    Parameters
    ----------
    kernel : Kernel
        What to call: its parameters are the inputs, the constants, the outputs and the scratch arrays.
    inputs, outputs, scratch : sequence of Slot
        What each pointer stands for.
    constants : sequence of int
        Numbers that the kernel takes.
    fallback : callable, optional
        Called with the same arguments where they are not exactly as described: other types, dtypes, shapes, strides, or number.
        Without it, they are converted if no number changes its kind, and refused with a TypeError or ValueError otherwise.
    bound : mapping of int to array, optional
        Inputs given once and for all, by position.
    release_gil : bool
        Whether other threads may run meanwhile (0.04 us).
    """
    plan = _Plan(kernel, tuple(inputs), tuple(constants), tuple(outputs), tuple(scratch), _bound_arrays(inputs, bound or {}))
    if layout_is_known() and len(kernel.arguments) <= MOST_WORDS and max((len(s.shape) for s in plan.inputs), default=0) <= 64:
        return _fast_caller(plan, fallback or plan.call_converting, release_gil)
    return plan.call_converting if fallback is None else plan.checked_caller(fallback)


def call_slow(
    kernel: Kernel, inputs: Sequence[Slot], constants: Sequence[int], outputs: Sequence[Slot], scratch: Sequence[Slot], args: Sequence[object]
) -> Result:
    """Call the kernel through NumPy and ctypes, whatever the layout of objects, converting the arguments.

    Copies what is not contiguous, aligned and in the machine's byte order; a scalar is cast if it keeps its kind.

    Raises
    ------
    TypeError
        If the number of arguments or a dtype is another.
    ValueError
        If a shape is another.
    """
    if len(args) != len(inputs):
        raise TypeError(f"{len(inputs)} arguments are needed, {len(args)} were given")
    taken = [_converted(slot, given) for slot, given in zip(inputs, args, strict=True)]
    return _run(kernel, taken, constants, outputs, scratch)


def _run(kernel: Kernel, taken: Sequence[Array], constants: Sequence[int], outputs: Sequence[Slot], scratch: Sequence[Slot]) -> Result:
    """Allocate, call and return; the inputs are arrays as the kernel wants them."""
    made = [np.empty(slot.shape, slot.dtype) for slot in outputs]
    spare = [np.empty(slot.shape, slot.dtype) for slot in scratch]
    status = kernel.run([*(x.ctypes.data for x in taken), *constants, *(x.ctypes.data for x in (*made, *spare))])
    if status:
        raise_status(kernel, status)
    results = tuple(array[()] if slot.scalar else array for slot, array in zip(outputs, made, strict=True))
    return results[0] if len(results) == 1 else results


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


def _bound_arrays(inputs: Sequence[Slot], bound: Mapping[int, Array]) -> dict[int, Array]:
    return {position: _converted(inputs[position], given) for position, given in bound.items()}


class _Plan:
    """What a caller knows, in plain Python."""

    def __init__(
        self,
        kernel: Kernel,
        inputs: tuple[Slot, ...],
        constants: tuple[int, ...],
        outputs: tuple[Slot, ...],
        scratch: tuple[Slot, ...],
        bound: dict[int, Array],
    ) -> None:
        self.kernel, self.inputs, self.constants, self.outputs, self.scratch = kernel, inputs, constants, outputs, scratch
        self.bound = bound
        self.free = [position for position in range(len(inputs)) if position not in bound]  # inputs given at each call
        kinds = [slot.kernel_kind for slot in (*inputs, *outputs, *scratch)]
        expected = (*kinds[: len(inputs)], *["i8"] * len(constants), *kinds[len(inputs) :])
        if expected != kernel.arguments:
            raise KernelError(f"{kernel!r} does not take {', '.join(expected)}")
        if any(slot.scalar and slot.shape for slot in (*inputs, *outputs)):
            raise ValueError("a scalar has no shape")

    def call_converting(self, *args: object) -> Result:
        """The slow call, with the bound inputs put in their places."""
        if len(args) != len(self.free):
            raise TypeError(f"{len(self.free)} arguments are needed, {len(args)} were given")
        taken = dict(zip(self.free, args, strict=True))
        given = [self.bound[i] if i in self.bound else _converted(slot, taken[i]) for i, slot in enumerate(self.inputs)]
        return _run(self.kernel, given, self.constants, self.outputs, self.scratch)

    def checked_caller(self, fallback: Caller) -> Caller:
        """What the fast way does, in Python: what is not exactly as described goes to the fallback."""
        slots = [self.inputs[i] for i in self.free]

        def call(*args: object, **keywords: object) -> Result:
            if keywords or len(args) != len(slots) or not all(map(is_exact, slots, args)):
                return fallback(*args, **keywords)
            try:
                taken = dict(zip(self.free, map(_converted, slots, args), strict=True))
            except OverflowError:
                return fallback(*args)
            given = [self.bound[i] if i in self.bound else taken[i] for i in range(len(self.inputs))]
            return _run(self.kernel, given, self.constants, self.outputs, self.scratch)

        return call


# For each kind of dtype, the Python types that a scalar input accepts beside NumPy's own.
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {"f": (float, int), "i": (int,), "u": (int,), "b": (bool,), "c": (complex,)}


def is_exact(slot: Slot, given: object) -> bool:
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


class _FrontTable(np.ndarray[Any, Any]):
    """The table of one caller, and the owner of all that its addresses point to.

    It is the `self` of a builtin function, which finds the table where an array has its data.
    """

    owned: tuple[object, ...]


def _fast_caller(plan: _Plan, fallback: Caller, release_gil: bool) -> Caller:
    """The C function of `front_code`, bound to a table made from the plan."""
    from functad._compile.entering.front_code import Head, compiled_front

    with compile_lock():
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


def _input_record(slot: Slot, position: int) -> list[int]:
    """See `front_code.Record`."""
    from functad._compile.entering.front_code import Conversion

    dtype = slot.dtype
    if not slot.scalar:
        record = [int(Conversion.ARRAY), position, id(dtype), len(slot.shape), *slot.shape]
        return [8 * (len(record) + 1), *record]
    own, python, low, high = (dtype.type, dtype.type, 0, 0)  # `python`: a Python type whose objects hold the number in the same form
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
    record = [int(conversion), position, id(own), id(python), low, high]
    return [8 * (len(record) + 1), *record]


def _output_record(slot: Slot, position: int) -> list[int]:
    """See `front_code.Record`."""
    from functad._compile.entering.front_code import Conversion

    kind, dtype = (Conversion.NOTHING, id(slot.dtype)) if slot.scalar else (Conversion.ARRAY, slot.dtype.num)
    record = [int(kind), position, dtype, len(slot.shape), *slot.shape]
    return [8 * (len(record) + 1), *record]
