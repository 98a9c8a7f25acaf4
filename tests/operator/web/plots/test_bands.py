"""Axes of plots over numbers of items."""

from __future__ import annotations

import re

import pytest

from plimsoll_operator.web.plots.axes import Frame
from plimsoll_operator.web.plots.bands import columns_of_items, rows_of_bytes, rows_of_times
from plimsoll_predictor.core.units import GIB, MIB

FRAME = Frame.inside((460, 260))


def labels(parts: list[str]) -> list[str]:
    return re.findall(r">([^<>]+)</text>", "".join(parts))


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        pytest.param(30 * MIB, GIB, ["32Mi", "64Mi", "128Mi", "256Mi", "512Mi"], id="far"),
        pytest.param(80 * MIB, 190 * MIB, ["96Mi", "128Mi", "160Mi"], id="close"),
        pytest.param(36 * MIB, 134 * MIB, ["64Mi", "96Mi", "128Mi"], id="less close"),
        pytest.param(3000.0, 5900.0, ["3Ki", "4Ki", "5Ki"], id="nearly nothing"),
    ],
)
def test_sizes_have_round_levels_however_close_they_are(
    low: float, high: float, shown: list[str]
) -> None:
    found = labels(list(map(str, rows_of_bytes(FRAME, FRAME.y(low, high, log=True)))))
    assert found[: len(shown)] == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        pytest.param(1800, 3900, ["30 min", "40 min", "50 min", "60 min"], id="half an hour on"),
        pytest.param(6.0, 9.0, ["6 s", "7 s", "8 s"], id="seconds"),
        pytest.param(1.0, 700.0, ["1 s", "5 s", "20 s", "90 s"], id="far"),
    ],
)
def test_times_have_round_levels_however_close_they_are(
    low: float, high: float, shown: list[str]
) -> None:
    found = labels(list(map(str, rows_of_times(FRAME, FRAME.y(low, high, log=True)))))
    assert [each for each in shown if each in found] == shown


def test_no_level_touches_the_name_of_the_axis() -> None:
    y = FRAME.y(64 * MIB, GIB, log=True)
    assert "1Gi" not in labels(list(map(str, rows_of_bytes(FRAME, y))))


def test_there_is_no_half_of_an_item() -> None:
    x = FRAME.x(0.8, 2.5, log=True)
    assert labels(list(map(str, columns_of_items(FRAME, x)))) == ["1", "2"]
