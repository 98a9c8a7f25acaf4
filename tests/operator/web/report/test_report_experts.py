"""The page's section about experts: which serves, bids and costs; and stores without them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.views.report.task_views import gather
from plimsoll_operator.web.report.page import render
from plimsoll_operator.wording.figure_words import words_for_share
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.panel import YOUNG
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.store import Store
from tests.builders.experts.standings import NEEDS_MIB, SHIFTED_MIB, a_fleet, a_run, facts_of, keep
from tests.builders.reports import START_S, TASK, a_model, an_attempt

OLD = {
    "experts": {
        "max-seen": {"cost_gb_h": 1.5, "failed_attempts": 2},
        "request": {"cost_gb_h": 3.0, "failed_attempts": 0},
    }
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    opened.observations.record(
        [replace(an_attempt(f"r{place}"), attempt_uid=f"u{place}") for place in range(3)]
    )
    opened.models.save(TASK, a_model(), OLD)
    yield opened
    opened.close()


def page_of(store: Store, needs_mib: Sequence[int]) -> str:
    keep(store, a_fleet(needs_mib))
    return render(gather(store), START_S)


def rows_of(page: str) -> list[tuple[str, str, str]]:
    """Class, name and how long the bar is, of each expert."""
    pattern = (
        r'<tr class="(\w*)" title="[^"]*"><th scope="row">([\w-]+)</th>.*?(?:width="([\d.]+)%|>-<)'
    )
    return re.findall(pattern, page)


@pytest.mark.slow
def test_experts_are_drawn_the_champion_first_each_bar_as_long_as_its_cost(store: Store) -> None:
    facts = facts_of(a_fleet())
    page = page_of(store, NEEDS_MIB)
    kinds, names, shares = zip(*rows_of(page), strict=True)
    assert (kinds[0], names[0]) == ("champion", facts.champion)
    assert list(kinds).count("champion") == 1
    most = max(facts.times.values())
    drawn = dict(zip(names, shares, strict=True))
    for name, times in facts.times.items():
        assert float(drawn[name]) == pytest.approx(100 * times / most, abs=0.1)
    assert drawn["classifier"] == "", "it bids, and has cost nothing yet"
    assert f"sizes decided by {facts.champion}" in page


def test_experts_that_wait_for_more_runs_are_told_apart(store: Store) -> None:
    kinds = {name: kind for kind, name, _ in rows_of(page_of(store, NEEDS_MIB[:3]))}
    assert {name for name, kind in kinds.items() if kind != "waiting"} == YOUNG


@pytest.mark.slow
def test_a_drifting_task_shows_it(store: Store) -> None:
    page = page_of(store, SHIFTED_MIB)
    assert "which needed 6.05Gi to 6.79Gi" in page
    assert '<span class="phase Drifting">drifting</span>' in page


def test_a_store_of_before_the_experts_shows_what_its_last_training_found(store: Store) -> None:
    page = render(gather(store), START_S)
    assert "Out-of-time costs" in page
    assert "Who decides its sizes" not in page


@pytest.mark.slow
def test_with_experts_the_trainings_comparison_is_left_out(store: Store) -> None:
    page = page_of(store, NEEDS_MIB)
    assert "Who decides its sizes" in page
    assert "Out-of-time costs" not in page


def a_recommended_fleet() -> TaskStandings:
    """One task whose runs asked for 4Gi and would have got 320Mi, which is too little for some."""
    fleet = TaskStandings()
    for need_mib in NEEDS_MIB:
        fleet.learn(str(TASK), replace(a_run(need_mib), decided_bytes=320 * MIB))
    return fleet


@pytest.mark.slow
def test_what_enforcing_would_have_saved_and_killed_is_told(store: Store) -> None:
    fleet = a_recommended_fleet()
    would = facts_of(fleet).would
    keep(store, fleet)
    page = render(gather(store), START_S)
    saved = words_for_share(would.saved_gb_h, would.asked_gb_h)
    assert would.killed == sum(need > 320 for need in NEEDS_MIB) > 0
    facts = (
        f"<dt>enforcing would have saved</dt><dd>{saved} <small>",
        f"<dt>and killed at first</dt><dd>{would.killed} <small>of {len(NEEDS_MIB)} runs",
    )
    for fact in facts:
        assert page.count(fact) == 2, "of all tasks, and of its own"


@pytest.mark.slow
def test_what_enforcing_would_have_saved_counts_tasks_without_a_section_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_operator.views.report.task_views.DETAILED_TASKS", 0)
    fleet = a_recommended_fleet()
    keep(store, fleet)
    assert gather(store).would == facts_of(fleet).would


@pytest.mark.slow
def test_nothing_is_said_of_what_enforcing_would_have_done_where_it_is_enforced(
    store: Store,
) -> None:
    assert "enforcing would" not in page_of(store, NEEDS_MIB)
