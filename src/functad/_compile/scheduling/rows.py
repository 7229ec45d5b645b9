"""Policy: loops over the same rows run block by block, so that what one writes is still in the cache when the next reads it.

What lives here: `in_rows`. A row's maximum, the sum of its exponentials and their quotient are three nests over one
matrix; run one after the other they read it three times from memory (layer norm of 1000 x 512: twice as slow). Loops join a
block if all that they read from the loops before them in it lies in the same row. What nobody outside of the block reads gets
memory for one block only.
"""

from functad._compile.scheduling.plan import Loops, Plan, Routine, Rows, Step, Store, probe
from functad._compile.scheduling.sizes import Sizes
from functad._core.primitive import Expression, View
from functad._core.program import Atom, Equation, Var

__all__ = ["BLOCK_ELEMENTS", "BLOCK_ROWS", "in_rows", "lifetimes"]

BLOCK_ROWS = 64  # at most; whatever has one element a row is vectorised along them
BLOCK_ELEMENTS = 16384  # of one matrix in a block: 128 KB of float64


class _Reader:
    """Which stored variables are read in the row that is being computed."""

    def __init__(self, plan: Plan, sizes: Sizes) -> None:
        self.plan, self.sizes = plan, sizes
        self.known: dict[Var, frozenset[tuple[Var, bool]]] = {}
        for e in plan.program.equations:  # in order, so that no recursion is deep
            for v in e.outputs:
                if v not in plan.stored:
                    self.reads(v)

    def lead(self, a: Atom) -> str | None:
        """Size of the first axis that has a loop."""
        return next((n for n in self.sizes.shape(a.type.shape) if n != "1"), None)

    def is_stored(self, v: Var) -> bool:
        return v in self.plan.stored or v not in self.plan.producer

    def reads(self, a: Atom) -> frozenset[tuple[Var, bool]]:
        """(stored variable, whether its row is the one asked for) for all that computing this atom reads."""
        if not isinstance(a, Var):
            return frozenset()
        root = self.plan.roots.get(a, a)
        if self.is_stored(root):
            return frozenset(((root, self.lead(a) is not None and self.lead(a) == self.lead(root)),))
        if a not in self.known:
            self.known[a] = frozenset(self._parts(a))
        return self.known[a]

    def _parts(self, v: Var) -> list[tuple[Var, bool]]:
        """What the equation behind a variable reads, whether or not it is stored itself."""
        e = self.plan.producer[v]
        kernel, lead = e.op.kernel, self.lead(v)
        if isinstance(kernel, Expression):
            return [r for a in e.inputs for r in self.reads(a)]
        if isinstance(kernel, View):
            if kernel.keeps_order:
                same = lead is not None and lead == self.lead(e.inputs[0])
                return [(m, row and same) for m, row in self.reads(e.inputs[0])]
            shape = self.sizes.shape(v.type.shape)
            tokens = [f"i{k}" if n != "1" else "0" for k, n in enumerate(shape)]
            first = next((t for t in tokens if t != "0"), None)
            found = []
            for _, which, texts in probe(e, self.sizes, tokens):
                if which is not None:
                    sizes = self.sizes.shape(e.inputs[which].type.shape)
                    asked = next((t for t, n in zip(texts, sizes, strict=True) if n != "1"), None)
                    found += [(m, row and asked is not None and asked == first) for m, row in self.reads(e.inputs[which])]
            return found
        reads = [(m, False) for a in e.inputs[:1] for m, _ in self.reads(a)]
        for a in e.inputs[1:]:
            reads += [(m, row and self.lead(a) == lead) for m, row in self.reads(a)]
        return reads

    def of_step(self, step: Loops) -> set[tuple[Var, bool]]:
        """All that a nest reads."""
        found: set[tuple[Var, bool]] = set()
        for store in step.stores:
            a = store.atom
            found |= set(self._parts(a)) if isinstance(a, Var) and _defines(store) else self.reads(a)
        for e in step.folds:
            found |= self.reads(e.inputs[0])
        return found


def _defines(store: Store) -> bool:
    return store.output is None and store.region is None


def in_rows(plan: Plan, sizes: Sizes) -> list[Step]:
    """The plan's steps, with nests that share rows put together."""
    if len(plan.steps) < 2 or not any(isinstance(s, Loops) and len(s.space) > 1 for s in plan.steps):
        return plan.steps
    reader = _Reader(plan, sizes)
    steps: list[Step] = []
    place: dict[Var, int] = {}  # stored variable -> index of the step that completes it
    whole: dict[int, dict[Var, bool]] = {}  # for rows: what they write -> whether its row is complete after the row
    for step in plan.steps:
        at = _join(reader, steps, place, whole, step) if isinstance(step, Loops) and step.space else None
        if at is None:
            at = len(steps)
            steps.append(Rows(step.space[0], [step]) if isinstance(step, Loops) and step.space else step)
            whole[at] = {}
        for v, complete in _written(step, reader):
            place[v] = at
            whole[at][v] = complete
    return [_settled(plan, steps, step, whole[i]) for i, step in enumerate(steps)]


def _join(reader: _Reader, steps: list[Step], place: dict[Var, int], whole: dict[int, dict[Var, bool]], step: Loops) -> int | None:
    """Index of the rows that this nest may join: those it reads from, where all else that it reads is there before them."""
    reads = reader.of_step(step)
    at = max([place.get(m, -1) for m, _ in reads], default=-1)
    if at < 0:
        return None
    rows = steps[at]
    if not isinstance(rows, Rows) or rows.size != step.space[0]:
        return None
    for m, row in reads:
        if place.get(m, -1) == at and not (row and whole[at].get(m, False) and reader.lead(m) == rows.size):
            return None
    rows.parts.append(step)
    return at


def _written(step: Step, reader: _Reader) -> list[tuple[Var, bool]]:
    if isinstance(step, Routine):
        return [(v, False) for v in step.equation.outputs]
    assert isinstance(step, Loops)
    found = []
    for store in step.stores:
        v = store.atom if store.region is None else store.region[0]
        if isinstance(v, Var) and store.output is None:
            found.append((v, store.region is None))
    for e in step.folds:
        kept = next((k for k, n in enumerate(reader.sizes.shape(e.inputs[0].type.shape)) if n != "1"), None)
        found.append((e.outputs[0], kept is not None and kept not in e.params["axes"]))
    return found


def _settled(plan: Plan, steps: list[Step], step: Step, written: dict[Var, bool]) -> Step:
    """Rows of a single nest are just that nest; others get their local variables."""
    if not isinstance(step, Rows):
        return step
    if len(step.parts) == 1:
        return step.parts[0]
    shared = set(plan.roots.values())
    outside = {v for other in steps if other is not step for v in _reads(plan, other)}
    for part in step.parts:
        part.flat = False
        made = [store.atom for store in part.stores if _defines(store)] + [e.outputs[0] for e in part.folds if _is_inner(e)]
        for v in made:
            inside = v not in shared and v not in outside and v not in plan.own_output
            if isinstance(v, Var) and v.type.shape and written.get(v) and inside:
                step.local.add(v)
    return step


def _is_inner(e: Equation) -> bool:
    """Whether a reduction runs over last axes only: it writes each element once."""
    ndim = e.inputs[0].type.ndim
    return tuple(sorted(e.params["axes"])) == tuple(range(ndim - len(e.params["axes"]), ndim))


def _reads(plan: Plan, step: Step) -> set[Var]:
    """Stored variables that a step reads."""
    if isinstance(step, Routine):
        return {plan.roots.get(a, a) for a in step.equation.inputs if isinstance(a, Var)}
    parts = step.parts if isinstance(step, Rows) else [step]
    return {m for part in parts for m, _ in part.reads}


def lifetimes(plan: Plan, steps: list[Step]) -> list[tuple[list[Var], list[Var]]]:
    """For each step, the variables that need memory from there on, and those whose memory is free after it."""
    last: dict[Var, int] = {}
    for i, step in enumerate(steps):
        last.update(dict.fromkeys(_reads(plan, step), i))
    known: set[Var] = set()  # a join is written in several steps
    found: list[tuple[list[Var], list[Var]]] = []
    for i, step in enumerate(steps):
        parts = step.parts if isinstance(step, Rows) else [step]
        local = step.local if isinstance(step, Rows) else set()
        born = dict.fromkeys([v for part in parts for v in _writes(part) if v.type.shape and v not in local])
        found.append(([v for v in born if v not in known], []))
        known.update(born)
        for v in born:
            last.setdefault(v, i)
    order = [v for born, _ in found for v in born]
    for v in order:
        if v not in plan.own_output:
            found[last[v]][1].append(v)
    return found


def _writes(step: Step) -> list[Var]:
    if isinstance(step, Routine):
        return list(step.equation.outputs)
    assert isinstance(step, Loops)
    stores = [s.atom if s.region is None else s.region[0] for s in step.stores if s.output is None]
    return [v for v in stores if isinstance(v, Var)] + [e.outputs[0] for e in step.folds]
