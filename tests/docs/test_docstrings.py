"""Docstrings name files, modules and what is in them; all of it is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import ROOT

SOURCES = ("operator", "predictor", "benchmarks", "demo", "deploy")
FILE = re.compile(r"[\w./-]*\w\.py\b|\bdocs/[\w/.-]+\.md\b")
DOTTED = re.compile(r"``([a-z_]\w*(?:\.\w+)+)``")
FOREIGN = {"docs/storage/prometheus.md"}
"""Files of other projects."""
FIELDS = {"spec", "status"}
"""What begins so is a field of a Kubernetes object, although modules have these names, too."""


@cache
def trees() -> Mapping[Path, ast.Module]:
    """Every Python file of the sources, by its path in the checkout."""
    found = [file for folder in SOURCES for file in sorted((ROOT / folder).rglob("*.py"))]
    return {file.relative_to(ROOT): ast.parse(file.read_text()) for file in found}


@cache
def files() -> frozenset[str]:
    """Each Python file and page, and each end of its path."""
    found = [file for folder in (*SOURCES, "tests") for file in (ROOT / folder).rglob("*.py")]
    found += (ROOT / "docs").rglob("*.md")
    ends = [file.relative_to(ROOT).parts for file in found]
    return frozenset("/".join(parts[start:]) for parts in ends for start in range(len(parts)))


@cache
def named_in() -> Mapping[str, set[str]]:
    """What each module defines or imports, and which modules a folder has, by its last name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        *folders, name = path.with_suffix("").parts
        if name == "__init__":
            *folders, name = folders
        found[name] |= set(_names(tree))
        if folders:
            found[folders[-1]].add(name)
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.ImportFrom):
            yield from (each.asname or each.name for each in node.names)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """All texts that stand by themselves: of modules, classes, functions, constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield text


def missing_files(text: str) -> set[str]:
    """Files that a docstring names and that are nowhere."""
    return set(FILE.findall(text)) - FOREIGN - files()


def missing_names(text: str) -> set[str]:
    """Dotted names in a docstring that begin with a module of ours and do not lead anywhere."""
    return {dotted for dotted in DOTTED.findall(text) if not _leads_somewhere(dotted)}


def _leads_somewhere(dotted: str) -> bool:
    parts = dotted.split(".")
    known = named_in()
    if parts[0] in FIELDS or parts[0] not in known or FILE.fullmatch(dotted):
        return True
    if re.search(r"[a-z][A-Z]", dotted):  # a value of the chart
        return True
    return all(name in known[of] for of, name in pairwise(parts) if of in known)


def test_every_file_that_a_docstring_names_is_there() -> None:
    found = {path: missing_files("\n".join(docstrings(tree))) for path, tree in trees().items()}
    assert {path: missing for path, missing in found.items() if missing} == {}


def test_every_dotted_name_in_a_docstring_leads_to_something() -> None:
    found = {path: missing_names("\n".join(docstrings(tree))) for path, tree in trees().items()}
    assert {path: missing for path, missing in found.items() if missing} == {}


def test_what_is_not_there_is_named_and_nothing_else() -> None:
    text = "See ``decide.py``, clamping.py, ``deciding.modelled``, ``deciding.gone``, ``numpy.no``."
    assert missing_files(text) == {"decide.py"}
    assert missing_names(text) == {"deciding.gone"}
