"""A task's figures and lifts, and which of its points are drawn."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from plimsoll_operator.views.report.counting import figures_of, lifts_of, points_of
from plimsoll_operator.views.report.records import Figures, total
from plimsoll_operator.views.report.thinning import points_per_plot, thin
from plimsoll_operator.wording.saving_words import words_for_saved_share
from plimsoll_predictor.core.record import Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.reports import a_life, an_attempt, killed
from tests.builders.stores import open_store


def test_a_kill_below_the_request_is_allocated_but_not_asked_for_twice() -> None:
    small = killed(an_attempt("r"))
    retry = replace(an_attempt("r", 2), allocation_bytes=GIB)
    figures = figures_of([small, retry])
    assert (figures.runs, figures.attempts, figures.oom_kills, figures.retries) == (1, 2, 1, 1)
    hours = 600 / 3600
    assert figures.requested_gb_h == pytest.approx(4 * GIB / 1e9 * hours)
    assert figures.allocated_gb_h == pytest.approx(1.5 * GIB / 1e9 * hours)


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.OOM_KILLED])
def test_a_limit_above_the_request_is_nothing_that_was_allocated(outcome: Outcome) -> None:
    burstable = replace(
        an_attempt(),
        outcome=outcome,
        request_bytes=GIB,
        request_memory_ran_bytes=GIB,
        allocation_bytes=4 * GIB,
    )
    figures = figures_of([burstable])
    assert figures.allocated_gb_h == figures.requested_gb_h > 0
    assert words_for_saved_share(figures.saved_gb_h, figures.requested_gb_h) == "0%"
    lowered = figures_of([replace(burstable, request_memory_ran_bytes=GIB // 4)])
    assert words_for_saved_share(lowered.saved_gb_h, lowered.requested_gb_h) == "75%"


def test_a_report_counts_as_the_store_does(tmp_path: Path) -> None:
    sizes = (None, 0, GIB // 4, GIB, 4 * GIB)
    attempts = [
        replace(
            an_attempt(f"r{place}"),
            task=TaskId("shop", f"t{place}"),
            outcome=outcome,
            request_bytes=asked_bytes,
            request_memory_ran_bytes=ran_bytes,
            allocation_bytes=limit_bytes,
        )
        for place, (outcome, asked_bytes, ran_bytes, limit_bytes) in enumerate(
            product(Outcome, (None, 0, GIB), sizes, sizes)
        )
    ]
    store = open_store(tmp_path)
    store.observations.record(attempts)
    stored = store.totals.by_task()
    for attempt in attempts:
        figures, kept = figures_of([attempt]), stored[attempt.task]
        assert figures.requested_gb_h == pytest.approx(kept.requested_gb_h), attempt
        assert figures.allocated_gb_h == pytest.approx(kept.allocated_gb_h), attempt
        assert figures.peak_gb_h == pytest.approx(kept.peak_gb_h), attempt
    store.close()


def test_a_kill_at_a_limit_above_the_request_is_drawn_at_its_limit() -> None:
    chain = [
        replace(killed(an_attempt("r")), request_memory_ran_bytes=256 * MIB),
        replace(an_attempt("r", 2), request_memory_ran_bytes=300 * MIB, allocation_bytes=GIB),
    ]
    [lift] = lifts_of(points_of(chain), limit=10)
    assert (lift.reserved_bytes, lift.need_bytes) == (256 * MIB, 512 * MIB)
    assert lift.lifted_to_bytes == GIB


def test_imported_history_is_no_saving_of_ours() -> None:
    past = replace(an_attempt("past"), peak_source=PeakSource.IMPORTED)
    assert figures_of([past, an_attempt()]) == replace(figures_of([an_attempt()]), imported=1)
    assert lifts_of(points_of([killed(past)]), limit=10) == ()


def test_totals_add_up() -> None:
    one, two = figures_of(a_life(1)), figures_of(a_life(2))
    both = total(Figures, [one, two])
    assert both.runs == one.runs + two.runs
    assert both.saved_gb_h == pytest.approx(one.saved_gb_h + two.saved_gb_h)


def test_a_lift_tells_what_followed() -> None:
    chain = [killed(an_attempt("r")), replace(an_attempt("r", 2), allocation_bytes=GIB)]
    [lift] = lifts_of(points_of(chain), limit=10)
    assert (lift.reserved_bytes, lift.lift_outcome) == (512 * MIB, Outcome.SUCCEEDED)
    assert lift.lifted_to_bytes == points_of(chain)[0].lifted_to_bytes == GIB
    [open_lift] = lifts_of(points_of(chain[:1]), limit=10)
    assert (open_lift.lifted_to_bytes, open_lift.lift_outcome) == (None, None)


@pytest.mark.slow
def test_thinning_keeps_every_kill_and_both_ends() -> None:
    attempts = [an_attempt(f"r{n}") for n in range(5000)]
    attempts[1234::500] = [killed(each) for each in attempts[1234::500]]
    thinned = thin(points_of(attempts), 100)
    places = [place for place, _ in thinned.points]
    assert len(places) == 100
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0, 4999)
    assert sum(point.killed for _, point in thinned.points) == len(attempts[1234::500])
    assert thinned.words == "100 of 5,000 attempts are drawn, all 8 kills among them"


def test_more_kills_than_room_keeps_the_newest_and_says_so() -> None:
    thinned = thin(points_of([killed(an_attempt(f"r{n}")) for n in range(300)]), 100)
    assert [place for place, _ in thinned.points] == list(range(200, 300))
    assert thinned.words is not None
    assert "the last 100 of 300 kills" in thinned.words


def test_few_points_are_all_drawn_and_nothing_is_said() -> None:
    thinned = thin(points_of([an_attempt()]), points_per_plot(1))
    assert (len(thinned.points), thinned.words) == (1, None)
