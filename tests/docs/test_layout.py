"""The house rules of the sources: small rooms, no cycles, and each room says what it is for."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.docs.pages import ROOT

SOURCES = {
    "plimsoll_operator": ROOT / "operator" / "plimsoll_operator",
    "plimsoll_predictor": ROOT / "predictor" / "plimsoll_predictor",
    "benchmarks": ROOT / "benchmarks",
}
MOST_MODULES, MOST_LINES, MOST_PUBLIC_METHODS = 20, 400, 15


def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package by its own."""
    return {
        _dotted(path.relative_to(folder.parent)): path
        for folder in SOURCES.values()
        for path in sorted(folder.rglob("*.py"))
        if "versions" not in path.parts  # one file a migration, and there are ever more of them
    }


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """What each module imports of the project, at its top or inside a function."""
    known = modules()
    return {
        name: frozenset(_imported(ast.parse(path.read_text()), known)) - {name}
        for name, path in known.items()
    }


def _imported(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in known:
                    yield whole
                elif node.module in known:
                    yield node.module


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert _cycle(imports()) is None


def test_no_folder_imports_itself_by_way_of_others() -> None:
    known = modules()
    folders: dict[str, set[str]] = defaultdict(set)
    for name, others in imports().items():
        if known[name].name == "__init__.py":
            continue  # a package's own face
        here = name.rpartition(".")[0]
        for other in others:
            there = other if known[other].name == "__init__.py" else other.rpartition(".")[0]
            if there != here:
                folders[here].add(there)
    assert _cycle(folders) is None


def _cycle(graph: Mapping[str, frozenset[str] | set[str]]) -> list[str] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def test_a_folder_is_small_enough_to_find_ones_way() -> None:
    beside = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    assert [folder for folder, count in beside.items() if count > MOST_MODULES] == []


def test_a_file_is_short() -> None:
    lines = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert [name for name, count in lines.items() if count > MOST_LINES] == []


def test_a_folder_says_what_it_is_for_and_what_it_imports() -> None:
    said = {
        name: ast.get_docstring(ast.parse(path.read_text())) or ""
        for name, path in modules().items()
        if path.name == "__init__.py" and _has_modules(path.parent)
    }
    assert [name for name, text in said.items() if "May import" not in text] == []


def _has_modules(folder: Path) -> bool:
    return any(path.name != "__init__.py" for path in folder.glob("*.py"))


def test_a_class_has_few_public_methods() -> None:
    counts = {
        f"{name}.{each.name}": len(list(_public_methods(each)))
        for name, path in modules().items()
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.ClassDef)
    }
    assert [name for name, count in counts.items() if count > MOST_PUBLIC_METHODS] == []


def _public_methods(owner: ast.ClassDef) -> Iterator[str]:
    for each in owner.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name[0] != "_":
            yield each.name
