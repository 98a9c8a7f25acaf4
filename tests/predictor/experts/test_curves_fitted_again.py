"""A curve is fitted again, however old its task is, and sooner if runs exceed it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.past import Past
from tests.builders.experts.served_tasks import Run, kinds


def add(past: Past, runs: Iterable[Run]) -> list[int]:
    """Learn runs. Returns after how many runs of the task a curve was fitted to them."""
    fits = list[int]()
    for need_bytes, features in runs:
        curve = past.curve
        past.add(EndedRun(need_bytes, 600.0), features)
        if past.curve is not curve:
            fits.append(past.runs)
    return fits


def size_of(kind: str, past: Past) -> float | None:
    return None if past.curve is None else past.curve.at({"kind": kind})


def old_task(runs: int = 1000) -> Past:
    past = Past()
    add(past, kinds(runs, runs))
    return past


def test_the_curve_of_an_old_task_is_that_of_the_runs_in_its_table() -> None:
    past = old_task()
    before_bytes = size_of("b", past)
    add(past, kinds(110, 0))
    after_bytes = size_of("b", past)
    assert before_bytes is not None
    assert after_bytes is not None
    assert after_bytes > 2.4 * before_bytes


def test_a_kind_that_is_new_to_an_old_task_is_known_after_some_dozen_runs() -> None:
    past = old_task()
    add(past, ((3000 * MIB + number, {"kind": "new"}) for number in range(13)))
    assert size_of("new", past) is not None


def test_runs_that_exceed_the_curve_bring_its_fit_forward() -> None:
    within, beyond = old_task(), old_task()
    assert within.next_fit - within.runs > 2
    add(within, [(200 * MIB, {"kind": "a"})])
    add(beyond, [(500 * MIB, {"kind": "a"})])
    assert beyond.next_fit - beyond.runs == (within.next_fit - within.runs) // 2


def test_a_task_that_always_exceeds_its_curve_is_not_fitted_at_each_run() -> None:
    past = old_task(100)
    growing = [(30 * 1.02**n * MIB * (1 + n % 7), {"rows": 1.0 + n % 7}) for n in range(700)]
    add(past, growing[:200])
    assert len(add(past, growing[200:])) <= 500 / 3


def test_a_state_of_an_older_version_that_would_wait_for_long_does_not() -> None:
    past = replace(old_task(200), runs=8000, next_fit=9000)
    assert past.next_fit <= 8013


def test_a_restart_does_not_change_when_curves_are_fitted() -> None:
    past = old_task(120)
    for run in kinds(40, 0):
        again = from_document(Past, json.loads(json.dumps(to_document(past))), "a past")
        assert again.next_fit == past.next_fit
        add(past, [run])
