"""docs/where.md says where to change what; each answer is a file with the named content."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT

ROW = re.compile(r"^\| (?P<question>[^|]+\?) \| `(?P<path>[^`]+)` \| `(?P<name>[^`]+)` \|", re.M)


def answers() -> list[tuple[str, str, str]]:
    """Question, file and what to look for in it."""
    page = (ROOT / "docs" / "where.md").read_text()
    return [(row["question"], row["path"], row["name"]) for row in ROW.finditer(page)]


def test_there_are_at_least_ten_questions() -> None:
    assert len(answers()) >= 10


@pytest.mark.parametrize(("question", "path", "name"), answers(), ids=[a[0] for a in answers()])
def test_the_file_of_an_answer_has_what_to_look_for(question: str, path: str, name: str) -> None:
    file = ROOT / path
    assert file.is_file(), f"{question} {path} is not there"
    assert name in set(_names(file.read_text(), file.suffix)), f"{question} no {name} in {path}"


def _names(text: str, suffix: str) -> Iterator[str]:
    if suffix != ".py":
        yield from re.findall(r"[\w.-]+", text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
