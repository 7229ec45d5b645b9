"""The machine code of the front: one C function, the same for all kernels, that a table tells what to check, allocate and call.

What lives here: the function, written instruction by instruction with llvmlite; `layout` has its table, which `front` fills.
What it may assume: `layout.layout_is_known()`.
What it promises: compiled once per process in 25 to 65 ms and without numba (the same function written in Python and
compiled by numba takes 0.5 s); it owns no references but those it makes, and gives them back on every path.

In C: `PyObject *front(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)`; self is an
ndarray whose data is the table. All quantities are 64-bit words here, addresses too.
"""

import contextlib
import ctypes
import functools
from collections.abc import Iterator

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from functad._compile.building import machine_code
from functad._compile.entering.layout import (
    C_CONTIGUOUS_AND_ALIGNED,
    DATA,
    DTYPE,
    FLAGS,
    NDIM,
    SCALAR_VALUE,
    SHAPE,
    SLOT_BYTES,
    TYPE,
    Conversion,
    Head,
    Record,
    c_function,
)

_WORD, _HALF = ir.IntType(64), ir.IntType(32)
_F8, _F4 = ir.DoubleType(), ir.FloatType()


class _Writer:
    """llvmlite's builder with words for what the front does."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.build = ir.IRBuilder(function.append_basic_block("entry"))

    def const(self, number: int) -> ir.Value:
        return ir.Constant(_WORD, number)

    def at(self, address: ir.Value, offset: int = 0, kind: ir.Type = _WORD) -> ir.Value:
        """Pointer to what lies `offset` bytes after `address`."""
        return self.build.inttoptr(self.build.add(address, self.const(offset)), kind.as_pointer())

    def load(self, address: ir.Value, offset: int = 0) -> ir.Value:
        return self.build.load(self.at(address, offset))

    def load_half(self, address: ir.Value, offset: int) -> ir.Value:
        return self.build.zext(self.build.load(self.at(address, offset, _HALF)), _WORD)

    def store(self, address: ir.Value, value: ir.Value) -> None:
        self.build.store(value, self.at(address, 0, value.type))

    def item(self, address: ir.Value, index: ir.Value, size: int = 8) -> ir.Value:
        """Address of element `index` of an array at `address`."""
        return self.build.add(address, self.build.mul(index, self.const(size)))

    def equal(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.build.icmp_unsigned("==", x, y)

    def is_null(self, x: ir.Value) -> ir.Value:
        return self.equal(x, self.const(0))

    def is_set(self, x: ir.Value) -> ir.Value:
        return self.build.icmp_unsigned("!=", x, self.const(0))

    def words(self, count: ir.Value) -> ir.Value:
        """Address of so many words on the stack."""
        return self.build.ptrtoint(self.build.alloca(_WORD, count), _WORD)

    def variable(self, value: ir.Value) -> ir.Value:
        with self.build.goto_entry_block():  # in a loop it would take new stack each time round
            place = self.build.alloca(value.type)
        self.build.store(value, place)
        return place

    def call(self, name: str, arguments: list[ir.Value], result: ir.Type = _WORD) -> ir.Value:
        """A call of the C API; 32-bit arguments are C ints."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.build.call(self.build.inttoptr(self.const(c_function(name)), kind.as_pointer()), arguments)

    def block(self, name: str) -> ir.Value:
        return self.function.append_basic_block(name)

    def require(self, condition: ir.Value, otherwise: ir.Value) -> None:
        """Go on where the condition holds, else to the block `otherwise`."""
        onward = self.block("onward")
        self.build.cbranch(condition, onward, otherwise)
        self.build.position_at_end(onward)

    @contextlib.contextmanager
    def loop(self, count: ir.Value) -> Iterator[ir.Value]:
        """The body for 0 <= i < count."""
        before, head, body, done = self.build.block, self.block("loop"), self.block("body"), self.block("done")
        self.build.branch(head)
        self.build.position_at_end(head)
        i = self.build.phi(_WORD)
        i.add_incoming(self.const(0), before)
        self.build.cbranch(self.build.icmp_signed("<", i, count), body, done)
        self.build.position_at_end(body)
        yield i
        i.add_incoming(self.build.add(i, self.const(1)), self.build.block)
        self.build.branch(head)
        self.build.position_at_end(done)

    @contextlib.contextmanager
    def records(self, first: ir.Value, count: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
        """The body for each record: its position and address."""
        place = self.variable(first)
        with self.loop(count) as i:
            record = self.build.load(place)
            yield i, record
            self.build.store(self.build.add(record, self.load(record, 8 * Record.BYTES)), place)


class _Front:
    """Writes the function, one step a method."""

    def __init__(self, writer: _Writer) -> None:
        self.w = w = writer
        own, self.arguments, self.count, self.keywords = w.function.args
        self.table = w.load(own, DATA)
        self.fallback, self.no_memory, self.undo, self.finish = (w.block(n) for n in ("fallback", "no_memory", "undo", "finish"))

    def head(self, field: Head) -> ir.Value:
        return self.w.load(self.table, 8 * field)

    def write(self) -> None:
        w = self.w
        argument_count, self.output_count = self.head(Head.ARGUMENTS), self.head(Head.OUTPUTS)
        w.require(w.build.and_(w.equal(self.count, argument_count), w.is_null(self.keywords)), self.fallback)
        word_count = self.head(Head.WORDS)
        self.words = w.words(word_count)
        self.slots = w.words(w.build.mul(w.build.add(argument_count, self.output_count), w.const(SLOT_BYTES // 8)))
        self.results = w.words(self.output_count)
        self.scratch = w.variable(w.const(0))
        self.owned = w.variable(w.const(0))  # scratch memory to be freed after the call
        with w.loop(word_count) as i:
            w.store(w.item(self.words, i), w.load(w.item(self.head(Head.TEMPLATE), i)))
        with w.records(self.head(Head.INPUT_RECORDS), argument_count) as (i, record):
            self.take_input(i, record)
        with w.loop(self.output_count) as i:
            w.store(w.item(self.results, i), w.const(0))
        with w.records(self.head(Head.OUTPUT_RECORDS), self.output_count) as (i, record):
            self.make_output(i, record, argument_count)
        with w.build.if_then(w.is_set(self.head(Head.SCRATCHES))):
            self.take_scratch()
        self.run()
        with w.records(self.head(Head.OUTPUT_RECORDS), self.output_count) as (i, record):
            self.make_scalar(i, record, argument_count)
        w.build.branch(self.finish)
        self.write_ends()

    def take_input(self, position: ir.Value, record: ir.Value) -> None:
        w = self.w
        item = w.load(w.item(self.arguments, position))
        kind, conversion = w.load(item, TYPE), w.load(record, 8 * Record.CONVERSION)
        target = w.item(self.words, w.load(record, 8 * Record.WORD))
        array, scalar, done = w.block("array"), w.block("scalar"), w.block("taken")
        w.build.cbranch(w.is_null(conversion), array, scalar)
        w.build.position_at_end(array)
        w.require(w.equal(kind, w.const(id(np.ndarray))), self.fallback)
        w.require(w.equal(w.load(item, DTYPE), w.load(record, 8 * Record.DTYPE)), self.fallback)
        ndim = w.load_half(item, NDIM)
        w.require(w.equal(ndim, w.load(record, 8 * Record.NDIM)), self.fallback)
        needed = w.const(C_CONTIGUOUS_AND_ALIGNED)
        w.require(w.equal(w.build.and_(w.load_half(item, FLAGS), needed), needed), self.fallback)
        shape = w.load(item, SHAPE)
        with w.loop(ndim) as axis:
            w.require(w.equal(w.load(w.item(shape, axis)), w.load(w.item(record, axis), 8 * Record.SHAPE)), self.fallback)
        w.store(target, w.load(item, DATA))
        w.build.branch(done)
        w.build.position_at_end(scalar)
        named = (w.equal(kind, w.load(record, 8 * Record.TYPE_A)), w.equal(kind, w.load(record, 8 * Record.TYPE_B)))
        with w.build.if_else(w.build.or_(*named)) as (direct, other):
            with direct:
                w.store(target, w.build.add(item, w.const(SCALAR_VALUE)))
            with other:
                slot = w.item(self.slots, position, SLOT_BYTES)
                self.convert(item, kind, conversion, record, slot)
                w.store(target, slot)
        w.build.branch(done)
        w.build.position_at_end(done)

    def convert(self, item: ir.Value, kind: ir.Value, conversion: ir.Value, record: ir.Value, slot: ir.Value) -> None:
        """Put a Python number into the slot as a number of the slot's kind."""
        w, build = self.w, self.w.build
        done, numbers = w.block("converted"), {case: w.block(case.name) for case in list(Conversion)[2:]}
        switch = build.switch(conversion, self.fallback)
        for case, block in numbers.items():
            switch.add_case(w.const(case), block)

        build.position_at_end(numbers[Conversion.TO_FLOAT64])
        w.store(slot, self.double_of_int(item, kind))
        build.branch(done)

        build.position_at_end(numbers[Conversion.TO_FLOAT32])
        is_float, is_other, rounded = w.block("is_float"), w.block("is_other"), w.block("rounded")
        build.cbranch(w.equal(kind, w.const(id(float))), is_float, is_other)
        build.position_at_end(is_float)
        given = build.load(w.at(item, SCALAR_VALUE, _F8))
        build.branch(rounded)
        build.position_at_end(is_other)
        made = self.double_of_int(item, kind)
        from_int = build.block
        build.branch(rounded)
        build.position_at_end(rounded)
        value = build.phi(_F8)
        value.add_incoming(given, is_float)
        value.add_incoming(made, from_int)
        w.store(slot, build.fptrunc(value, _F4))
        build.branch(done)

        build.position_at_end(numbers[Conversion.TO_INTEGER])
        w.require(w.equal(kind, w.const(id(int))), self.fallback)
        integer = w.call("PyLong_AsLongLong", [item])
        self.refuse_error(w.equal(integer, w.const(-1)))
        low = build.icmp_signed(">=", integer, w.load(record, 8 * Record.LOW))
        w.require(build.and_(low, build.icmp_signed("<=", integer, w.load(record, 8 * Record.HIGH))), self.fallback)
        w.store(slot, integer)
        build.branch(done)

        build.position_at_end(numbers[Conversion.TO_BOOL])
        w.require(w.equal(kind, w.const(id(bool))), self.fallback)
        w.store(slot, build.zext(w.equal(item, w.const(id(True))), _WORD))
        build.branch(done)
        build.position_at_end(done)

    def double_of_int(self, item: ir.Value, kind: ir.Value) -> ir.Value:
        w = self.w
        w.require(w.equal(kind, w.const(id(int))), self.fallback)
        value = w.call("PyLong_AsDouble", [item], _F8)
        self.refuse_error(w.build.fcmp_ordered("==", value, ir.Constant(_F8, -1.0)))
        return value

    def refuse_error(self, suspicious: ir.Value) -> None:
        """To the fallback if an exception is set (an int too large, say), which is then forgotten."""
        w = self.w
        with w.build.if_then(suspicious, likely=False), w.build.if_then(w.is_set(w.call("PyErr_Occurred", []))):
            w.call("PyErr_Clear", [], ir.VoidType())
            w.build.branch(self.fallback)
            w.build.position_at_end(w.block("unreachable"))

    def output_slot(self, position: ir.Value, argument_count: ir.Value) -> ir.Value:
        return self.w.item(self.slots, self.w.build.add(argument_count, position), SLOT_BYTES)

    def make_output(self, position: ir.Value, record: ir.Value, argument_count: ir.Value) -> None:
        w, build = self.w, self.w.build
        place = w.variable(self.output_slot(position, argument_count))
        with build.if_then(w.is_null(w.load(record, 8 * Record.CONVERSION))):
            zero, none = ir.Constant(_HALF, 0), w.const(0)
            ndim, number = (build.trunc(w.load(record, 8 * field), _HALF) for field in (Record.NDIM, Record.DTYPE))
            shape = build.add(record, w.const(8 * Record.SHAPE))
            made = w.call("PyArray_New", [w.const(id(np.ndarray)), ndim, shape, number, none, none, zero, zero, none])
            w.require(w.is_set(made), self.undo)  # the exception is set
            w.store(w.item(self.results, position), made)
            build.store(w.load(made, DATA), place)
        w.store(w.item(self.words, w.load(record, 8 * Record.WORD)), build.load(place))

    def make_scalar(self, position: ir.Value, record: ir.Value, argument_count: ir.Value) -> None:
        w = self.w
        with w.build.if_then(w.is_set(w.load(record, 8 * Record.CONVERSION))):
            made = w.call("PyArray_Scalar", [self.output_slot(position, argument_count), w.load(record, 8 * Record.DTYPE), w.const(0)])
            w.require(w.is_set(made), self.undo)
            w.store(w.item(self.results, position), made)

    def take_scratch(self) -> None:
        """The buffer kept in the table if nobody uses it now (a kernel without the GIL might), else fresh memory."""
        w, build = self.w, self.w.build
        kept = build.and_(w.is_set(self.head(Head.SCRATCH_BUFFER)), w.is_null(self.head(Head.SCRATCH_BUSY)))
        with build.if_else(kept) as (keep, fresh):
            with keep:
                w.store(build.add(self.table, w.const(8 * Head.SCRATCH_BUSY)), w.const(1))
                build.store(self.head(Head.SCRATCH_BUFFER), self.scratch)
            with fresh:
                memory = w.call("PyMem_RawMalloc", [build.add(self.head(Head.SCRATCH_BYTES), w.const(64))])
                w.require(w.is_set(memory), self.no_memory)
                build.store(memory, self.owned)
                build.store(build.and_(build.add(memory, w.const(63)), w.const(-64)), self.scratch)
        with w.loop(self.head(Head.SCRATCHES)) as i:
            record = w.item(self.head(Head.SCRATCH_RECORDS), i, 16)
            w.store(w.item(self.words, w.load(record)), build.add(build.load(self.scratch), w.load(record, 8)))

    def give_scratch_back(self) -> None:
        w, build = self.w, self.w.build
        memory = build.load(self.owned)
        with build.if_else(w.is_set(memory)) as (fresh, kept):
            with fresh:
                w.call("PyMem_RawFree", [memory], ir.VoidType())
            with kept, build.if_then(w.is_set(build.load(self.scratch))):
                w.store(build.add(self.table, w.const(8 * Head.SCRATCH_BUSY)), w.const(0))

    def run(self) -> None:
        """Call the kernel; a status that is not 0 goes to Python, which repairs it or raises."""
        w, build = self.w, self.w.build
        entry = build.inttoptr(self.head(Head.KERNEL), ir.FunctionType(_WORD, [_WORD]).as_pointer())
        status = w.variable(w.const(0))
        with build.if_else(w.is_set(self.head(Head.RELEASE_GIL))) as (release, hold):
            with release:
                thread = w.call("PyEval_SaveThread", [])
                build.store(build.call(entry, [self.words]), status)
                w.call("PyEval_RestoreThread", [thread], ir.VoidType())
            with hold:
                build.store(build.call(entry, [self.words]), status)
        with build.if_then(w.is_set(build.load(status)), likely=False):
            numbers = [w.call("PyLong_FromLongLong", [value]) for value in (build.load(status), self.words)]
            given = w.words(w.const(3))
            for i, value in enumerate((self.head(Head.KERNEL_OBJECT), *numbers)):
                w.store(build.add(given, w.const(8 * i)), value)
            answer = w.call("PyObject_Vectorcall", [self.head(Head.ON_STATUS), given, w.const(3), w.const(0)])
            for number in numbers:
                w.call("Py_DecRef", [number], ir.VoidType())
            w.require(w.is_set(answer), self.undo)
            w.call("Py_DecRef", [answer], ir.VoidType())

    def write_ends(self) -> None:
        """The four ways out."""
        w, build = self.w, self.w.build
        build.position_at_end(self.fallback)
        build.ret(w.call("PyObject_Vectorcall", [self.head(Head.FALLBACK), self.arguments, self.count, self.keywords]))

        build.position_at_end(self.no_memory)
        w.call("PyErr_NoMemory", [])
        build.branch(self.undo)

        build.position_at_end(self.undo)
        self.give_scratch_back()
        with w.loop(self.output_count) as i:
            made = w.load(w.item(self.results, i))
            with build.if_then(w.is_set(made)):
                w.call("Py_DecRef", [made], ir.VoidType())
        build.ret(w.const(0))

        build.position_at_end(self.finish)
        self.give_scratch_back()
        with build.if_then(w.equal(self.output_count, w.const(1))):
            build.ret(w.load(self.results))
            build.position_at_end(w.block("unreachable"))
        answer = w.call("PyTuple_New", [self.output_count])
        build.store(w.const(0), self.scratch)  # `undo` must not give it back twice
        build.store(w.const(0), self.owned)
        w.require(w.is_set(answer), self.undo)
        with w.loop(self.output_count) as i:
            w.call("PyTuple_SetItem", [answer, i, w.load(w.item(self.results, i))], _HALF)
        build.ret(answer)


class _MethodDefinition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


@functools.cache
def compiled_front() -> tuple[int, object]:
    """Address of the PyMethodDef of the front, and what keeps it alive: for the life of the process."""
    module = ir.Module("functad_front")
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(_WORD, [_WORD] * 4), "functad_front")
    _Front(_Writer(function)).write()
    front = machine_code.parsed(module)
    machine_code.optimize_little(front)
    address, engine = machine_code.load(machine_code.object_code(front, level=1), "functad_front")
    definition = _MethodDefinition(b"functad_kernel", address, 0x80 | 0x02, b"")  # METH_FASTCALL | METH_KEYWORDS
    return ctypes.addressof(definition), (definition, engine)
