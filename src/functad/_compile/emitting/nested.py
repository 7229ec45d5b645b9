"""Inner programs inside a kernel: `scan` and `while_loop` are loops, `cond` is a branch.

Bodies are scheduled by themselves and spelt once, whatever the trip count.  Numbers that are carried are local variables.  An
array that is carried lies in the memory of its final value; a step that reads it element by element while it writes the next
one does so in place, any other writes beside it and copies it over.
"""

from collections.abc import Callable, Sequence

from functad._compile.codes import code_of
from functad._compile.emitting.accesses import Block, Buffer, Scalar, Storage
from functad._compile.emitting.frames import Frame, fill, number
from functad._compile.emitting.spellings import note_of
from functad._core.program import Atom, Equation, Program, Var

__all__ = ["NESTED", "Write"]

Write = Callable[[Frame, Sequence[Storage], Sequence[Storage], Block], None]  # spells a program between its inputs and outputs


def _row(frame: Frame, storage: Storage, index: str, v: Var, used: set[Atom], block: Block) -> Storage:
    """One slice of a sequence; a number is loaded once."""
    if isinstance(storage, Scalar):
        return storage
    row = storage.row(index)
    if v.type.shape or v not in used:
        return row
    name = frame.names.fresh("v")
    block.line(f"{name} = {row.load(row.offset)}")
    return Scalar(name, row.code)


def _read_by(program: Program) -> set[Atom]:
    return {a for e in program.equations for a in e.inputs} | set(program.outputs)


class _Carry:
    """What goes from step to step: where it is (`now`) and where a step writes it (`next`)."""

    def __init__(self, frame: Frame, inner: Frame, first: int, initial: Sequence[Atom], outputs: Sequence[Var], block: Block) -> None:
        self.frame, self.outputs = frame, outputs
        self.now: list[Storage] = []
        self.next: list[Storage] = []
        for k, (a, out) in enumerate(zip(initial, outputs, strict=True)):
            given = frame.given(a)
            if not out.type.shape:
                name = frame.names.fresh("c")
                block.line(f"{name} = {number(given)}")
                self.now.append(Scalar(name, given.code))
                self.next.append(Scalar(frame.names.fresh("c"), given.code))
                continue
            target = frame.buffer_of(out)
            fill(frame, target, given if isinstance(given, Buffer) else given.name, block)
            self.now.append(target)
            in_place = inner.plan.overwrites(inner.program.inputs[first + k], k)
            self.next.append(target if in_place else frame.new_buffer(target.code, target.shape))

    def advance(self, block: Block) -> None:
        """The end of a step."""
        for now, after in zip(self.now, self.next, strict=True):
            if isinstance(now, Scalar):
                assert isinstance(after, Scalar)
                block.line(f"{now.name} = {after.name}")
            elif after is not now:
                assert isinstance(after, Buffer)
                fill(self.frame, now, after, block)

    def finish(self, block: Block) -> None:
        """After the loop: numbers become values of the frame."""
        for now, out in zip(self.now, self.outputs, strict=True):
            if isinstance(now, Scalar):
                self.frame.define_scalar(out, now.name, block)


def _scan(frame: Frame, e: Equation, block: Block, write: Write) -> None:
    p, note = e.params, note_of(e)
    body, constants, n_carry = p["body"], p["constants"], p["carry"]
    length = frame.sizes.size(p["length"])
    inner = frame.inner(body)
    carry = _Carry(frame, inner, constants, e.inputs[constants : constants + n_carry], e.outputs[:n_carry], block)
    fixed = [frame.given(a) for a in e.inputs[:constants]]
    sequences = [frame.given(a) for a in e.inputs[constants + n_carry :]]
    k = frame.names.fresh("k")
    block.line(f"for {k} in range({length}):", note)
    step = block.block(1)
    index = k
    if p["reverse"]:
        index = frame.names.fresh("q")
        step.line(f"{index} = {length} - 1 - {k}")
    used = _read_by(body)
    rows = [_row(frame, s, index, v, used, step) for s, v in zip(sequences, body.inputs[constants + n_carry :], strict=True)]
    stacked = [frame.buffer_of(v).row(index) for v in e.outputs[n_carry:]]
    write(inner, [*fixed, *carry.now, *rows], [*carry.next, *stacked], step)
    carry.advance(step)
    carry.finish(block)


def _while_loop(frame: Frame, e: Equation, block: Block, write: Write) -> None:
    p, note = e.params, note_of(e)
    condition, body = p["condition"], p["body"]
    n, m = p["condition_constants"], p["body_constants"]
    asked, fixed = ([frame.given(a) for a in part] for part in (e.inputs[:n], e.inputs[n : n + m]))
    inner = frame.inner(body)
    carry = _Carry(frame, inner, m, e.inputs[n + m :], e.outputs, block)
    goes_on = Scalar(frame.names.fresh("c"), "b1")
    block.line("while True:", note)
    step = block.block(1)
    write(frame.inner(condition), [*asked, *carry.now], [goes_on], step)
    step.line(f"if not {goes_on.name}:", note)
    step.line("    break", note)
    write(inner, [*fixed, *carry.now], carry.next, step)
    carry.advance(step)
    carry.finish(block)


def _cond(frame: Frame, e: Equation, block: Block, write: Write) -> None:
    given = [frame.given(a) for a in e.inputs]
    targets: list[Storage] = []
    for v in e.outputs:
        targets.append(frame.buffer_of(v) if v.type.shape else Scalar(frame.names.fresh("c"), code_of(v)))
    for word, branch in ((f"if {number(given[0])}:", e.params["branches"][0]), ("else:", e.params["branches"][1])):
        block.line(word, note_of(e))
        inner = block.block(1)
        write(frame.inner(branch), given[1:], targets, inner)
    for v, target in zip(e.outputs, targets, strict=True):
        if isinstance(target, Scalar):
            frame.define_scalar(v, target.name, block)


NESTED: dict[str, Callable[[Frame, Equation, Block, Write], None]] = {"scan": _scan, "while_loop": _while_loop, "cond": _cond}
