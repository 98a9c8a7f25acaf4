"""The house rules: small rooms and short files, no cycles, and each room says what it is for."""

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
EVERYWHERE = ("operator", "predictor", "tests", "benchmarks", "demo", "deploy")
MOST_MODULES, MOST_LINES, MOST_PUBLIC_METHODS = 20, 400, 15
SAY_NOTHING = {"utils", "helpers", "manager"}
"""Names of rooms and files that do not tell what is in them."""


def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package by its own."""
    return {
        _dotted(path.relative_to(folder.parent)): path
        for folder in SOURCES.values()
        for path in sorted(folder.rglob("*.py"))
        if "versions" not in path.parts  # one file for each migration, and their number grows
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


def python_files(root: Path) -> list[Path]:
    """All of a checkout, by their paths in it."""
    return [
        path.relative_to(root)
        for folder in EVERYWHERE
        for path in sorted((root / folder).rglob("*.py"))
        if path.parent.parts[-2:] != ("migrations", "versions")  # see `modules`
    ]


def crowded(root: Path) -> list[str]:
    """Folders with too many modules beside each other, and what to do."""
    beside = Counter(path.parent for path in python_files(root) if path.name != "__init__.py")
    return [
        f"{folder} has {count} modules beside each other, more than {MOST_MODULES}: "
        "move some into folders of it, named by their subjects"
        for folder, count in beside.items()
        if count > MOST_MODULES
    ]


def too_long(root: Path) -> list[str]:
    """Files with too many lines, and what to do."""
    counts = {path: len((root / path).read_text().splitlines()) for path in python_files(root)}
    return [
        f"{path} has {count} lines, more than {MOST_LINES}: split it by subject"
        for path, count in counts.items()
        if count > MOST_LINES
    ]


def test_a_folder_is_small_enough_to_find_ones_way() -> None:
    assert crowded(ROOT) == []


def test_a_file_is_short() -> None:
    assert too_long(ROOT) == []


def test_a_crowded_folder_and_a_long_file_are_named_and_no_others(tmp_path: Path) -> None:
    for folder, count in (("tests/rigs", MOST_MODULES + 1), ("demo", MOST_MODULES)):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("__init__", *(f"module_{number}" for number in range(count))):
            (tmp_path / folder / f"{name}.py").write_text("\n" * MOST_LINES)
    (tmp_path / "demo" / "module_0.py").write_text("\n" * (MOST_LINES + 1))
    assert [words.split(",")[0] for words in crowded(tmp_path)] == [
        "tests/rigs has 21 modules beside each other"
    ]
    assert [words.split(",")[0] for words in too_long(tmp_path)] == [
        "demo/module_0.py has 401 lines"
    ]


def test_what_tests_share_is_not_in_one_of_them() -> None:
    """It is in tests/builders, in tests/rigs, or in a module beside them that is no test."""
    tests = {_dotted(path): path for path in python_files(ROOT) if path.name.startswith("test_")}
    lent = {
        name: set(_imported(ast.parse((ROOT / tests[name]).read_text()), tests)) for name in tests
    }
    assert {name: others for name, others in lent.items() if others} == {}


def test_the_names_of_folders_and_files_say_what_is_there() -> None:
    silent = [path for path in python_files(ROOT) if SAY_NOTHING & {*path.with_suffix("").parts}]
    assert silent == []


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
