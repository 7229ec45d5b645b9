"""Names and numbers that all of kernel making agrees on; imports nothing, so that importing them is free."""

CONSTRUCTORS = {
    **{f"{sign}{size}": f"{word}{8 * size}" for sign, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
    "f8": "float64",
    "f4": "float32",
    "c16": "complex128",
    "c8": "complex64",
    "b1": "bool_",
}
LIMITS = {"inf": float("inf"), "nan": float("nan")}
DOUBT = -2  # a status that never leaves kernel making: Note [doubt] in `functions`
