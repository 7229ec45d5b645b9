"""The house rules of docs/architecture.md, read off the sources: who may import whom, sizes, names, one declaration a primitive."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import functad
from functad._core.primitive import REGISTRY

ROOT = Path(functad.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in FILES}

# Room -> rooms that it may import from; top-level modules count as rooms of their own name.
BELOW = {
    "errors": set(),
    "tree": {"errors"},
    "_core": {"errors", "tree"},
    "_primitives": {"errors", "tree", "_core"},
    "_numpy": {"errors", "tree", "_core", "_primitives"},
    "_transforms": {"errors", "tree", "_core", "_primitives"},
    "_compile": {"errors", "tree", "_core", "_primitives"},
    "_api": {"errors", "tree", "_core", "_primitives", "_numpy", "_transforms", "_compile"},
}
DOORS = {"__init__", "testing", "flatten_util", "extend", "debug", "numpy", "scipy"}  # the public ones see all
HEAVY = {"numba", "llvmlite", "scipy"}
LATE = {"_primitives/special.py", "_primitives/bessel.py", "_numpy/special.py"}  # SciPy's own functions, imported when one is met


def name_of(path):
    return str(path.relative_to(ROOT))


def room_of(path):
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def dotted_of(path):
    return ".".join(["functad", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


def _absolute(path, node):
    """The module that `from ... import` names."""
    package = dotted_of(path).split(".") if path.name == "__init__.py" else dotted_of(path).split(".")[:-1]
    base = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def imported(path):
    """(module, line, inside a function, only for types) of each import, lazy ones included."""
    found = []

    def walk(node, lazy, typing):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend((alias.name, child.lineno, lazy, typing) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                module = _absolute(path, child)
                # `from functad import tree` may name a module by its second half
                names = [f"{module}.{alias.name}" for alias in child.names if f"{module}.{alias.name}" in MODULES]
                if module != "functad" or len(names) < len(child.names):
                    found.append((module, child.lineno, lazy, typing))
                found.extend((name, child.lineno, lazy, typing) for name in names)
            else:
                inside = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                only_types = typing or (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING")
                walk(child, inside, only_types)

    walk(TREES[path], False, False)
    return found


MODULES = {dotted_of(path): path for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_run_one_way(path):
    room = room_of(path)
    if room in DOORS:
        return
    allowed = BELOW[room] | {room}
    wrong = []
    for module, line, _, _ in imported(path):
        parts = module.split(".")
        if parts[0] == "functad" and len(parts) > 1 and parts[1] not in allowed:
            wrong.append(f"line {line}: {room} imports {module}")
    assert not wrong, wrong


# ---- inside a room: no circle, and each file knows only those above it in the order that the room's docstring states

GRAPH = {dotted: {m for m, *_ in imported(path) if m in MODULES and m != dotted} for dotted, path in MODULES.items()}
PACKAGES = [path.parent for path in FILES if path.name == "__init__.py" and path.parent != ROOT and room_of(path) not in DOORS]


def _circle(graph):
    """Some circle of a graph, as the list of its members; empty where there is none."""
    done, path = set(), []

    def walk(node):
        if node in path:
            return path[path.index(node) :]
        if node in done:
            return []
        path.append(node)
        for other in sorted(graph[node]):
            found = walk(other)
            if found:
                return found
        path.pop()
        done.add(node)
        return []

    return next((found for found in map(walk, sorted(graph)) if found), [])


def test_no_files_import_each_other_in_a_circle():
    """Imports inside functions and under TYPE_CHECKING are counted."""
    assert _circle(GRAPH) == []


def test_a_circle_would_be_found():
    assert _circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert sorted(_circle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}})) == ["b", "d"]
    assert "functad._core.types" in GRAPH["functad._core.program"]  # the graph is not empty


def _stated(package):
    """Files and rooms inside a package in the order that its docstring states: one line "* `name`: what it holds" each."""
    return re.findall(r"^\* `(\w+)`: \S", ast.get_docstring(TREES[package / "__init__.py"]), re.M)


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_a_room_states_the_order_of_its_files(package):
    held = {p.stem for p in package.glob("*.py")} | {p.parent.name for p in package.glob("*/__init__.py")}
    assert sorted(_stated(package)) == sorted(held - {"__init__"})


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_imports_inside_a_room_follow_its_order(package):
    order = _stated(package)
    own = dotted_of(package / "__init__.py")
    wrong = []
    for dotted, known in GRAPH.items():
        parts = dotted.removeprefix(own + ".").split(".")
        if not dotted.startswith(own + "."):
            continue
        for other in known:
            below = other.removeprefix(own + ".").split(".")[0]
            if other == own or (other.startswith(own + ".") and order.index(below) > order.index(parts[0])):
                wrong.append(f"{dotted} imports {other}")
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_are_absolute(path):
    assert [node.lineno for node in ast.walk(TREES[path]) if isinstance(node, ast.ImportFrom) and node.level] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_room_but_the_doors_imports_the_package_itself(path):
    """`import functad` inside a room would be an import of everything."""
    if room_of(path) in DOORS:
        return
    assert [line for module, line, _, _ in imported(path) if module == "functad"] == []


def _loaded_by_import():
    """Modules that importing any of the public doors loads."""
    waiting = [path for path in FILES if room_of(path) in DOORS and path.parent.name != "scipy"]
    loaded = set()
    while waiting:
        path = waiting.pop()
        if path not in loaded:
            loaded.add(path)
            waiting += [MODULES[m] for m, _, lazy, typing in imported(path) if m in MODULES and not lazy and not typing]
    return loaded


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_packages_are_imported_at_first_compile_only(path):
    """numba, llvmlite and scipy: in few places, and there within functions or in modules that are loaded late."""
    heavy = [(module, line, lazy) for module, line, lazy, typing in imported(path) if module.split(".")[0] in HEAVY and not typing]
    if room_of(path) not in ("_compile", "scipy") and name_of(path) not in LATE:
        assert heavy == []
    if path in _loaded_by_import():
        assert [(module, line) for module, line, lazy in heavy if not lazy] == []


def test_importing_functad_imports_none_of_them():
    code = f"import sys, functad; sys.exit(','.join(m for m in {sorted(HEAVY)!r} if m in sys.modules) or None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_derivative_without_a_kernel_imports_none_of_them():
    code = f"import sys, functad; functad.grad(lambda x: x * x)(3.0); sys.exit(','.join(m for m in {sorted(HEAVY)!r} if m in sys.modules) or None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path):
    lines = path.read_text().count("\n")
    long = [
        f"{node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node) > 60
    ]
    assert lines <= 450
    assert long == []


def _length(node):
    """Lines of a function without its docstring."""
    length = node.end_lineno - node.lineno + 1
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        length -= first.end_lineno - first.lineno + 1
    return length


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_modules_are_named_and_described_by_what_they_hold(path):
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "misc", "base", "core"}
    assert ast.get_docstring(TREES[path])


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_is_left_to_do_in_the_text(path):
    assert re.findall(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text()) == []


DECLARERS = {
    "Primitive",
    "elementwise",
    "scipy_row",
    "linear_view",
    "host",
    "_reduction",
    "_comparison",
    "_boolean",
    "_choice",
    "_place",
    "_identity",
}


def test_each_primitive_is_declared_once():
    """Its name stands once, as the first argument of a declaration, in the room of primitives."""
    places = {name: [] for name in REGISTRY}
    for path, tree in TREES.items():
        if room_of(path) != "_primitives":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                given = [*node.args[:1], *[k.value for k in node.keywords if k.arg == "name"]]
                texts = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                callee = ast.unparse(node.func).split(".")[-1]
                if texts and texts[0] in places and (callee in DECLARERS or callee.startswith("_")):
                    places[texts[0]].append(f"{name_of(path)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) != 1} == {}


def test_the_registry_knows_each_primitive_by_its_name():
    assert all(op.name == name for name, op in REGISTRY.items())
    with pytest.raises(ValueError, match="declared twice"):
        type(REGISTRY["sin"])(name="sin", numpy=None, infer=None, jvp=None, transpose=None, batch=None, kernel=None)


def test_the_compile_room_knows_kinds_not_transforms():
    """`_transforms` and `_compile` are siblings."""
    for path in FILES:
        forbidden = {"_transforms": "functad._compile", "_compile": "functad._transforms"}.get(room_of(path))
        assert forbidden is None or not any(m.startswith(forbidden) for m, _, _, _ in imported(path)), name_of(path)
