"""From a kernel's source straight to an LLVM module, for the small part of Python that kernels are written in.

What lives here: a one-pass compiler over Python's syntax tree.  Every expression has a kind ("f8", "i8", "b1",
"f8*"), known as it is read; variables live on the stack until LLVM moves them to registers.
What it may assume: the source was generated: loops over `range`, `while`, `if`, assignments, elements of pointers,
arithmetic, and helpers.
What it promises: the meaning that numba gives the same source; where that is not certain (mixed kinds, say),
`NotDirect` is raised. Neither numba nor SciPy is imported.  `kernel` says what that gains.
"""

import ast
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
from llvmlite import ir

from functad._compile.building.machine_code import parsed
from functad._compile.codes import DTYPES
from functad._compile.mathlib import arithmetic, blas, complex_numbers
from functad._compile.mathlib.functions import FLAG, call_helper, doubt_flag
from functad._compile.mathlib.names import LIMITS
from functad._compile.mathlib.table import HELPERS
from functad._compile.mathlib.values import Value, llvm_type, select

_WORD = ir.IntType(64)
_ARITHMETIC: dict[type[ast.operator], Callable[[Value, Value], Value]] = {ast.Add: Value.__add__, ast.Sub: Value.__sub__, ast.Mult: Value.__mul__}
_BITWISE: dict[type[ast.operator], Callable[[Value, Value], Value]] = {ast.BitAnd: Value.__and__, ast.BitOr: Value.__or__, ast.BitXor: Value.__xor__}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


# Formulas inlined in straight-line code: 500 sines there took 3.5 s to compile, 4 ns a call is nothing beside it.  In loops all are.
MOST_INLINED = 24


def _is_formula(node: ast.Call) -> bool:
    """Whether a call is of a helper of many instructions."""
    return isinstance(node.func, ast.Name) and node.func.id in HELPERS and HELPERS[node.func.id].portable is not None


class NotDirect(Exception):
    """This source is not for this compiler."""


def lower(tree: ast.Module, arguments: Sequence[str], symbol: str, doubt: int | None) -> llvm.ModuleRef:
    """The module of the function in `tree`, with the entry point `symbol`.

    `doubt` is the status for Note [doubt] in mathlib's `functions`; None: no helper may be in doubt.
    """
    (definition,) = tree.body
    if not isinstance(definition, ast.FunctionDef) or len(definition.args.args) != len(arguments):
        raise NotDirect("not one function")
    module = ir.Module(symbol)
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(_WORD, [llvm_type(kind) for kind in arguments]), symbol + "_body")
    function.linkage = "internal"
    function.attributes.add("noinline")
    for kind, argument in zip(arguments, function.args, strict=True):
        if kind.endswith("*"):
            argument.add_attribute("noalias")
    _Body(function, definition, arguments, doubt).write()
    entry = ir.Function(module, ir.FunctionType(_WORD, [_WORD.as_pointer()]), symbol)
    build = ir.IRBuilder(entry.append_basic_block("entry"))
    words = [build.load(build.gep(entry.args[0], [ir.Constant(_WORD, i)])) for i in range(len(arguments))]
    given = [build.inttoptr(w, llvm_type(k)) if k.endswith("*") else w for w, k in zip(words, arguments, strict=True)]
    build.ret(build.call(function, given))
    return parsed(module)


class _Body:
    """Writes one function."""

    def __init__(self, function: ir.Function, definition: ast.FunctionDef, arguments: Sequence[str], doubt: int | None) -> None:
        self.function, self.definition, self.doubt = function, definition, doubt
        self.entry = function.append_basic_block("entry")
        self.build = ir.IRBuilder(function.append_basic_block("start"))
        self.names: dict[str, tuple[str, ir.Value]] = {}  # kind and place of each variable
        formulas = [node for node in ast.walk(definition) if isinstance(node, ast.Call) and _is_formula(node)]
        self.many_formulas = len(formulas) > MOST_INLINED
        self.loops: list[tuple[ir.Block, ir.Block]] = []  # where `continue` and `break` lead
        for parameter, kind, value in zip(definition.args.args, arguments, function.args, strict=True):
            self.assign(parameter.arg, Value(self.build, kind, value))

    def write(self) -> None:
        start = self.function.blocks[1]
        self.block(self.definition.body)
        if not self.build.block.is_terminated:
            raise NotDirect("no status")
        with self.build.goto_block(self.entry):
            self.build.position_at_end(self.entry)
            self.build.branch(start)

    def place(self, kind: str) -> ir.Value:
        with self.build.goto_block(self.entry):
            self.build.position_at_end(self.entry)
            return self.build.alloca(llvm_type(kind))

    # statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.build.block.is_terminated:
                return
            method = getattr(self, "do_" + type(statement).__name__, None)
            if method is None:
                raise NotDirect(type(statement).__name__)
            method(statement)

    def assign(self, name: str, value: Value) -> None:
        if name not in self.names:
            self.names[name] = (value.kind, self.place(value.kind))
        kind, place = self.names[name]
        if kind != value.kind:
            raise NotDirect(f"{name} is {kind} and {value.kind}")
        self.build.store(value.node, place)

    def do_Assign(self, statement: ast.Assign) -> None:
        (target,) = statement.targets
        self.store(target, self.value(statement.value))

    def do_AugAssign(self, statement: ast.AugAssign) -> None:
        self.store(statement.target, self.value(ast.BinOp(statement.target, statement.op, statement.value)))

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            address, kind = self.element(target)
            self.build.store(self.cast(value, kind).node, address)
        else:
            raise NotDirect("target")

    def element(self, node: ast.Subscript) -> tuple[ir.Value, str]:
        pointer, index = self.value(node.value), self.integer(self.value(node.slice))
        if not pointer.kind.endswith("*"):
            raise NotDirect("element of a number")
        return self.build.gep(pointer.node, [index.node]), pointer.kind[:-1]

    def do_Expr(self, statement: ast.Expr) -> None:
        self.value(statement.value)

    def do_Return(self, statement: ast.Return) -> None:
        status = self.integer(self.value(statement.value or ast.Constant(0))).node
        if self.doubt is not None:
            raised = self.build.icmp_unsigned("!=", self.build.load(doubt_flag(self.build)), ir.Constant(FLAG, 0))
            status = self.build.select(raised, ir.Constant(_WORD, self.doubt), status)
        self.build.ret(status)

    def do_Break(self, statement: ast.Break) -> None:
        self.build.branch(self.loops[-1][1])

    def do_Continue(self, statement: ast.Continue) -> None:
        self.build.branch(self.loops[-1][0])

    def do_If(self, statement: ast.If) -> None:
        condition = self.truth(self.value(statement.test))
        yes, no, after = (self.function.append_basic_block(name) for name in ("yes", "no", "after"))
        self.build.cbranch(condition.node, yes, no)
        reached = False
        for block, statements in ((yes, statement.body), (no, statement.orelse)):
            self.build.position_at_end(block)
            self.block(statements)
            if not self.build.block.is_terminated:
                self.build.branch(after)
                reached = True
        self.build.position_at_end(after)
        if not reached:
            self.build.unreachable()

    def do_While(self, statement: ast.While) -> None:
        head, body, after = (self.function.append_basic_block(name) for name in ("head", "body", "after"))
        self.build.branch(head)
        self.build.position_at_end(head)
        self.build.cbranch(self.truth(self.value(statement.test)).node, body, after)
        self.inside(body, head, after, statement.body)
        self.build.position_at_end(after)

    def inside(self, body: ir.Block, again: ir.Block, after: ir.Block, statements: Sequence[ast.stmt]) -> None:
        self.build.position_at_end(body)
        self.loops.append((again, after))
        self.block(statements)
        self.loops.pop()
        if not self.build.block.is_terminated:
            self.build.branch(again)

    def do_For(self, statement: ast.For) -> None:
        call, target = statement.iter, statement.target
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range" or not isinstance(target, ast.Name):
            raise NotDirect("a loop that is not over range")
        given = [self.integer(self.value(a)) for a in call.args]
        zero, one = (Value(self.build, "i8", ir.Constant(_WORD, n)) for n in (0, 1))
        start, stop, step = ((zero, given[0], one), (*given, one), tuple(given))[len(given) - 1]
        counter = self.place("i8")
        self.build.store(start.node, counter)
        head, body, again, after = (self.function.append_basic_block(name) for name in ("head", "body", "again", "after"))
        self.build.branch(head)
        self.build.position_at_end(head)
        i = Value(self.build, "i8", self.build.load(counter))
        if isinstance(step.node, ir.Constant):
            more = i < stop if step.node.constant > 0 else i > stop
        else:
            more = ((step > 0) & (i < stop)) | ((step < 0) & (i > stop))
        self.build.cbranch(more.node, body, after)
        self.build.position_at_end(body)
        self.assign(target.id, i)
        self.inside(body, again, after, statement.body)
        self.build.position_at_end(again)
        self.build.store(self.build.add(self.build.load(counter), step.node, flags=("nsw",)), counter)
        self.build.branch(head)
        self.build.position_at_end(after)

    # expressions

    def value(self, node: ast.expr) -> Value:
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            raise NotDirect(type(node).__name__)
        result: Value = method(node)
        return result

    def constant(self, number: object) -> Value:
        kind = {bool: "b1", int: "i8", float: "f8"}.get(type(number))
        if kind is None:
            raise NotDirect(repr(number))
        return Value(self.build, kind, ir.Constant(llvm_type(kind), number))

    def of_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node.value)

    def of_Name(self, node: ast.Name) -> Value:
        if node.id in self.names:
            kind, place = self.names[node.id]
            return Value(self.build, kind, self.build.load(place))
        if node.id in LIMITS:
            return self.constant(LIMITS[node.id])
        raise NotDirect(f"{node.id} has no value")

    def of_Subscript(self, node: ast.Subscript) -> Value:
        address, kind = self.element(node)
        return Value(self.build, kind, self.build.load(address))

    def integer(self, value: Value) -> Value:
        if value.kind[0] != "i":
            raise NotDirect(f"{value.kind} as an index")
        return value.to("i8")

    def truth(self, value: Value) -> Value:
        if value.kind == "b1":
            return value
        if value.kind[0] in "iuf":
            return value != 0
        raise NotDirect("truth")

    def cast(self, value: Value, kind: str) -> Value:
        if value.kind == kind:
            return value
        if (value.kind[0] in "cf" and kind[0] in "iub") or value.kind[0] == "c" or kind[0] == "c" or "*" in value.kind + kind:
            raise NotDirect(f"{value.kind} to {kind}")
        return value != 0 if kind == "b1" else value.to(kind)

    def converted(self, value: Value, name: str) -> Value:
        """What a constructor makes of a number: `f4(x)`, `c16(x)`."""
        if name in ("c16", "c8"):
            if value.kind[0] == "c":
                raise NotDirect("complex to complex")
            part = self.cast(value, "f8" if name == "c16" else "f4")
            return complex_numbers.join(part, part.constant(0.0))
        if value.is_float and name[0] in "iu":
            return value.to(name)
        return self.cast(value, name)

    def pair(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Both in the kind that numba computes in."""
        if x.kind == y.kind and x.kind[0] in "fc":
            return x, y
        kinds = x.kind[0] + y.kind[0]
        if set(kinds) <= set("ib"):
            return x.to("i8"), y.to("i8")
        if kinds == "uu":
            return x.to("u8"), y.to("u8")
        if set(kinds) <= set("iub") and "u8" not in (x.kind, y.kind):
            return x.to("i8"), y.to("i8")
        if {"f8"} == {k for k in (x.kind, y.kind) if k[0] == "f"} and set(kinds) <= set("fi"):
            return x.to("f8"), y.to("f8")
        raise NotDirect(f"{x.kind} with {y.kind}")

    def of_BinOp(self, node: ast.BinOp) -> Value:
        x, y = self.value(node.left), self.value(node.right)
        op = type(node.op)
        if op in _BITWISE and x.kind == y.kind and x.kind[0] in "ib":
            if x.kind not in ("b1", "i8"):
                x, y = x.to("i8"), y.to("i8")
            return _BITWISE[op](x, y)
        x, y = self.pair(x, y)
        if x.kind[0] == "c":
            if op in (ast.Add, ast.Sub):
                parts = zip(complex_numbers.parts(x), complex_numbers.parts(y), strict=True)
                return complex_numbers.join(*[_ARITHMETIC[op](a, b) for a, b in parts])
            raise NotDirect("complex arithmetic")
        if op in _ARITHMETIC:
            return _ARITHMETIC[op](x, y)
        if op is ast.Div and x.is_float:
            return x / y
        if op is ast.FloorDiv and x.kind == "i8":
            return arithmetic.integer_floor_divide(x, y)
        if op is ast.Mod and x.kind == "i8":
            return arithmetic.integer_remainder(x, y)
        raise NotDirect(op.__name__)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        x = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return ~self.truth(x)
        if isinstance(node.op, ast.USub) and (x.is_float or x.kind[0] == "i"):
            if isinstance(x.node, ir.Constant):
                return Value(self.build, x.kind, ir.Constant(x.node.type, -x.node.constant))
            return -x if x.is_float else -x.to("i8")
        raise NotDirect("unary")

    def of_Compare(self, node: ast.Compare) -> Value:
        result: Value | None = None
        values = [self.value(v) for v in (node.left, *node.comparators)]
        for op, x, y in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARE:
                raise NotDirect("comparison")
            x, y = self.pair(x, y)
            if x.kind[0] == "c":
                raise NotDirect("complex comparison")
            each = x._compare(y, _COMPARE[type(op)])
            result = each if result is None else result & each
        assert result is not None
        return result

    def chosen(self, condition: Value, yes: ast.expr, no: ast.expr) -> Value:
        """One of two expressions, only that one being computed."""
        blocks = [self.function.append_basic_block(name) for name in ("yes", "no", "chosen")]
        self.build.cbranch(condition.node, *blocks[:2])
        arms = []
        for block, node in zip(blocks, (yes, no), strict=False):
            self.build.position_at_end(block)
            value = self.value(node)
            arms.append((value, self.build.block))
            self.build.branch(blocks[2])
        self.build.position_at_end(blocks[2])
        if arms[0][0].kind != arms[1][0].kind:
            raise NotDirect("two kinds")
        phi = self.build.phi(llvm_type(arms[0][0].kind))
        for value, block in arms:
            phi.add_incoming(value.node, block)
        return Value(self.build, arms[0][0].kind, phi)

    def of_IfExp(self, node: ast.IfExp) -> Value:
        return self.chosen(self.truth(self.value(node.test)), node.body, node.orelse)

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        first, *rest = node.values
        value = self.value(first)
        for each in rest:
            if value.kind != "b1":
                raise NotDirect("and of numbers")
            decided = ast.Constant(isinstance(node.op, ast.Or))
            value = self.chosen(value, decided, each) if isinstance(node.op, ast.Or) else self.chosen(value, each, decided)
        return value

    def of_Call(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise NotDirect("call")
        name, given = node.func.id, [self.value(a) for a in node.args]
        if name in HELPERS and len(given) == HELPERS[name].argument_count:
            helper = HELPERS[name]
            arguments = [self.cast(v, helper.argument_kind).node for v in given]
            apart = self.many_formulas and not self.loops and _is_formula(node)
            return Value(self.build, helper.result_kind, call_helper(helper, self.build, arguments, self.doubt is None, apart))
        if name in DTYPES and len(given) == 1:
            return self.converted(given[0], name)
        if name in ("min", "max") and len(given) == 2 and all(v.kind[0] == "i" for v in given):
            x, y = self.pair(*given)
            return select(x <= y if name == "min" else x >= y, x, y)
        if name == "select" and len(given) == 3 and given[1].kind == given[2].kind:
            chosen = self.build.select(self.truth(given[0]).node, given[1].node, given[2].node)
            return Value(self.build, given[1].kind, chosen)
        if name == "offset" and len(given) == 2 and given[0].kind.endswith("*"):
            return Value(self.build, given[0].kind, self.build.gep(given[0].node, [self.integer(given[1]).node]))
        if name in blas.ROUTINES and len(given) == 13:
            number = name.removeprefix("gemm_")
            kinds = ["i8"] * 5 + [number, number + "*", "i8", number + "*", "i8", number, number + "*", "i8"]
            arguments = [self.cast(v, k).node for v, k in zip(given, kinds, strict=True)]
            blas.call_gemm(blas.ROUTINES[name], self.build, arguments)
            return self.constant(0)
        raise NotDirect(f"{name} is not known")
