"""What `make test-harm` shows about a scenario's two runs, and what it calls harm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll_predictor.core.units import MIB
from tests.harm import table
from tests.harm.catalogue import ALL
from tests.harm.plays import jobs
from tests.harm.rehearsal import Pair
from tests.harm.scenario import Ending, Scenario
from tests.harm.watching import Seen


def a_pod_that_ended(
    *ends: tuple[str, int], request: str | None = "128Mi", why: str = "as seen"
) -> Seen:
    """One main container, restarted in place after each end but the last."""
    resources = {"requests": {"memory": request}} if request else {}
    states = [
        {"terminated": {"reason": reason, "exitCode": code, "containerID": f"c{number}"}}
        for number, (reason, code) in enumerate(ends)
    ]
    seen = Seen({})
    for state in states:
        pod: dict[str, Any] = {
            "metadata": {
                "name": "p",
                "uid": "u1",
                "annotations": {"plimsoll.dev/decision": json.dumps({"why": why})},
            },
            "spec": {"containers": [{"name": "main", "resources": resources}]},
            "status": {
                "phase": "Failed",
                "containerStatuses": [{"name": "main", "state": state}],
            },
        }
        seen.look(pod)
    return seen


def a_pair(without: Ending, ended: Ending, *pods: Seen, by_itself: tuple[int, ...] = ()) -> Pair:
    scenario = Scenario("a Job", plays=jobs(), ends_itself_with=by_itself)
    return Pair(scenario, without, ended, pods, {"u1": 64 * MIB})


@pytest.mark.parametrize(
    ("without", "ended", "harmed"),
    [
        pytest.param(Ending.SUCCEEDED, Ending.SUCCEEDED, False, id="as well as without"),
        pytest.param(Ending.SUCCEEDED, Ending.FAILED, True, id="it fails"),
        pytest.param(Ending.SUCCEEDED, Ending.PENDING, True, id="it waits"),
        pytest.param(Ending.SUCCEEDED, Ending.UNFINISHED, True, id="it never ends"),
        pytest.param(Ending.SUCCEEDED, Ending.REFUSED, True, id="it is refused"),
        pytest.param(Ending.SUCCEEDED, Ending.DOUBLED, True, id="it is done twice"),
        pytest.param(Ending.SUCCEEDED, Ending.CHANGED, True, id="its class changes"),
        pytest.param(Ending.PENDING, Ending.PENDING, False, id="it waits as without"),
        pytest.param(Ending.PENDING, Ending.FAILED, True, id="what would wait fails"),
        pytest.param(Ending.FAILED, Ending.SUCCEEDED, False, id="it is healed"),
        pytest.param(Ending.FAILED, Ending.FAILED, False, id="it fails anyway"),
    ],
)
def test_what_counts_as_harm(without: Ending, ended: Ending, *, harmed: bool) -> None:
    assert (table.harm(a_pair(without, ended)) is not None) is harmed


def test_harm_is_told_in_a_sentence_that_counts_equal_attempts() -> None:
    killed = a_pod_that_ended(("OOMKilled", 137), request="42Mi")
    assert table.harm(a_pair(Ending.SUCCEEDED, Ending.FAILED, killed, killed)) == (
        "a Job: succeeded without Plimsoll, failed with it; "
        "its pods: 2 × 42Mi (as seen): OOMKilled 137"
    )


def test_every_start_in_place_that_was_killed_counts() -> None:
    pod = a_pod_that_ended(("OOMKilled", 137), ("OOMKilled", 137), ("Completed", 0))
    pair = a_pair(Ending.SUCCEEDED, Ending.SUCCEEDED, pod)
    assert pair.kills == 2
    assert pair.allocated_over_peak == 2.0


def test_an_exit_counts_as_a_kill_only_where_the_scenario_says_what_it_means() -> None:
    pod = a_pod_that_ended(("Error", 3))
    assert a_pair(Ending.SUCCEEDED, Ending.FAILED, pod).kills == 0
    assert a_pair(Ending.SUCCEEDED, Ending.FAILED, pod, by_itself=(3,)).kills == 1


def test_nothing_is_divided_where_nothing_succeeded_or_nothing_was_asked_for() -> None:
    killed = a_pod_that_ended(("OOMKilled", 137))
    unasked = a_pod_that_ended(("Completed", 0), request=None)
    assert a_pair(Ending.SUCCEEDED, Ending.FAILED, killed).allocated_over_peak is None
    assert a_pair(Ending.SUCCEEDED, Ending.SUCCEEDED, unasked).allocated_over_peak is None


def test_the_file_has_the_table_in_words_and_numbers(tmp_path: Path) -> None:
    file = tmp_path / "harm.json"
    done = a_pod_that_ended(("Completed", 0))
    table.write([a_pair(Ending.SUCCEEDED, Ending.SUCCEEDED, done)], file)
    assert json.loads(file.read_text()) == [
        {
            "scenario": "a Job",
            "without": "succeeded",
            "with": "succeeded",
            "kills": 0,
            "allocated_over_peak": 2.0,
        }
    ]


def test_there_are_thirty_scenarios_each_with_a_name_of_its_own() -> None:
    assert len({each.name for each in ALL}) == len(ALL) >= 30
