"""First, do no harm: a run that succeeds without Plimsoll succeeds with it, on the real node."""

from __future__ import annotations

import json

import pytest

from plimsoll_predictor.core.units import MIB
from tests.harm import table
from tests.harm.catalogue import ALL
from tests.harm.rehearsal import Pair
from tests.harm.scenario import ASKED_MIB, Ending, Scenario

pytestmark = pytest.mark.node


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_a_run_that_succeeds_without_plimsoll_succeeds_with_it(
    scenario: Scenario, pairs: dict[str, Pair]
) -> None:
    pair = pairs[scenario.name]
    if (harm := table.harm(pair)) is not None:
        pytest.fail(harm, pytrace=False)


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_a_run_ends_without_plimsoll_as_its_author_means_it_to(
    scenario: Scenario, pairs: dict[str, Pair]
) -> None:
    """A run that fails by itself proves nothing about Plimsoll."""
    assert pairs[scenario.name].without is scenario.without


@pytest.mark.parametrize(
    "scenario", [each for each in ALL if each.lowers], ids=lambda scenario: scenario.name
)
def test_a_run_that_loses_nothing_by_it_gets_less_than_was_asked_for(
    scenario: Scenario, pairs: dict[str, Pair]
) -> None:
    """A Plimsoll that sizes nothing would harm nobody, and pass the test above."""
    first = pairs[scenario.name].pods[0]
    assert first.given_bytes is not None
    assert first.given_bytes < ASKED_MIB * MIB, first.decision


@pytest.mark.parametrize(
    "scenario", [each for each in ALL if each.leaves], ids=lambda scenario: scenario.name
)
def test_what_could_do_harm_has_really_happened(scenario: Scenario, pairs: dict[str, Pair]) -> None:
    assert any(scenario.leaves in seen.noted for seen in pairs[scenario.name].pods)


@pytest.mark.parametrize(
    "scenario", [each for each in ALL if each.is_told], ids=lambda scenario: scenario.name
)
def test_plimsoll_decides_on_every_pod_by_what_it_knows_of_the_task(
    scenario: Scenario, pairs: dict[str, Pair]
) -> None:
    pair = pairs[scenario.name]
    undecided = {"cold-start", None}
    assert pair.pods or pair.with_plimsoll is Ending.REFUSED
    decided = pair.pods[:1] if scenario.taken_back else pair.pods
    assert undecided.isdisjoint(seen.decision.get("reason") for seen in decided)


def test_the_file_has_a_row_for_each_scenario(pairs: dict[str, Pair]) -> None:
    rows = json.loads(table.FILE.read_text())
    assert [row["scenario"] for row in rows] == list(pairs)
    assert {tuple(row) for row in rows} == {
        ("scenario", "without", "with", "kills", "allocated_over_peak")
    }
