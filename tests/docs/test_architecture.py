"""docs/architecture.md names files that are there."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT, Page

SOURCES = ("operator", "predictor", "tests")


def test_every_file_that_the_map_names_is_there() -> None:
    named = set(re.findall(r"[\w./]+\.py\b", Page("docs/architecture.md").text))
    there = {
        f"/{each.relative_to(ROOT)}" for folder in SOURCES for each in (ROOT / folder).rglob("*.py")
    }
    assert len(named) > 10
    assert {each for each in named if not any(path.endswith(f"/{each}") for path in there)} == set()
