"""The README keeps its word: it names every label and command that it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.__main__ import app
from plimsoll_operator.names import labels

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = README + "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))

WRITTEN = sorted(
    value
    for name, value in vars(labels).items()
    if name.isupper() and isinstance(value, str) and "plimsoll.dev" in value
)
COMMANDS = sorted(
    command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands
)


@pytest.mark.parametrize("label", WRITTEN)
def test_every_label_and_annotation_is_in_the_readme(label: str) -> None:
    assert label in README


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_docs(command: str) -> None:
    assert command in DOCS


def test_every_linked_page_exists() -> None:
    import re

    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
