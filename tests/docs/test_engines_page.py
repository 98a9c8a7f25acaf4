"""docs/engines.md names every engine of the table, by the name that its tasks and metrics have."""

import re

from plimsoll_operator.pods.engines.table import ENGINES
from plimsoll_operator.pods.recognising import MAKERS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "engines.md").read_text()


def test_every_maker_has_its_row() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) >= set(MAKERS)


def test_a_row_names_a_label_that_is_read() -> None:
    for engine in ENGINES:
        (row,) = re.findall(rf"^\| `{engine.name}` \|.*$", PAGE, re.MULTILINE)
        assert any(label in row for label in (*engine.marks, *engine.labels)), engine.name
