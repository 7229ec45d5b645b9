"""Policy: which variables get memory, which loops compute what.

What lives here: `schedule`, from a program to a list of steps (`Loops` over an index space, `Routine`s with loops of their own)
and the set of variables that are stored. What is not stored is pulled: computed where a stored variable, a reduction or a
result asks for it.
What it may assume: every equation has a kernel form; its answer depends on what is in the kernel's key only (see `sizes`),
never on a number.
What it promises: steps in an order in which everything is stored before it is read; within one `Loops` a stored variable is
read at the index at which it is being written, or not at all.

The rules, and why: a value that would be computed at several index maps, in several loops or again in an outer loop is stored
if it is costly (an exponential takes 1.1 ns, a store and a load about 0.5); long chains are cut, since loops of more than about
100 transcendental operations run out of registers; equal index spaces share a loop wherever no dependence forbids it.
"""

from collections.abc import Callable, Hashable

from functad._compile.scheduling.plan import PULLED, Loops, Plan, Routine, Step, Store, cost_of, probe, space_of
from functad._compile.scheduling.sizes import Sizes
from functad._core.primitive import Call, Expression, Fold, View
from functad._core.program import Atom, Equation, Program, Var

__all__ = ["schedule"]

CHAIN_COST = 1000.0  # of one loop: about 100 transcendental operations
TWICE_COST = 16.0  # a value this costly is stored rather than computed twice: one exponential is not
OWN_COST = 4.0  # an operation this costly is worth storing by itself
MOST_MAPS = 6  # index maps at which even a cheap value is computed
MOST_VIEWS = 12  # one behind the other: each may be a condition, and conditions are nested
MOST_PIECES = 4  # of a join that is read through conditions rather than stored
ROUNDS = 3  # of sharing between loops


def schedule(program: Program, sizes: Sizes) -> Plan:
    """The plan of a simplified program; results are stored in the order of `program.outputs`."""
    return _Scheduler(program, sizes).run()


class _Scheduler:
    def __init__(self, program: Program, sizes: Sizes) -> None:
        self.program, self.sizes = program, sizes
        self.producer = {v: e for e in program.equations for v in e.outputs}
        self.given = set(program.inputs)
        self.stored: set[Var] = set()
        self.roots: dict[Atom, Var] = {}
        self.cost: dict[Var, float] = {}
        self.own_output: dict[Var, int] = {}
        self.ids: dict[Hashable, int] = {}
        self.position: dict[Var, int] = {}
        self.soft: dict[Var, tuple[str, ...]] = {}
        self.steps: list[Step] = []
        self.by_space: dict[tuple[str, ...], list[int]] = {}
        self.reads: dict[Var, frozenset[tuple[Var, bool]]] = {}

    def run(self) -> Plan:
        self._costs()
        for i, a in enumerate(self.program.outputs):
            if isinstance(a, Var):
                root = self.roots.get(a, a)
                if root not in self.given and root not in self.own_output:
                    self.own_output[root] = i
                    self.stored.add(root)
        for _ in range(ROUNDS):
            self._choose()
            self._group()
            if not self._share():
                break
        else:
            self._group()
        return Plan(self.program, self.steps, self.stored, self.roots, self.producer, self.own_output)

    def space(self, a: Atom) -> tuple[str, ...]:
        return space_of(self.sizes.shape(a.type.shape))

    def has_storage(self, v: Var) -> bool:
        return v in self.stored or v in self.given

    # ---- which variables get memory

    def _costs(self) -> None:
        """Costs of pulling, storage shared by views that keep the order, and cuts of long chains."""
        running: dict[tuple[int, ...], float] = {}
        chunk: dict[Atom, int] = {}
        depth: dict[Var, int] = {}  # views behind a variable
        for e in self.program.equations:
            kernel = e.op.kernel
            out = e.outputs[0]
            behind = max([depth.get(a, 0) for a in e.inputs if isinstance(a, Var)], default=0)
            depth[out] = behind + isinstance(kernel, View)
            if isinstance(kernel, View):
                if kernel.keeps_order and isinstance(e.inputs[0], Var):
                    self.roots[out] = self.roots.get(e.inputs[0], e.inputs[0])
                self.cost[out] = 0.2 + max([self.cost.get(a, 0.0) for a in e.inputs if isinstance(a, Var)], default=0.0)
                if depth.get(out, 0) > MOST_VIEWS:
                    self.mark(out)
                    depth[out] = 0
            elif isinstance(kernel, Expression) or (isinstance(kernel, Call) and kernel.kind in PULLED):
                below = sum([self.cost.get(a, 0.0) for a in e.inputs if isinstance(a, Var)])
                self.cost[out] = min(cost_of(e) + below, 1e4) if out.type.shape else 0.0
            else:
                continue
            if out.type.shape:
                shape = out.type.shape
                total = running[shape] = running.get(shape, 0.0) + cost_of(e)
                chunk[out] = int(total / CHAIN_COST)
                for a in e.inputs:
                    if chunk.get(a, chunk[out]) != chunk[out]:
                        self.mark(a)

    def mark(self, a: Atom) -> None:
        """This atom must have storage."""
        if isinstance(a, Var):
            root = self.roots.get(a, a)
            if root not in self.given:
                self.stored.add(root)

    def _choose(self) -> None:
        """From results to inputs: at which index maps is each variable asked for, and is it stored therefore."""
        maps: dict[Var, set[int]] = {}

        def ask(a: Atom, ids: set[int]) -> None:
            if isinstance(a, Var):
                maps.setdefault(a, set()).update(ids)

        for a in self.program.outputs:
            ask(a, {self.root_map(a)})
        for e in reversed(self.program.equations):
            kernel = e.op.kernel
            if isinstance(kernel, Call) and kernel.kind not in PULLED:
                self.stored.update(e.outputs)
                for a in e.inputs:
                    self.mark(a)
                continue
            out = e.outputs[0]
            if isinstance(kernel, Fold):
                self.stored.add(out)
                ask(e.inputs[0], {self.root_map(e.inputs[0])})
                continue
            ids = maps.get(out, set())
            if not out.type.shape and out not in self.roots:
                self.stored.add(out)
            elif out not in self.stored and (len(ids) > 4 * MOST_MAPS if isinstance(kernel, View) else self._is_repeated(out, len(ids))):
                self.mark(out)
            if out in self.stored:
                ids = {self.root_map(out)}
            if isinstance(kernel, Expression):
                for a in e.inputs:
                    ask(a, ids)
            elif isinstance(kernel, View):
                self._choose_view(e, kernel, ids, ask)
            elif e.inputs:  # read through indices that are values themselves
                self.mark(e.inputs[0])
                for a in e.inputs[1:]:
                    ask(a, {self.ids.setdefault((i, "read"), len(self.ids)) for i in ids})

    def _choose_view(self, e: Equation, kernel: View, ids: set[int], ask: Callable[[Atom, set[int]], None]) -> None:
        out = e.outputs[0]
        shape = self.sizes.shape(out.type.shape)
        if kernel.keeps_order:
            if space_of(shape) != self.space(e.inputs[0]):
                self.mark(out)  # pulling through would divide in the inner loop
            ask(e.inputs[0], ids)
            return
        if kernel.joins:
            if out not in self.stored and len(e.inputs) > MOST_PIECES:
                self.stored.add(out)
            if out in self.stored:
                for a in e.inputs:
                    ask(a, {self.root_map(a)})
                return
        indices = [f"i{k}" if n != "1" else "0" for k, n in enumerate(shape)]
        pieces = probe(e, self.sizes, indices)
        loops = [i for i in indices if i != "0"]
        for condition, which, texts in pieces:
            if which is None:
                continue
            a = e.inputs[which]
            used = [t for t in texts if t != "0"]
            repeated = 0 < len(used) < len(loops) and set(used) <= set(loops) and used != loops[: len(used)]
            if repeated and isinstance(a, Var) and self.cost.get(a, 0.0) >= 2:
                self.mark(a)  # an outer loop would compute it again
            ask(a, {self.ids.setdefault((i, condition, tuple(texts)), len(self.ids)) for i in ids})

    def root_map(self, a: Atom) -> int:
        return self.ids.setdefault(self.space(a), len(self.ids))

    def _is_repeated(self, v: Var, maps: int) -> bool:
        return maps > 1 and (self.cost[v] * (maps - 1) >= TWICE_COST or maps > MOST_MAPS)

    # ---- which loops compute what

    def _group(self) -> None:
        self.steps, self.by_space, self.reads = [], {}, {}
        self.position, self.soft = {}, {}
        for e in self.program.equations:
            kernel = e.op.kernel
            if isinstance(kernel, Call) and kernel.kind not in PULLED:
                self.position.update(dict.fromkeys(e.outputs, len(self.steps)))
                self.steps.append(Routine(e))
            elif isinstance(kernel, Fold):
                a = e.inputs[0]
                all_axes = len(e.params["axes"]) == a.type.ndim  # what it runs over is then behind views that keep the order
                loops, at = self._place(self.roots.get(a, a) if all_axes else a, None)
                loops.folds.append(e)
                loops.flat &= all_axes
                self.position[e.outputs[0]] = at
            elif e.outputs[0] in self.stored:
                self._place_store(e)
            else:
                self.needs(e.outputs[0], None)  # in order, so that no recursion is deep
        for i, a in enumerate(self.program.outputs):
            if not isinstance(a, Var) or self.own_output.get(self.roots.get(a, a)) != i:
                source = self.roots.get(a, a)
                loops, _ = self._place(source, None)
                loops.stores.append(Store(source, output=i))

    def _place_store(self, e: Equation) -> None:
        out, kernel = e.outputs[0], e.op.kernel
        if isinstance(kernel, View) and kernel.joins:
            axis, begin = e.params["axis"], "0"
            for a in e.inputs:
                loops, at = self._place(a, None)
                loops.stores.append(Store(a, region=(out, axis, begin)))
                loops.flat &= not space_of(self.sizes.shape(out.type.shape))[1:]
                self.position[out] = max(at, self.position.get(out, 0))
                size = self.sizes.shape(a.type.shape)[axis]
                begin = size if begin == "0" else f"{begin} + {size}"
            return
        loops, at = self._place(out, out)
        loops.stores.append(Store(out))
        loops.written.add(out)
        self.position[out] = at
        self.soft[out] = loops.space

    def _place(self, a: Atom, definition: Var | None) -> tuple[Loops, int]:
        """The loops in which this atom is computed (for `definition`, from what defines it), and their position."""
        space = self.space(a)
        least = 0
        needs = self.needs(a, definition)
        for m, same in needs:
            at = self.position.get(m, -1)
            if at >= 0:
                least = max(least, at if same and self.soft.get(m) == space else at + 1)
        for at in self.by_space.get(space, ()):
            step = self.steps[at]
            assert isinstance(step, Loops)
            if at >= least and (step.cost < CHAIN_COST or not space):
                break
        else:
            at, step = len(self.steps), Loops(space)
            self.steps.append(step)
            self.by_space.setdefault(space, []).append(at)
        step.reads |= needs
        self._pull(step, a, definition)
        return step, at

    def needs(self, a: Atom, definition: Var | None) -> frozenset[tuple[Var, bool]]:
        """Stored variables that pulling this atom reads, and whether at the index asked for."""
        if not isinstance(a, Var):
            return frozenset()
        if a is not definition:
            root = self.roots.get(a, a)
            if self.has_storage(root):
                return frozenset(((root, root is a),))
            found = self.reads.get(a)
            if found is not None:
                return found
        e = self.producer[a]
        parts = [self.needs(x, None) for x in e.inputs]
        result = frozenset().union(*parts)
        if not isinstance(e.op.kernel, Expression):
            result = frozenset([(m, False) for m, _ in result])
        if a is not definition:
            self.reads[a] = result
        return result

    def _pull(self, step: Loops, a: Atom, definition: Var | None) -> None:
        """Note what these loops compute, what that costs, and whether every access is at the loops' own index."""
        stack: list[Atom] = [a]
        while stack:
            v = stack.pop()
            if not isinstance(v, Var) or v in step.pulled:
                continue
            if v is not definition and self.has_storage(self.roots.get(v, v)):
                continue
            step.pulled.add(v)
            e = self.producer[v]
            kernel = e.op.kernel
            step.cost += cost_of(e)
            if isinstance(kernel, View):
                step.flat &= kernel.keeps_order or not e.inputs[0].type.shape
            else:
                step.flat &= isinstance(kernel, Expression)
            stack.extend(e.inputs)

    # ---- what two loops have in common

    def _share(self) -> bool:
        """Store what several loops would compute; whether there was any."""
        seen: set[Var] = set()
        shared: set[Var] = set()
        for step in self.steps:
            if isinstance(step, Loops) and step.space:
                shared |= seen & step.pulled
                seen |= step.pulled
        chosen = False
        done: set[Var] = set()
        read = {a for e in self.program.equations if not shared.isdisjoint(e.outputs) for a in e.inputs}  # by one of them
        stack = [v for v in shared if v not in self.stored and v not in read]
        while stack:
            v = stack.pop()
            if v in done or v in self.stored:
                continue
            done.add(v)
            e = self.producer[v]
            own = cost_of(e)
            if own >= OWN_COST or self.cost[v] >= TWICE_COST:
                self.mark(v)  # a view that keeps the order is stored as its source: readers look there
                chosen = True
            else:
                stack.extend([a for a in e.inputs if a in shared])  # type: ignore[misc]  # members of `shared` are variables
        return chosen
