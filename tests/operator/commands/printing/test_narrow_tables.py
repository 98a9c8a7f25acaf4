"""Tables on narrow terminals: which columns stay, and that it says which do not."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from plimsoll_operator.commands.printing.tables import titled_table


def shown(width: int, *, caption: str | None = None) -> str:
    table = titled_table(
        "t", ("step", "runs", "share", "why"), right=("runs",), folding=("why",), caption=caption
    )
    table.add_row("collect-all-orders", "1,234", "12.5%", "some words that may break")
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


@pytest.mark.parametrize(
    ("width", "stays", "goes"),
    [
        pytest.param(80, "12.5%   some words that may break", None, id="all of it"),
        pytest.param(50, "12.5%   some", None, id="words break first"),
        pytest.param(40, "collect-all-orders   1,234", "why", id="the last goes"),
        pytest.param(34, "collect-all-orders   1,234", "share, why", id="the last two go"),
    ],
)
def test_the_last_columns_go_first_and_are_named(width: int, stays: str, goes: str | None) -> None:
    said = shown(width)
    assert stays in said
    assert "…" not in said
    assert ("too narrow for" in said) is (goes is not None)
    if goes is not None:
        assert f"too narrow for {goes}" in " ".join(said.split())


def test_a_column_without_a_name_goes_without_a_word() -> None:
    table = titled_table("t", ("step", "runs", ""))
    table.add_row("collect", "12", "#" * 20)
    out = io.StringIO()
    Console(file=out, width=24).print(table)
    assert "too narrow" not in out.getvalue()
    assert "#" not in out.getvalue()
    assert "12" in out.getvalue()


def test_a_caption_stays() -> None:
    assert "of all runs" in shown(40, caption="of all runs")


def test_the_name_and_the_first_figure_are_not_left_out() -> None:
    said = shown(16)
    assert ("step" in said, "runs" in said) == (True, True)
