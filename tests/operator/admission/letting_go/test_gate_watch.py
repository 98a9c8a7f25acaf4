"""A replica of admission releases pods while nobody leads, and holds none it could not release."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.admission.letting_go import api_calls, gate_watch
from plimsoll_operator.admission.letting_go.api_calls import LET_GO_WITHIN_S, cluster_url
from plimsoll_operator.admission.letting_go.gate_watch import (
    BELIEVED_S,
    LIST_AT_LEAST_EVERY_S,
    LIST_EVERY_S,
    MOST_TRIED,
    PERMITTED_FOR_S,
)
from plimsoll_operator.admission.letting_go.kinds import JOBS, Kind
from plimsoll_operator.kube.errors import ApiError, Refused, Unreachable
from plimsoll_operator.names import labels
from plimsoll_operator.ordering.leader_sight import AWAY_S, LEADS_S
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from plimsoll_operator.ordering.why import Why
from tests.builders.kubernetes.gate_servers import a_job
from tests.builders.pods import APod, a_pod
from tests.rigs.gate_watching import CREATED_S, Watching, a_watch

OURS, OTHERS = {"name": labels.ORDER_GATE}, {"name": "example.com/mine"}


def held(name: str, *others: dict[str, str]) -> APod:
    return a_pod().named(name, f"uid-{name}").with_spec(schedulingGates=[*others, OURS])


@pytest_asyncio.fixture
async def watching(tmp_path: Path) -> AsyncIterator[Watching]:
    async with a_watch(tmp_path) as made:
        yield made


async def test_while_somebody_leads_pods_wait(watching: Watching) -> None:
    watching.server.has(held("waits"))
    for _ in range(20):
        await watching.after(5.0, renewed=True)
        assert watching.watch.watched("shop")
    assert watching.server.held == {"waits"}


async def test_when_nobody_leads_all_are_let_go_and_nothing_else_changes(
    watching: Watching,
) -> None:
    watching.server.has(held("waits", OTHERS))
    watching.server.has(a_pod().named("others", "u2").with_spec(schedulingGates=[OTHERS]))
    await watching.after(0.0)
    await watching.after(LEADS_S)
    assert not watching.watch.watched("shop")
    assert watching.server.held == {"waits"}
    await watching.after(AWAY_S - LEADS_S)
    assert watching.server.held == set()
    assert watching.server.patched == ["waits"]
    assert watching.server.pods["waits"]["spec"]["schedulingGates"] == [OTHERS]
    assert watching.counted == {Why.AWAY: 1}


@pytest.mark.parametrize("lease", [pytest.param(None, id="none"), pytest.param("", id="free")])
async def test_a_lease_that_nobody_holds_lets_all_go(watching: Watching, lease: str | None) -> None:
    watching.server.has(held("waits"))
    if lease is None:
        watching.server.lease = None
    else:
        watching.server.renew(lease)
    await watching.after(0.0)
    assert not watching.watch.watched("shop")
    await watching.after(AWAY_S)
    assert watching.server.held == set()


async def test_who_waited_for_too_long_is_let_go_whoever_leads(watching: Watching) -> None:
    watching.server.has(held("long"))
    await watching.after(0.0)
    watching.server.now_s = CREATED_S + MOST_WAIT_S
    watching.server.has(held("short"), created="2026-11-23T12:05:00Z")
    await watching.after(LIST_EVERY_S, renewed=True)
    assert watching.server.held == {"short"}
    assert watching.counted == {Why.WAITED: 1}


@pytest.mark.slow
async def test_many_are_let_go_over_pages_of_the_list(watching: Watching) -> None:
    for number in range(60):
        watching.server.has(held(f"waits-{number}"))
    await watching.after(0.0)
    await watching.after(AWAY_S)
    assert watching.server.held == set()
    assert len(watching.server.patched) == 60


async def test_a_replica_that_may_not_patch_holds_nobody(watching: Watching) -> None:
    watching.server.permitted = False
    with pytest.raises(Refused, match="lacks the verb patch"):
        await watching.after(0.0)
    assert not watching.watch.watched("shop")
    watching.server.permitted = True
    await watching.after(5.0, renewed=True)
    assert watching.watch.watched("shop")


@pytest.mark.slow
async def test_a_namespace_whose_webhook_hangs_keeps_no_others_waiting(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_watch, "PAGE_WITHIN_S", 0.5)
    watching.server.delayed_s["lab"] = 60.0
    for number in range(30):
        watching.server.has(held(f"lab-{number}").in_namespace("lab"))
    watching.server.has(held("waits"))
    await watching.after(0.0, renewed=True)
    watching.server.has(held("second"))
    for name in ("waits", "second"):
        # A look that waited for the calls would take LET_GO_WITHIN_S.
        async with asyncio.timeout(LET_GO_WITHIN_S - 5.0):
            await watching.after(AWAY_S)
            while name in watching.server.held:
                await asyncio.sleep(0.02)
    assert len(watching.server.held) == 30
    watching.watch._work.stop()


@pytest.mark.slow
async def test_where_a_webhook_is_slow_none_is_held_and_those_that_wait_are_let_go(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_calls, "ANSWER_WITHIN_S", 0.2)
    monkeypatch.setattr(gate_watch, "PAGE_WITHIN_S", 10.0)
    watching.server.delayed_s["shop"] = 0.5
    watching.server.has(held("waits"))
    await watching.after(0.0, renewed=True)
    assert not watching.watch.watched("shop")
    await watching.after(AWAY_S)
    assert watching.server.held == set()


async def test_a_rule_that_keeps_gates_in_their_place_ends_the_making_of_gates(
    watching: Watching,
) -> None:
    watching.server.has(held("waits"))
    await watching.after(0.0)
    assert watching.watch.watched("shop")
    assert watching.server.patched == []  # it only asked
    watching.server.gates_refused = True
    await watching.after(LIST_EVERY_S, renewed=True)
    assert not watching.watch.watched("shop")
    watching.server.gates_refused = False
    await watching.after(LIST_EVERY_S, renewed=True)
    assert watching.watch.watched("shop")
    assert watching.server.held == {"waits"}


async def test_one_pod_that_cannot_be_tried_keeps_nobody_overdue_waiting(
    watching: Watching,
) -> None:
    watching.server.failing.add("lab")
    watching.server.has(held("tried").in_namespace("lab"), "2099-01-01T00:00:00Z")
    await watching.after(0.0)
    assert not watching.watch.watched("lab")
    watching.server.has(held("overdue"))
    watching.server.now_s = CREATED_S + MOST_WAIT_S
    await watching.after(LIST_EVERY_S, renewed=True)
    assert watching.server.held == {"tried"}


@pytest.mark.parametrize("trouble", ["keeping", "failing"])
async def test_a_namespace_in_which_gates_stay_ends_the_making_of_gates_only_there(
    watching: Watching, trouble: str
) -> None:
    getattr(watching.server, trouble).add("lab")
    watching.server.has(held("kept").in_namespace("lab"))
    watching.server.has(held("waits"))
    await watching.after(0.0)
    assert (watching.watch.watched("lab"), watching.watch.watched("shop")) == (False, True)
    watching.server.now_s = CREATED_S + MOST_WAIT_S
    await watching.after(LIST_EVERY_S, renewed=True)
    assert watching.server.held == {"kept"}
    assert (watching.watch.watched("lab"), watching.watch.watched("shop")) == (False, True)
    getattr(watching.server, trouble).clear()
    await watching.after(LIST_EVERY_S, renewed=True)
    assert watching.server.held == set()
    assert watching.watch.watched("lab")


@pytest.mark.slow
async def test_of_many_namespaces_each_is_tried_in_time_and_few_at_once(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    letting_go, tried = watching.watch.calls.let_go, Counter[float]()

    async def counted(kind: Kind, obj: Any, *, dry_run: bool = False) -> None:
        tried[watching.now_s] += dry_run
        await letting_go(kind, obj, dry_run=dry_run)

    monkeypatch.setattr(watching.watch.calls, "let_go", counted)
    names = [f"lab{number}" for number in range(3 * MOST_TRIED)]
    watching.server.keeping.update(names)
    for name in names:
        watching.server.has(held(name).in_namespace(name))
    for _ in range(3):
        await watching.after(LIST_EVERY_S, renewed=True)
    assert not any(watching.watch.watched(name) for name in names)
    assert max(tried.values()) == MOST_TRIED


async def test_a_try_that_takes_long_does_not_make_lists_seldom(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slowly(_kind: Kind, _obj: Any, *, dry_run: bool) -> None:
        watching.now_s += 5.0 * dry_run

    monkeypatch.setattr(watching.watch.calls, "let_go", slowly)
    watching.server.has(held("waits"))
    await watching.after(0.0, renewed=True)
    listed = len(watching.server.listed)
    await watching.after(LIST_EVERY_S, renewed=True)
    assert len(watching.server.listed) == listed + 1


async def test_who_comes_too_late_may_hold_pods_again(watching: Watching) -> None:
    watching.server.has(held("waits"))
    watching.server.lease = None
    await watching.after(0.0)
    watching.server.gates_refused = True
    await watching.after(AWAY_S)
    watching.server.gates_refused = False
    watching.server.pods.clear()  # somebody else released it, and it ran
    await watching.after(LIST_EVERY_S, renewed=True)
    assert watching.watch.watched("shop")


async def test_rights_that_were_taken_away_are_noticed(watching: Watching) -> None:
    await watching.after(0.0)
    assert watching.watch.watched("shop")
    watching.server.permitted = False
    with pytest.raises(Refused, match="lacks the verb patch"):
        await watching.after(PERMITTED_FOR_S, renewed=True)
    assert not watching.watch.watched("shop")


async def test_without_an_api_server_nobody_is_held_and_the_lease_grows_old(
    watching: Watching,
) -> None:
    watching.server.has(held("waits"))
    await watching.after(0.0)
    watching.server.broken = 503
    with pytest.raises(Unreachable):
        await watching.after(AWAY_S)
    assert not watching.watch.watched("shop")
    watching.server.broken = None
    await watching.after(1.0)
    assert watching.server.held == set()


async def test_what_was_listed_long_ago_is_believed_no_more(watching: Watching) -> None:
    await watching.after(0.0)
    watching.server.broken = 500
    with pytest.raises(ApiError):
        await watching.after(LIST_EVERY_S + BELIEVED_S + 1.0, renewed=True)
    assert not watching.watch.watched("shop")


@pytest.mark.parametrize(
    ("took_s", "due_s"), [(0.0, LIST_EVERY_S), (2.0, 100.0), (60.0, LIST_AT_LEAST_EVERY_S)]
)
async def test_the_longer_a_list_takes_the_more_seldom_it_is_asked_for(
    watching: Watching, monkeypatch: pytest.MonkeyPatch, took_s: float, due_s: float
) -> None:
    listing, lists = watching.watch.calls.that_may_wait, [0]

    async def slowly(kind: Kind) -> AsyncIterator[Any]:
        lists[0] += 1
        watching.now_s += took_s
        async for page in listing(kind):
            yield page

    monkeypatch.setattr(watching.watch.calls, "that_may_wait", slowly)
    await watching.after(0.0)
    began_s = watching.now_s - took_s
    await watching.after(began_s + due_s - 1.0 - watching.now_s, renewed=True)
    assert lists[0] == 1
    assert watching.watch.watched("shop"), "a seldom list is believed as long"
    await watching.after(1.0, renewed=True)
    assert lists[0] == 2


def a_held_job(name: str, **changed: Any) -> dict[str, Any]:
    return a_job(name, labels={labels.WAITS: "true"}, **{"suspend": True, **changed})


@pytest_asyncio.fixture
async def of_jobs(watching: Watching) -> Watching:
    """The same for Jobs."""
    watching.watch.kind = JOBS
    return watching


async def test_suspended_jobs_are_resumed_when_nobody_leads_and_no_others(
    of_jobs: Watching,
) -> None:
    server = of_jobs.server
    queued = {labels.WAITS: "true", "kueue.x-k8s.io/queue-name": "team"}
    for job in (
        a_held_job("waits"),
        a_job("authors", suspend=True),
        a_job("kueues", labels=queued, suspend=True),
    ):
        server.has_job(job)
    server.has(held("pod"))  # the watch of pods handles this
    await of_jobs.after(0.0)
    assert of_jobs.watch.watched("shop")
    assert server.patched == []  # it only asked
    await of_jobs.after(AWAY_S)
    assert server.suspended == {"authors", "kueues"}
    assert server.patched == ["waits"]
    assert labels.WAITS not in server.jobs["waits"]["metadata"]["labels"]
    assert server.held == {"pod"}
    assert of_jobs.counted == {Why.AWAY: 1}


async def test_a_job_that_waited_for_too_long_is_resumed_whoever_leads(of_jobs: Watching) -> None:
    of_jobs.server.has_job(a_held_job("long"))
    await of_jobs.after(0.0)
    of_jobs.server.now_s = CREATED_S + MOST_WAIT_S
    of_jobs.server.has_job(a_held_job("short"), created="2026-11-23T12:05:00Z")
    await of_jobs.after(LIST_EVERY_S, renewed=True)
    assert of_jobs.server.suspended == {"short"}


async def test_a_job_that_changed_since_it_was_listed_is_resumed_at_the_next_look(
    of_jobs: Watching,
) -> None:
    of_jobs.server.has_job(a_held_job("waits"))
    await of_jobs.after(0.0)
    of_jobs.server.meddle = 1
    await of_jobs.after(AWAY_S)
    assert of_jobs.server.suspended == {"waits"}
    await of_jobs.after(1.0)
    assert of_jobs.server.suspended == set()


async def test_who_was_second_takes_no_rule_for_what_keeps_a_gate(of_jobs: Watching) -> None:
    of_jobs.server.has_job(a_held_job("waits"))
    await of_jobs.after(0.0)
    of_jobs.server.meddle = 1
    await of_jobs.after(AWAY_S)
    assert of_jobs.server.suspended == {"waits"}, "the patch did not fit"
    await of_jobs.after(1.0, renewed=True)
    assert of_jobs.watch.watched("shop")


async def test_a_patch_that_never_fits_is_refused_by_a_rule(of_jobs: Watching) -> None:
    of_jobs.server.has_job(a_held_job("waits"))
    of_jobs.server.meddle = 9
    watched = []
    for _ in range(2):
        await of_jobs.after(LIST_EVERY_S, renewed=True)
        watched.append(of_jobs.watch.watched("shop"))
    assert watched == [True, False]


async def test_a_replica_that_may_not_patch_jobs_suspends_none_and_holds_pods_all_the_same(
    watching: Watching,
) -> None:
    watching.server.forbidden.add("jobs")
    await watching.after(0.0)
    assert watching.watch.watched("shop")
    watching.watch.kind = JOBS
    with pytest.raises(Refused):
        await watching.after(PERMITTED_FOR_S, renewed=True)
    assert not watching.watch.watched("shop")


async def test_a_token_that_cannot_be_read_is_a_call_that_failed(
    watching: Watching, tmp_path: Path
) -> None:
    (tmp_path / "token").unlink()
    with pytest.raises(Unreachable):
        await watching.after(0.0)


def test_the_api_server_is_where_kubernetes_says() -> None:
    told = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert cluster_url(told) == "https://[fd00::1]:443"
    assert cluster_url({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}) is None
