"""What a run asked for: read back as it was written, bounded, and never an error."""

from __future__ import annotations

import json
import math

import pytest

from plimsoll_predictor.runtimes.features.asked import (
    MOST_FEATURES,
    NOTHING_ASKED,
    AskedRun,
    numeric,
)
from plimsoll_predictor.runtimes.features.lines import NO_READING
from plimsoll_predictor.runtimes.features.row import N_FEATURES, NAMES, Moment, Newest, row_of


def test_what_was_asked_is_read_back_as_it_was_written() -> None:
    asked = AskedRun(requested_s=60.0, processors=2.0, queued=0, features={"rows": 12.5})
    assert AskedRun.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked
    assert NOTHING_ASKED.to_dict() == {}
    assert AskedRun.from_dict({}) == NOTHING_ASKED


@pytest.mark.parametrize(
    "written",
    [
        None,
        7,
        [],
        {"requested_s": "soon", "busy": True, "queued": math.inf, "features": 3},
        {"features": {"name": "text", "huge": 10**400, "nan": math.nan, "x" * 64: 1.0}},
    ],
)
def test_what_is_no_number_counts_as_not_said(written: object) -> None:
    assert AskedRun.from_dict(written) == NOTHING_ASKED


def test_only_the_first_numbers_by_name_are_kept() -> None:
    many = {f"f{place:02}": float(place) for place in reversed(range(30))}
    assert list(numeric({**many, "a": "category"})) == [
        f"f{place:02}" for place in range(MOST_FEATURES)
    ]
    assert numeric({"rows": 3, "kind": "wide", "ready": True}) == {"rows": 3.0}
    assert list(numeric({"rows": 3, "days": 2})) == ["days", "rows"], "as after a restart"


def test_a_row_says_in_its_place_what_is_known_and_that_the_rest_is_not() -> None:
    moment = Moment(
        at_s=90_000.0, task=Newest(2, (5.0, 4.0), 89_000.0), owner=Newest(), open_beside=1
    )
    row = row_of([1.0, 2.0, 3.0, 4.0, 5.0], moment, AskedRun(requested_s=math.e**4), NO_READING)
    assert len(row) == N_FEATURES
    known = {name: value for name, value in zip(NAMES, row, strict=True) if not math.isnan(value)}
    assert known == pytest.approx(
        {
            "the forecast's median": 3.0,
            "its 5th of 100": -2.0,
            "its 25th of 100": -1.0,
            "its 75th of 100": 1.0,
            "its 95th of 100": 2.0,
            "the last runtime": 2.0,
            "the last but one": 1.0,
            "runs known": math.log(3),
            "runs of the owner known": 0.0,
            "runs under way": math.log(2),
            "time since the last finish": math.log(1000),
            "the requested time": 4.0,
            "the requested time, to the median": 1.0,
            "hour of the day": 1.0,
            "day of the week": 1.0,
        }
    )
