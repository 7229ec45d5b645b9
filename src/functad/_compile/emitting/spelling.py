"""How one operation is spelt on operands whose texts are given, wherever they come from.

What it promises: literals and helper names carry the dtype.
"""

from functad._compile.scheduling.sizes import code_of
from functad._core.primitive import Expression
from functad._core.program import Equation


class UnsupportedKernelError(Exception):
    """An equation has no kernel form for its dtypes."""


def product(sizes: tuple[str, ...]) -> str:
    """Text of a product of sizes."""
    if "0" in sizes:
        return "0"
    return " * ".join([n for n in sizes if n != "1"]) or "1"


def sum_of(a: str, b: str) -> str:
    """Text of a + b; b may begin with a minus sign."""
    if b[0] == "-" and a != "0":
        return f"{a} - {b[1:]}"
    return b if a == "0" else (a if b == "0" else f"{a} + {b}")


def cast(code: str, text: str) -> str:
    """numba widens small integers to int64 when it computes with them: cut back to the dtype."""
    return f"{code}({text})" if code[0] in "iu" and code != "i8" else text


def parts_of(code: str) -> str:
    """Code of the real part of a complex code."""
    return "f8" if code == "c16" else "f4"


def expression_text(e: Equation, texts: list[str]) -> str:
    """The operation spelt on these operands."""
    kernel = e.op.kernel
    assert isinstance(kernel, Expression)
    code = code_of(e.outputs[0])
    text = kernel.emit([code_of(a) for a in e.inputs], code, *texts, **e.params)
    if text is None:
        raise UnsupportedKernelError(f"{e.op.name} of {', '.join(repr(a.type) for a in e.inputs)}")
    return cast(code, text)


def note_of(e: Equation) -> str:
    """The equation, for messages."""
    return f"{e.op.name} of {', '.join(repr(a.type) for a in e.inputs)}"


def combined(combine: str, code: str, total: str, value: str) -> str:
    """One step of a reduction."""
    if combine in ("max", "min"):
        if code == "b1":
            return f"({total} {'|' if combine == 'max' else '&'} {value})"
        return f"{combine}imum_{code}({total}, {value})"
    if combine in ("all", "any"):
        return f"({total} {'&' if combine == 'all' else '|'} {value})"
    return cast(code, f"({total} {'+' if combine == 'sum' else '*'} {value})")


def start_text(combine: str, code: str) -> str:
    """What a reduction starts from."""
    if code == "b1":
        return "True" if combine in ("all", "min", "prod") else "False"
    if combine in ("sum", "prod"):
        number = "0" if combine == "sum" else "1"
        return f"{code}({number}.0)" if code[0] in "fc" else f"{code}({number})"
    if code[0] == "f":
        return f"{code}({'-' if combine == 'max' else ''}inf)"
    bits = 8 * int(code[1:])
    low, high = (0, 2**bits - 1) if code[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if combine == "min":
        return f"{code}({high})"
    return f"{code}({low + 1} - 1)" if low else f"{code}(0)"
