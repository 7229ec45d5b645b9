"""Programs as text: one line an equation, types beside the names."""

from typing import Any

from functad._core.program import Atom, Literal, Program, Var

__all__ = ["program_text"]


def _letters(n: int) -> str:
    text = ""
    while True:
        text = chr(ord("a") + n % 26) + text
        n = n // 26 - 1
        if n < 0:
            return text


def program_text(program: Program, indent: str = "") -> str:
    """The program as readable text; inner programs are indented below their equation."""
    names: dict[Var, str] = {}

    def name(atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.value!r}:{atom.type!r}"
        if atom not in names:
            names[atom] = _letters(len(names))
        return names[atom]

    lines = [f"{indent}program({', '.join(f'{name(v)}: {v.type!r}' for v in program.inputs)})"]
    for e in program.equations:
        inner = {k: v for k, v in e.params.items() if _programs(v)}
        params = " ".join(f"{k}={v!r}" for k, v in e.params.items() if k not in inner)
        targets = ", ".join(f"{name(v)}: {v.type!r}" for v in e.outputs)
        lines.append(f"{indent}  {targets} = {e.op.name}{f'[{params}]' if params else ''} {' '.join(name(a) for a in e.inputs)}".rstrip())
        for key, value in inner.items():
            for i, p in enumerate(_programs(value)):
                lines.append(f"{indent}    {key}{i if isinstance(value, tuple) else ''}:")
                lines.append(program_text(p, indent + "      "))
    lines.append(f"{indent}  return {', '.join(name(a) for a in program.outputs)}".rstrip())
    return "\n".join(lines)


def _programs(value: Any) -> tuple[Program, ...]:
    if isinstance(value, Program):
        return (value,)
    return value if isinstance(value, tuple) and value and all(isinstance(p, Program) for p in value) else ()
