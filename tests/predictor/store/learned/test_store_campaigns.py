"""Campaigns in the store: registered once, kept run by run, read together with observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import CampaignRecord, Store
from plimsoll_predictor.store.database.schema import campaign_runs
from plimsoll_predictor.store.learned.campaigns import KEPT_S
from tests.builders.older_stores import writing_to
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at

LEARN = CampaignRecord(
    uid="u-1",
    namespace="shop",
    name="learn",
    task=str(TRAIN),
    reference_bytes=4 * MIB,
    duplicates=2,
    began_s=NOON_S,
)
RUNS = [
    CampaignRun(scenario=n, values={"rows": str(n), "region": "é\x00"[:1]}, memory_bytes=n * MIB)
    for n in range(3)
]


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def test_a_campaign_is_registered_once_with_its_scenarios(store: Store) -> None:
    assert store.campaigns.begin(LEARN, RUNS)
    again = replace(LEARN, began_s=NOON_S + 9)
    assert not store.campaigns.begin(again, [replace(RUNS[0], values={"rows": "other"})])
    assert store.campaigns.of_uid("u-1") == LEARN
    assert store.campaigns.runs("u-1") == RUNS
    assert store.campaigns.runs("u-2") == []


def test_runs_are_kept_as_they_are_now(store: Store) -> None:
    store.campaigns.begin(LEARN, RUNS)
    killed = replace(RUNS[1], state=RunState.KILLED, created_s=1.5, ended_s=2.5, note="x" * 2000)
    after = CampaignRun(scenario=1, attempt=2, values=RUNS[1].values, memory_bytes=9, lifts=1)
    store.campaigns.put("u-1", [killed, after])
    store.campaigns.put("u-1", [])
    found = store.campaigns.runs("u-1")
    assert [(run.scenario, run.attempt) for run in found] == [(0, 1), (1, 1), (1, 2), (2, 1)]
    assert (found[1].state, found[1].created_s, found[2]) == (RunState.KILLED, 1.5, after)
    assert len(found[1].note) <= 512


def test_a_campaign_ends_once_and_is_found_by_its_name(store: Store) -> None:
    store.campaigns.begin(LEARN, RUNS)
    store.campaigns.begin(replace(LEARN, uid="u-2", began_s=NOON_S + 1), RUNS)
    assert store.campaigns.end("u-2", "AllRun")
    assert not store.campaigns.end("u-2", "Deleted")
    assert not store.campaigns.end("u-3", "Deleted")
    newest = store.campaigns.named("shop", "learn")
    assert newest is not None
    assert (newest.uid, newest.ending) == ("u-2", "AllRun")
    assert store.campaigns.named("shop", "other") is None
    assert [each.uid for each in store.campaigns.going()] == ["u-1"]


def test_ends_are_those_of_its_runs_the_oldest_first(store: Store) -> None:
    first, second = an_attempt("p-1").in_run("run:c/0"), an_attempt("p-2").in_run("run:c/0")
    killed = first.ending(Outcome.OOM_KILLED).peaking(None).running(NOON_S, NOON_S + 5)
    done = second.peaking(7 * MIB).running(NOON_S + 10, NOON_S + 30)
    others = [an_attempt("p-3").in_run("run:c/9"), an_attempt("p-4").of(JOIN).in_run("run:c/0")]
    store.keep([each.built for each in (done, killed, *others)])
    keys = {"run:c/0": 0, **{f"run:d/{n}": n for n in range(1200)}}
    found = store.campaigns.ends(TRAIN, keys)
    assert list(found) == [0]
    assert [end.outcome for end in found[0]] == [Outcome.OOM_KILLED, Outcome.SUCCEEDED]
    assert (found[0][1].peak_bytes, found[0][1].runtime_s) == (7 * MIB, 20.0)


def test_an_end_whose_cause_a_newer_plimsoll_wrote_is_read_without_it(
    store: Store, store_url: str
) -> None:
    store.keep([replace(an_attempt("a").in_run("run:c/0").built, cause=Cause.JVM)])
    assert [end.cause for end in store.campaigns.ends(TRAIN, {"run:c/0": 0})[0]] == [Cause.JVM]
    with writing_to(store_url) as connection:
        connection.exec_driver_sql("UPDATE observations SET cause = 'cosmic-ray'")
    assert [end.cause for end in store.campaigns.ends(TRAIN, {"run:c/0": 0})[0]] == [None]


def test_an_end_tells_a_program_that_cannot_be_executed_from_a_pod_without_containers(
    store: Store,
) -> None:
    end = replace(an_attempt("a").in_run("run:c/0").built, cause=Cause.NEVER_STARTED)
    store.keep([replace(end, exit_code=128), replace(end, attempt_uid="b", exit_code=None)])
    found = store.campaigns.ends(TRAIN, {"run:c/0": 0})[0]
    assert [each.exit_code for each in found] == [128, None]


def test_a_campaign_that_ended_long_ago_is_forgotten_with_its_runs(store: Store) -> None:
    store.campaigns.begin(LEARN, RUNS)
    store.campaigns.begin(replace(LEARN, uid="u-2"), RUNS)
    store.campaigns.end("u-2", "AllRun")
    ended = store.campaigns.of_uid("u-2")
    assert ended is not None
    assert ended.ended_s is not None
    list(store.prune_steps(ended.ended_s + KEPT_S - 1))
    assert len(store.campaigns.runs("u-2")) == 3
    list(store.prune_steps(ended.ended_s + KEPT_S + 1))
    assert store.campaigns.of_uid("u-2") is None
    assert store.campaigns.runs("u-2") == []
    assert store.campaigns.runs("u-1") == RUNS


def test_the_newest_are_listed_with_how_far_they_are(store: Store) -> None:
    killed = replace(RUNS[0], state=RunState.KILLED)
    again = replace(RUNS[0], attempt=2, state=RunState.LEARNED)
    store.campaigns.begin(LEARN, [killed, again, *RUNS[1:]])
    other = replace(LEARN, uid="u-2", task=str(JOIN), began_s=NOON_S + 1)
    store.campaigns.begin(other, [])
    tallies = store.campaigns.newest(5)
    assert [(each.record.uid, each.scenarios, each.done, each.killed) for each in tallies] == [
        ("u-2", 0, 0, 0),
        ("u-1", 3, 1, 1),
    ]
    assert [each.record.uid for each in store.campaigns.newest(1)] == ["u-2"]
    assert [each.record.uid for each in store.campaigns.newest(5, TRAIN)] == ["u-1"]


def test_recorded_features_are_those_of_real_runs_since_then_each_run_once(store: Store) -> None:
    late = NOON_S + 100
    attempts = (
        an_attempt("p-1").knowing(rows=1.0).running(NOON_S - 50, NOON_S - 9),
        an_attempt("p-2").knowing(rows=2.0).in_run("r-2").running(NOON_S, late),
        an_attempt("p-3").knowing(rows=2.0).in_run("r-2").running(NOON_S, late + 1),
        an_attempt("p-4").knowing(rows=4.0).running(NOON_S, late + 2),
        an_attempt("p-5").knowing(rows=5.0).in_run("run:c/1").running(NOON_S, late),
        an_attempt("p-6").of(JOIN).running(NOON_S, late),
    )
    store.keep([each.built for each in attempts])
    found = store.campaigns.recorded(TRAIN, NOON_S, without="run:c", limit=9)
    assert found == [{"rows": 4.0}, {"rows": 2.0}]
    assert len(store.campaigns.recorded(TRAIN, NOON_S, without="run:c", limit=1)) == 1


def test_a_scenarios_weight_is_kept(store: Store) -> None:
    store.campaigns.begin(LEARN, [replace(RUNS[0], weight=17), *RUNS[1:]])
    assert [run.weight for run in store.campaigns.runs("u-1")] == [17, 1, 1]
    with store.database.write() as connection:
        connection.execute(campaign_runs.update().values(weight=None))
    assert [run.weight for run in store.campaigns.runs("u-1")] == [1, 1, 1], "of an older version"
