from functad._core.program import Program, without_dead


def simplify(program: Program) -> Program:
    return without_dead(program)
