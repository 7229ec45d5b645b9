"""Where values are while a kernel is written: local variables and buffers, and the lines of its source.

What lives here: `Scalar` and `Buffer`, which spell reads and writes; `Block`, a piece of source that may be extended before it
is rendered; `Names`.
"""

from dataclasses import dataclass, replace

__all__ = ["Block", "Buffer", "Names", "Scalar", "Storage", "product", "sum_of"]


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


@dataclass(frozen=True)
class Scalar:
    """A local variable (or a literal's text)."""

    name: str
    code: str


@dataclass(frozen=True)
class Buffer:
    """Contiguous memory behind a pointer: `offset` is where this array begins, `shift` is added to the indices (a part of a
    larger array).
    """

    name: str
    code: str
    shape: tuple[str, ...]
    offset: str = "0"
    shift: tuple[str, ...] | None = None

    def place(self, indices: tuple[str, ...]) -> str:
        """Text of the position of an element."""
        if self.shift is not None:
            indices = tuple([sum_of(i, b) for i, b in zip(indices, self.shift, strict=True)])
        flat = "0"
        for i, n in zip(indices, self.shape, strict=True):
            if n == "1":
                continue
            flat = i if flat == "0" else sum_of(f"({flat}) * {n}" if " " in flat else f"{flat} * {n}", i)
        return sum_of(self.offset, flat)

    def at(self, indices: tuple[str, ...]) -> str:
        """Text of an element."""
        return self.load(self.place(indices))

    def load(self, place: str) -> str:
        """Text of the element at a position; booleans are stored as uint8."""
        return f"({self.name}[{place}] != 0)" if self.code == "b1" else f"{self.name}[{place}]"

    def store(self, place: str, value: str) -> str:
        """Statement that writes an element."""
        return f"{self.name}[{place}] = {f'u1({value})' if self.code == 'b1' else value}"

    def reshaped(self, shape: tuple[str, ...]) -> "Buffer":
        """The same elements in another shape."""
        return self if shape == self.shape else replace(self, shape=shape)

    def region(self, axis: int, begin: str) -> "Buffer":
        """The part of it that begins there along an axis."""
        return replace(self, shift=tuple([begin if k == axis else "0" for k in range(len(self.shape))]))

    def row(self, index: str) -> "Buffer":
        """One slice along the leading axis."""
        rest = self.shape[1:]
        step = product(rest)
        return replace(
            self, shape=rest, offset=sum_of(self.offset, index if step == "1" else f"{index} * {step}" if " " not in step else f"{index} * ({step})")
        )


Storage = Scalar | Buffer


class Block:
    """Lines of source, each with the equation it was made from, and blocks inside; indentation is relative to the block around
    it.
    """

    __slots__ = ("depth", "items")

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.items: list[tuple[str, str] | Block] = []

    def line(self, text: str, note: str = "") -> None:
        """Add a line."""
        self.items.append((text, note))

    def block(self, depth: int = 0) -> "Block":
        """Add a block, which may be filled later."""
        inner = Block(depth)
        self.items.append(inner)
        return inner

    def render(self, lines: list[str], notes: dict[int, str], depth: int = 0) -> None:
        """Append the lines; `notes` gets the equation of each line number."""
        depth += self.depth
        for item in self.items:
            if isinstance(item, Block):
                item.render(lines, notes, depth)
            else:
                lines.append("    " * depth + item[0])
                if item[1]:
                    notes[len(lines)] = item[1]


class Names:
    """Fresh names of one kernel."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count: dict[str, int] = {}

    def fresh(self, letter: str) -> str:
        """A name that begins with this letter and was not given before."""
        n = self.count[letter] = self.count.get(letter, -1) + 1
        return f"{letter}{n}"
