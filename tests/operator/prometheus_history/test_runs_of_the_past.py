"""Runs of the past: which attempts are one, and under which name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.prometheus_history.runs import PastRuns
from plimsoll_predictor.core.record import Observation, Outcome
from tests.builders.stores import an_attempt

JOB, AIRFLOW = "job:nightly", "airflow:sales.load:r1"


def a_pod(uid: str, key: str = JOB, outcome: Outcome = Outcome.SUCCEEDED) -> Observation:
    return replace(an_attempt(uid).in_run(key).built, outcome=outcome)


def names(*pods: Observation) -> list[tuple[str, int]]:
    runs = PastRuns()
    placed = [runs.place(pod) for pod in pods]
    return [(each.run, each.attempt) for each in placed]


def test_a_kill_and_its_retry_are_one_run_and_what_comes_after_is_another() -> None:
    kill = a_pod("u1", outcome=Outcome.OOM_KILLED)
    assert names(kill, a_pod("u2"), a_pod("u3")) == [
        ("job:nightly#u1", 1),
        ("job:nightly#u1", 2),
        ("job:nightly#u3", 1),
    ]


@pytest.mark.parametrize("key", [JOB, "kubeflow:bert:worker:0", "argo:nightly:", "ray:ml:cpu"])
def test_imports_of_two_days_have_different_runs_of_an_owners_name(key: str) -> None:
    monday, tuesday = (
        names(a_pod("u1", key), a_pod("u2", key)),
        names(a_pod("u3", key), a_pod("u4", key)),
    )
    assert len({run for run, _ in (*monday, *tuesday)}) == 4


def test_a_run_that_its_engine_names_keeps_its_name_until_it_is_done_again() -> None:
    failed = a_pod("u1", AIRFLOW, Outcome.FAILED)
    again = a_pod("u3/1", AIRFLOW)
    assert names(failed, a_pod("u2", AIRFLOW), again) == [
        (AIRFLOW, 1),
        (AIRFLOW, 2),
        (f"{AIRFLOW}#u3", 1),
    ]


@pytest.mark.parametrize("key", [JOB, AIRFLOW])
def test_a_long_name_stays_within_the_bound(key: str) -> None:
    long = key + "x" * 170
    found = names(a_pod("u1" * 18, long), a_pod("u2" * 18, long))
    assert len(set(found)) == 2
    assert all(len(run) <= 200 for run, _ in found)
