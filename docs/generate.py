"""Write the pages that are made from the library itself: reference.md, coverage.md, scipy.md, primitives.md.

    python docs/generate.py            writes them
    python docs/generate.py --check    writes nothing; ends with 1 if a page is out of date

What stands in a page is found by asking the library: signatures and docstrings, the table of doors, the registry of
primitives, and for each row of `data/coverage.csv` a call that is tried on traced values.
"""

import csv
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import functad as fd
from functad._core.primitive import REGISTRY, Call, Expression, Fold, Host, Missing, Primitive, View
from functad._core.tracer import Tracer
from functad._numpy.dispatch import DOORS
from functad._numpy.special import meet_scipy
from functad._numpy.ufuncs import UFUNCS
from functad._primitives.special import in_scipy
from functad.testing import check_grads

HERE = Path(__file__).resolve().parent
meet_scipy()
NOTE = "<!-- Written by docs/generate.py: change the library or that script, not this page. -->\n\n"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table; a bar inside a cell is escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines) + "\n"


def first_line(thing: Any) -> str:
    """The first line of the docstring, or nothing."""
    text = inspect.getdoc(thing)
    return text.splitlines()[0] if text else ""


# ---- reference.md

MODULES = {
    "functad": "Transforms, control flow, and what shows the machine at work.",
    "functad.testing": "Checking derivatives.",
    "functad.flatten_util": "Pytrees as vectors.",
    "functad.tree": "Pytrees.",
    "functad.errors": "One class for each mistake; [errors](errors.md) has cause, example and cure of each.",
    "functad.numpy": "`import functad.numpy as np` is NumPy with these functions replaced; all other names are NumPy's own.",
    "functad.scipy.special": "`scipy.special` with these functions replaced; all other names are SciPy's own.",
    "functad.scipy.linalg": "`scipy.linalg` with these functions replaced; all other names are SciPy's own.",
    "functad.scipy.integrate": "Sums over samples.",
    "functad.scipy.signal": "Convolution.",
    "functad.scipy.ndimage": "Linear interpolation.",
    "functad.scipy.stats": "Distributions; which functions of each take traced values is in [what of SciPy works](scipy.md).",
}


def signature(thing: Any) -> str:
    """Parameters with their defaults, without annotations; empty for what is not called by users."""
    if isinstance(thing, type):
        if not issubclass(thing, BaseException) or thing is fd.errors.FunctadError:
            return ""
        return "(message)"
    if not inspect.isroutine(thing):
        return ""
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(thing).parameters.values()]
    return str(inspect.Signature(parameters))


def names_of(module: Any) -> list[str]:
    """What the module makes public; only what is its own, where all other names are another package's."""
    return sorted(getattr(module, "_OWN", module.__all__))


def summary(module: Any, name: str) -> str:
    """One line on a public name."""
    thing = getattr(module, name)
    if inspect.ismodule(thing):
        return f"Module: {first_line(thing)}"
    if isinstance(thing, str):
        return "The version, a string."
    if not getattr(thing, "__module__", "").startswith("functad"):
        return "The structure of a pytree: hashable, and equal where structures are equal (a class of optree)."
    return first_line(thing)


def error_bases(thing: Any) -> str:
    """The built-in exception that an error class also is."""
    return next((base.__name__ for base in thing.__bases__ if base.__module__ == "builtins"), "")


def reference() -> str:
    """Every public name with its signature and the first line of its docstring."""
    text = NOTE + "# Reference\n\nEvery public name. `help(name)` shows its parameters, results and errors, and an example.\n\n"
    for module_name, about in MODULES.items():
        module = importlib.import_module(module_name)
        text += f"## {module_name}\n\n{about}\n\n"
        names = names_of(module)
        if module_name == "functad.errors":
            rows = [(f"`{name}`", f"`{error_bases(getattr(module, name))}`", summary(module, name)) for name in names]
            text += table(("class", "also a", ""), rows)
        else:
            thing = {name: getattr(module, name) for name in names}
            text += table(("name", ""), [(f"`{name}{signature(thing[name])}`", summary(module, name)) for name in names])
    return text.rstrip() + "\n"


# ---- coverage.md

WRITTEN_WITH = f"Written with NumPy {'.'.join(np.__version__.split('.')[:2])}."  # some functions came after 2.0

X, A = np.array([0.3, 0.7, 0.45]), np.array([[2.0, 0.5], [0.25, 1.5]])
# Name in data/coverage.csv -> the call that is tried, with x or a (a matrix) traced; the default is np.<name>(x).
CALLS = {
    "getitem.slice": "x[1:]",
    "getitem.fancy": "x[[2, 0, 2]]",
    "getitem.mask": "x[x > 0.4]",
    "array": "np.array([x[0], x[1] * 2])",
    "asarray": "np.asarray([x[0], 1.0]) * x[1]",
    "setitem": "set_element(x)",
    "if value": "x[0] if x[0] > 0 else -x[0]",
    "add": "np.add(x, 1.0)",
    "linspace": "np.linspace(x[0], 2.0, 5)",
    "all": "np.all(x > 0)",
    "any": "np.any(x > 0.5)",
    "einsum": "np.einsum('ij,jk->ik', a, a)",
    "multiply": "np.multiply(x, x)",
    "power": "np.power(x, 2.5)",
    "concatenate": "np.concatenate([x, x])",
    "reshape": "np.reshape(a, (4,))",
    "maximum": "np.maximum(x, 0.4)",
    "minimum": "np.minimum(x, 0.4)",
    "dot": "np.dot(a, a)",
    "clip": "np.clip(x, 0.4, 0.6)",
    "where": "np.where(x > 0.4, x, 2 * x)",
    "matmul": "a @ a",
    "subtract": "np.subtract(1.0, x)",
    "transpose": "np.transpose(a)",
    "full": "np.full(3, x[0])",
    "float()": "float(x[0])",
    "divide": "np.divide(1.0, x)",
    "allclose": "np.allclose(x, x)",
    "repeat": "np.repeat(x, 2)",
    "linalg.svd": "np.linalg.svd(a, compute_uv=False)",
    "tensordot": "np.tensordot(a, a, 1)",
    "stack": "np.stack([x, x])",
    "swapaxes": "np.swapaxes(a, 0, 1)",
    "broadcast_to": "np.broadcast_to(x, (2, 3))",
    "pad": "np.pad(x, 1)",
    "logical_and": "np.logical_and(x > 0.4, x < 1)",
    "linalg.solve": "np.linalg.solve(a, a[0])",
    "empty_like": "np.empty_like(x) * 0 + x",
    "logaddexp": "np.logaddexp(x, 1.0)",
    "outer": "np.outer(x, x)",
    "full_like": "np.full_like(x, x[0])",
    "expand_dims": "np.expand_dims(x, 0)",
    "searchsorted": "np.searchsorted(np.array([0.1, 0.5]), x)",
    "vstack": "np.vstack([x, x])",
    "tile": "np.tile(x, 2)",
    "arctan2": "np.arctan2(x, 1.0)",
    "linalg.det": "np.linalg.det(a)",
    "isclose": "np.isclose(x, x)",
    "linalg.inv": "np.linalg.inv(a)",
    "logical_not": "np.logical_not(x > 0.4)",
    "linalg.norm.axis": "np.linalg.norm(a, axis=1)",
    "moveaxis": "np.moveaxis(a, 0, 1)",
    "squeeze": "np.squeeze(a[None])",
    "ufunc.out": "np.add(x, 1.0, out=np.empty(3))",
    "interp": "np.interp(x, np.array([0.0, 0.5, 1.0]), np.array([1.0, 3.0, 2.0]))",
}


def set_element(x: Any) -> Any:
    """x[0] = 2 * x[1] on a copy."""
    y = x.copy()
    y[0] = 2 * y[1]
    return y


def tried(call: str) -> str:
    """What came of a call on traced values: value as NumPy's and derivatives as the differences say, or the error."""
    names = {"np": np, "set_element": set_element}
    at = A if re.search(r"\ba\b", call) else X
    code = compile(call, call, "eval")

    def f(value: Any) -> Any:
        return eval(code, {**names, "x": value, "a": value})

    traced = []

    def seen(value: Any) -> Any:
        out = f(value)
        traced.append(out)
        return np.sum(value), out

    try:
        _, found = fd.value_and_grad(seen, has_aux=True)(at)[0]
        expected = f(at)
        if not np.array_equal(np.asarray(found), np.asarray(expected)) and not np.allclose(found, expected, rtol=1e-12):
            return "wrong value"
        if np.asarray(expected).dtype.kind == "f" and isinstance(traced[0], (Tracer, np.ndarray)):
            check_grads(f, (at,))
    except fd.errors.FunctadError as error:
        return f"refused: `{type(error).__name__}`"
    except AssertionError:
        return "wrong derivative"
    return "works"


def spelling(function: Any) -> str:
    """np.name, with the other names that NumPy has for the same object."""
    found = {f"np.{n}" for n in np.__all__ if getattr(np, n, None) is function}
    found |= {f"np.linalg.{n}" for n in np.linalg.__all__ if getattr(np.linalg, n) is function}
    name = function.__name__
    first = min(found, key=lambda n: (n.rpartition(".")[2] != name, n)) if found else f"np.{name}"
    return ", ".join(f"`{n}`" for n in [first, *sorted(found - {first})])


def only_refuses(call: Any) -> bool:
    """Whether a door is there for its error alone, which names the cure."""
    return call.__qualname__.startswith(("_writes.", "_refuse_general."))


def of_scipy(function: Any) -> bool:
    """Whether a ufunc is none of NumPy's."""
    return isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function


def door_rows(kind: str) -> list[tuple[str, ...]]:
    """Rows of the table of ufuncs or of functions."""
    methods: dict[Any, list[str]] = {}
    for key in DOORS:
        if isinstance(key, tuple):
            methods.setdefault(key[0], []).append(f"`{key[1]}`")
    rows = []
    for function, call in DOORS.items():
        if isinstance(function, tuple) or of_scipy(function) or isinstance(function, np.ufunc) != (kind == "ufunc") or only_refuses(call):
            continue
        about = re.sub(r"^np\.[\w.]+\W+", "", first_line(call)) if kind == "function" and call.__doc__ else ""
        notes = [about[0].upper() + about[1:].rstrip(".") + "."] if about else []
        if getattr(call, "view", False):
            notes.append("A view in NumPy.")
        if function in methods:
            notes.append("Methods: " + ", ".join(sorted(methods[function])) + ".")
        rows.append((spelling(function), " ".join(notes)))
    return sorted(rows, key=lambda row: row[0].replace("`", ""))


def coverage() -> str:
    """What of NumPy works on traced values."""
    text = NOTE + (
        f"# What of NumPy works\n\n{WRITTEN_WITH}\n\n"
        "What is listed here works on traced values with NumPy's signature; an argument that cannot be honoured is refused by\n"
        "name. Anything else, given a traced value, is an `UnsupportedFunctionError` that names the nearest that works.\n\n"
        "## The hundred most used\n\n"
        "Ordered by how often scientific code uses them. Each call was tried on a traced array when this page was written: it\n"
        "works if its value is NumPy's and both modes of derivatives agree with differences of the values.\n\n"
    )
    with open(HERE / "data" / "coverage.csv", encoding="utf-8", newline="") as file:
        entries = list(csv.DictReader(file))
    rows = []
    for entry in entries:
        call = CALLS.get(entry["name"], f"np.{entry['name']}(x)")
        rows.append((entry["rank"], f"`{entry['name']}`", f"`{call}`", tried(call)))
    works = sum(row[3] == "works" for row in rows)
    text += f"{works} of {len(rows)} work.\n\n" + table(("rank", "name", "tried", ""), rows)
    ufuncs, functions = door_rows("ufunc"), door_rows("function")
    text += f"## Ufuncs\n\n{len(ufuncs)} ufuncs. The elementwise ones take `where=` and `dtype=`; where the mask does not hold, the\nresult is 0.\n\n"
    text += table(("ufunc", "notes"), ufuncs)
    text += f"## Functions\n\n{len(functions)} functions.\n\n" + table(("function", "notes"), functions)
    refused = sorted(spelling(function) for function, call in DOORS.items() if not isinstance(function, tuple) and only_refuses(call))
    text += f"These are refused with a cure of their own: {', '.join(refused)}.\n\n"
    members = sorted(n for n in vars(Tracer) if not n.startswith("_") and n not in ("atom", "builder", "cell", "type", "itemset"))
    text += (
        "## Methods and attributes\n\n"
        "What a traced value has of `ndarray`. The names of ufuncs among them are what NumPy calls on the elements of an array\n"
        "of objects.\n\n"
    )
    text += ", ".join(f"`{n}`" for n in members) + ".\n"
    return text


# ---- scipy.md


def scipy_rows() -> list[tuple[str, ...]]:
    """SciPy's ufuncs: name, operands without a derivative, where it runs."""
    import scipy.special

    rows = []
    for ufunc in UFUNCS:
        if not of_scipy(ufunc) or not hasattr(scipy.special, ufunc.__name__):
            continue
        op = UFUNCS[ufunc]
        refused = (
            [str(i + 1) for i, p in enumerate(op.partials) if getattr(p, "__qualname__", "").startswith("refused.")]
            if isinstance(op, Primitive)
            else []
        )
        where = "" if isinstance(op, Primitive) and op.kernel.emit is not in_scipy else "SciPy, between kernels"
        rows.append((f"`{ufunc.__name__}`", "refused in operand " + ", ".join(refused) if refused else "", where))
    return sorted(rows)


def scipy_page() -> str:
    """What of SciPy works."""
    rows = scipy_rows()
    text = NOTE + (
        "# What of SciPy works\n\n## Ufuncs of scipy.special\n\n"
        f"{len(rows)} ufuncs take traced values as they are, real ones. Each has derivatives of every order in its arguments; an order or a\n"
        "parameter in which the derivative is no such function is refused with that reason.\n\n"
    )
    text += table(("ufunc", "derivative", "runs in"), [(n, d, w or "the kernel") for n, d, w in rows])
    text += (
        "## functad.scipy\n\nSciPy's other functions want arrays of numbers, which a traced value is not. The functions of these modules have\n"
        "SciPy's names and parameters, take traced values, and are SciPy's own without them.\n\n"
    )
    modules = [name for name in MODULES if name.startswith("functad.scipy.") and name != "functad.scipy.stats"]
    text += table(("module", "functions"), [(f"`{m}`", ", ".join(f"`{n}`" for n in names_of(importlib.import_module(m)))) for m in modules])
    stats = importlib.import_module("functad.scipy.stats")
    text += "## Distributions\n\nOf `functad.scipy.stats`, with location and scale, and with parameters fixed: `norm(0.0, 2.0).logpdf(x)`.\n\n"
    found = {n: getattr(stats, n) for n in stats.__all__}
    functions = {n: d.functions() if hasattr(d, "functions") else ["logpdf", "pdf"] for n, d in found.items()}
    return (text + table(("distribution", "functions"), [(f"`{n}`", ", ".join(f"`{f}`" for f in fs)) for n, fs in functions.items()])).rstrip() + "\n"


# ---- primitives.md

KINDS = {
    "elementwise": "Each element by itself. Type rule and batching follow from the kind; one tangent rule for each input.",
    "form": "Forms that people spell by hand: put into programs before these are differentiated, dropped before evaluation.",
    "view": "Elements are moved, or taken out. Linear: forward mode applies the same operation to the tangent.",
    "join": "Several arrays become one.",
    "reduction": "Axes are folded.",
    "cumulative": "In order along an axis.",
    "index": "Reading and adding at computed places.",
    "dot": "Every product of matrices, `einsum` step and `tensordot`.",
    "order": "Sorting.",
    "fourier": "Discrete Fourier transforms. Linear.",
    "linalg": "Matrices, through LAPACK.",
    "hermitian": "Matrices of which one triangle is read: the derivative is that of the symmetrised argument.",
    "inner": "Control flow: primitives with inner programs.",
}


def kernel_form(op: Primitive) -> str:
    """How a primitive is spelt in a kernel, or why it is not."""
    match op.kernel:
        case Host(reason):
            return f"NumPy, between kernels: {reason}"
        case Fold(combine):
            return f"fold: {combine}"
        case Call(kind):
            return f"routine: {kind}"
        case View():
            return "index map"
        case Expression(emit) if emit is in_scipy:
            return "SciPy, between kernels"
        case Expression():
            return "expression"
    raise AssertionError(op)


def rule(found: Any) -> str:
    """Yes, or why there is none."""
    return found.reason if isinstance(found, Missing) else "yes"


def derivative(op: Primitive) -> str:
    """Whether there is a forward rule, and whether it is zero throughout."""
    if op.partials and all(p is None for p in op.partials):
        return "zero"
    return rule(op.jvp)


def primitives() -> str:
    """The registry."""
    text = NOTE + (
        "# Primitives\n\nEverything a program can be made of, as declared. A rule that does not exist says why.\n\n"
        "* **jvp**: forward mode; *zero* where no input has a derivative.\n"
        "* **transpose**: what reverse mode needs of the operations in a linear program. An operation that is not linear\n"
        "  needs none: its jvp is spelt in linear ones.\n"
        "* **batch**: `vmap`.\n"
        "* **kernel**: how it is spelt in a kernel.\n"
        "* **split**, for control flow: how the known half is told from the linear half.\n\n"
    )
    by_kind: dict[str, list[Primitive]] = {}
    for op in REGISTRY.values():
        by_kind.setdefault(op.kind, []).append(op)
    assert set(by_kind) <= set(KINDS), f"kinds without a line in KINDS: {set(by_kind) - set(KINDS)}"
    for kind, about in KINDS.items():
        if kind not in by_kind:
            continue
        text += f"## {kind}\n\n{about}\n\n"
        rows = []
        for op in sorted(by_kind[kind], key=lambda op: op.name):
            note = op.note
            if op.split is not None:
                note = (note + "; " if note else "") + f"split: {rule(op.split)}"
            rows.append((f"`{op.name}`", derivative(op), rule(op.transpose), rule(op.batch), kernel_form(op), note))
        text += table(("name", "jvp", "transpose", "batch", "kernel", "notes"), rows)
    return text.rstrip() + "\n"


PAGES = {"reference.md": reference, "coverage.md": coverage, "scipy.md": scipy_page, "primitives.md": primitives}


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check name those that are out of date."""
    stale = []
    for name, make in PAGES.items():
        path, text = HERE / name, make()
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if "--check" in arguments and "Written with NumPy" in found and WRITTEN_WITH not in found:
            print(f"docs/{name} was written with another NumPy: not checked")
        elif found != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/{name} {'is out of date: run python docs/generate.py' if '--check' in arguments else 'written'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
