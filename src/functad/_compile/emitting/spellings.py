"""How one operation is spelt on the texts of its operands: elementwise operations, steps of a reduction, compensated sums."""

from functad._compile.codes import code_of
from functad._compile.emitting.accesses import Names
from functad._core.primitive import Expression
from functad._core.program import Equation

__all__ = ["UnsupportedKernelError", "cast", "combined", "compensated", "expression_text", "note_of", "parts_of", "start_text"]


class UnsupportedKernelError(Exception):
    """An equation has no kernel form for its dtypes."""


def cast(code: str, text: str) -> str:
    """numba widens small integers to int64 when it computes with them: cut back to the dtype."""
    return f"{code}({text})" if code[0] in "iu" and code != "i8" else text


def expression_text(e: Equation, texts: list[str]) -> str:
    """The operation spelt on these operands."""
    kernel = e.op.kernel
    assert isinstance(kernel, Expression)
    code = code_of(e.outputs[0])
    text = kernel.emit([code_of(a) for a in e.inputs], code, *texts, **e.params)
    if text is None:
        raise UnsupportedKernelError(note_of(e))
    return cast(code, text)


def note_of(e: Equation) -> str:
    """The equation, for messages."""
    return f"{e.op.name} of {', '.join(repr(a.type) for a in e.inputs)}"


def combined(combine: str, code: str, total: str, value: str) -> str:
    """One step of a reduction."""
    if combine in ("all", "any") or (code == "b1" and combine in ("max", "min")):
        return f"({total} {'|' if combine in ('any', 'max') else '&'} {value})"
    if combine in ("max", "min"):
        return f"{combine}imum_{code}({total}, {value})"
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


def compensated(names: Names, code: str, total: str, lost: str, part: str) -> list[str]:
    """Lines that add the sum of a block to the total and keep what was lost (W. Kahan, 1965)."""
    y, z, zero = names.fresh("y"), names.fresh("z"), f"{code}(0.0)"
    return [
        f"{y} = {part} - {lost}",
        f"{z} = {total} + {y}",
        f"{lost} = ({z} - {total}) - {y}",
        f"if {lost} - {lost} != {zero}:  # an infinite total leaves inf - inf",
        f"    {lost} = {zero}",
        f"{total} = {z}",
    ]


def parts_of(code: str) -> str:
    """Code of the real part of a complex code."""
    return "f8" if code == "c16" else "f4"
