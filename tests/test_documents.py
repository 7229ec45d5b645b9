"""The documents are true: their Python blocks run, the values they state are the values found, and their links resolve."""

import ast
import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
NAMES = [str(document.relative_to(ROOT)) for document in DOCUMENTS]

FENCE = re.compile(r"^```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<title>.+?)\s*$", re.MULTILINE)
STATED = re.compile(r"#\s*->\s*(?P<value>.+?)\s*$")


def blocks(text: str, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of one language, each with the number of lines before its first."""
    found = [match for match in FENCE.finditer(text) if match["language"] == language]
    return [(text.count("\n", 0, match.start("body")), match["body"]) for match in found]


def run(source: str, filename: str, lines_before: int, namespace: dict) -> None:
    """Execute a block statement by statement; an expression followed by `# -> value` must have that repr, spaces apart."""
    source = "\n" * lines_before + source
    lines = source.splitlines()
    for node in ast.parse(source, filename).body:
        stated = STATED.search(lines[node.end_lineno - 1])
        if isinstance(node, ast.Expr) and stated:
            found = eval(compile(ast.Expression(node.value), filename, "eval"), namespace)
            assert squeezed(repr(found)) == squeezed(stated["value"]), f"{filename}:{node.lineno} gives {found!r}"
        else:
            exec(compile(ast.Module([node], []), filename, "exec"), namespace)


def squeezed(text: str) -> str:
    """Text without its white space."""
    return "".join(text.split())


def anchors(text: str) -> set[str]:
    """What a link may name after `#`: the headings in lower case, spaces as hyphens, punctuation dropped."""
    titles = [match["title"].lower() for match in HEADING.finditer(FENCE.sub("", text))]
    kept = ["".join(c for c in title if c in " -_" or unicodedata.category(c)[0] in "LN") for title in titles]
    return {title.replace(" ", "-") for title in kept}


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_python_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "document"}
    for lines_before, body in blocks(document.read_text(encoding="utf-8"), "python"):
        run(body, str(document), lines_before, namespace)


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_links_resolve(document):
    text = document.read_text(encoding="utf-8")
    for match in LINK.finditer(FENCE.sub("", text)):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), f"{document.name} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{document.name} links to {target}: no such heading"


def test_every_page_is_reachable_from_the_entry_page():
    found, waiting = set(), [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        found.add(page)
        targets = [match["target"].partition("#")[0] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
        linked = {(page.parent / target).resolve() for target in targets if target.endswith(".md") and ":" not in target}
        waiting.extend(linked - found)
    assert set((ROOT / "docs").rglob("*.md")) <= found


def test_first_shell_block_of_the_readme_has_an_install_line_and_a_test_line():
    install, test = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "sh")[0][1].splitlines()
    assert "pip install" in install
    assert "examples/quickstart.py" in install
    assert ".[test]" in test
    assert "pytest" in test


def test_a_false_statement_in_a_document_is_found():
    with pytest.raises(AssertionError, match="gives 3"):
        run("1 + 2  # -> 4\n", "page.md", 0, {})
