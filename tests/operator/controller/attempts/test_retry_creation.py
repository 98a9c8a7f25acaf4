"""A retry follows a killed pod that still exists, once, whatever happened to the store."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.attempts.retry_pod import planned_manifest
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts import retry_creation
from plimsoll_operator.controller.attempts.retry_creation import RETRY_WITHIN_S, Ending, RetryMaker
from plimsoll_operator.names import labels
from plimsoll_operator.wording import event_words
from plimsoll_operator.wording.event_words import EventReason
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import RetryIntent
from tests.builders.controller.ledgers import NOW_S, a_train, an_inside, decided, killed
from tests.builders.controller.retried_pods import closed, deleting
from tests.builders.kubernetes.pod_servers import a_pod_server
from tests.builders.pods import APod


def the_killed() -> APod:
    return killed(decided(a_train()))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Reason, pod and note of all that is told of retries, by whichever controller."""
    heard: list[tuple[str, str, str]] = []

    def tell(
        _: Announcer, happening: event_words.Happening, pod: event_words.Regarding, *_a: object
    ) -> None:
        if happening.reason in (EventReason.RETRIED, EventReason.NOT_RETRIED):
            heard.append((happening.reason.value, pod.uid, happening.note))

    monkeypatch.setattr(Announcer, "tell", tell)
    return heard


Told = list[tuple[str, str, str]]


@pytest.mark.slow
@pytest.mark.parametrize("meddle", [0, 2])
async def test_a_retry_is_made_and_its_name_is_written_on_the_killed_pod(
    tmp_path: Path, meddle: int
) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.meddle = meddle
        first = server.has(the_killed())
        await inside.see(the_killed())
        await closed(inside, created=1)
        (retry,) = server.created
        assert first["metadata"]["annotations"][labels.RETRIED_AS] == retry
        assert labels.RETRIED_AS not in server.pods[retry]["metadata"]["annotations"]


@pytest.mark.slow
async def test_a_mark_that_others_always_prevent_does_not_hold_up_the_retry(
    tmp_path: Path,
) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.meddle = 100
        server.has(the_killed())
        await inside.see(the_killed())
        await closed(inside, created=1)


@pytest.mark.slow
async def test_a_mistake_of_ours_does_not_end_a_retry_before_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, tried = RetryMaker.make, []

    async def fails_once(maker: RetryMaker, intent: RetryIntent) -> Ending | None:
        tried.append(intent.pod)
        if len(tried) == 1:
            raise KeyError("metadata")
        return await make(maker, intent)

    monkeypatch.setattr(RetryMaker, "make", fails_once)
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(the_killed())
        await inside.see(the_killed())
        await closed(inside, created=1)
        assert len(tried) == 2
        assert len(server.created) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "now_there",
    [
        pytest.param(lambda: None, id="it is gone"),
        pytest.param(lambda: the_killed().named("train-1", uid="another"), id="another pod"),
        pytest.param(lambda: deleting(the_killed()), id="somebody deletes it"),
    ],
)
async def test_no_retry_follows_a_pod_that_is_not_there_any_more(
    tmp_path: Path, now_there: Callable[[], APod | None]
) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        pod = now_there()
        if pod is not None:
            server.has(pod)
        await inside.see(the_killed())
        await closed(inside, gone=1)
        assert server.calls == []


async def test_a_killed_pod_that_is_being_deleted_is_not_even_planned_for(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(deleting(the_killed()))
        await inside.see(deleting(the_killed()))
        await closed(inside)
        assert server.calls == []


@pytest.mark.slow
async def test_what_was_intended_before_a_crash_is_made_after_it(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(the_killed())
        assert len(inside.store.retries.waiting()) == 1
    async with a_pod_server() as server:
        server.has(the_killed())
        async with an_inside(tmp_path, host=server.url) as inside:
            await closed(inside, created=1)
        async with an_inside(tmp_path, host=server.url) as inside:
            await inside.see(the_killed())
            await closed(inside)
        assert len(server.created) == 1


@pytest.mark.slow
async def test_a_crash_between_creating_and_closing_makes_no_second_retry(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(the_killed())
        (intent,) = inside.store.retries.waiting()
    async with a_pod_server() as server:
        first = server.has(the_killed())
        server.pods[intent.new_pod] = planned_manifest(json.loads(intent.manifest), first)
        async with an_inside(tmp_path, host=server.url) as inside:
            await closed(inside, there_already=1)
        assert server.created == []
        assert first["metadata"]["annotations"][labels.RETRIED_AS] == intent.new_pod


def copied(store: Path, to: Path) -> Path:
    shutil.copytree(store, to)
    return to


@pytest.mark.slow
@pytest.mark.parametrize("backup", ["from before the kill", "with the intent open"])
async def test_a_restored_store_repeats_no_retry_that_was_made_and_tidied_away(
    tmp_path: Path, backup: str
) -> None:
    now, then = tmp_path / "now", tmp_path / "then"
    now.mkdir()
    async with an_inside(now) as inside:
        if backup == "with the intent open":
            await inside.see(the_killed())
    copied(now, then)
    async with a_pod_server() as server:
        server.has(the_killed())
        async with an_inside(now, host=server.url) as inside:
            await inside.see(the_killed())
            await closed(inside, created=1)
        (retry,) = server.created
        del server.pods[retry]
        async with an_inside(then, host=server.url) as inside:
            await inside.see(APod(server.pods["train-1"]))
            await closed(inside, there_already=1)
        assert server.created == [retry]


@pytest.mark.slow
@pytest.mark.parametrize(("late_s", "result"), [(-60.0, "created"), (60.0, "expired")])
async def test_an_intent_that_waited_too_long_is_closed_at_a_start(
    tmp_path: Path, late_s: float, result: str
) -> None:
    manifest: dict[str, Any] = a_train("train-1-a2").built()
    planned_s = NOW_S - RETRY_WITHIN_S - late_s
    async with a_pod_server() as server:
        server.has(the_killed())
        async with an_inside(tmp_path) as inside:
            intent = RetryIntent(
                attempt_uid="uid-train-1",
                namespace="shop",
                pod="train-1",
                new_pod="train-1-a2",
                manifest=json.dumps(manifest),
                planned_s=planned_s,
            )
            inside.store.retries.plan(intent)
        async with an_inside(tmp_path, host=server.url) as inside:
            await closed(inside, **{result: 1})
            assert not inside.store.retries.plan(intent), "never again, however it ended"
        assert bool(server.created) is (result == "created")


async def test_a_retry_that_is_refused_is_not_told_as_made_and_its_end_is(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.refuses = "the pod violates PodSecurity"
        server.has(the_killed())
        await inside.see(the_killed())
        (intent,) = inside.store.retries.waiting()
        await asyncio.sleep(0.1)
        assert told == [], "nothing is made yet"
        monkeypatch.setattr(retry_creation, "GIVE_UP_AFTER_S", 0.0)
        await closed(inside, given_up=1)
    ((reason, pod, words),) = told
    assert (reason, pod) == ("NotRetried", "uid-train-1")
    assert words == (
        f"attempt 2 of this run (pod {intent.new_pod}) was given up:"
        " the pod violates PodSecurity; remove the cause, then run the pod again yourself"
    )


async def test_a_retry_is_told_of_when_its_pod_is_there_also_by_the_next_controller(
    tmp_path: Path, told: Told
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(the_killed())
        (intent,) = inside.store.retries.waiting()
    assert told == [], "the API server was away"
    async with a_pod_server() as server:
        server.has(the_killed())
        async with an_inside(tmp_path, host=server.url) as inside:
            await closed(inside, created=1)
    words = f"attempt 2 is pod {intent.new_pod} with 256Mi"
    assert told == [("Retried", "uid-train-1", words)]


async def test_a_retry_whose_pod_a_crashed_controller_made_is_told_of(
    tmp_path: Path, told: Told
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(the_killed())
        (intent,) = inside.store.retries.waiting()
    async with a_pod_server() as server:
        server.has(the_killed().annotated({labels.RETRIED_AS: intent.new_pod}))
        async with an_inside(tmp_path, host=server.url) as inside:
            await closed(inside, there_already=1)
    assert [reason for reason, _, _ in told] == ["Retried"]


async def test_a_retry_that_a_pause_sized_as_written_is_told_so(tmp_path: Path, told: Told) -> None:
    lowered = killed(decided(a_train(), was_bytes=4 * GIB))
    async with an_inside(tmp_path) as inside:
        await inside.see(lowered)
        (intent,) = inside.store.retries.waiting()
    async with a_pod_server() as server:
        server.has(lowered)
        async with an_inside(tmp_path, host=server.url, said={"paused": True}) as inside:
            await closed(inside, created=1)
    assert [words for _, _, words in told] == [
        f"attempt 2 is pod {intent.new_pod} with what was written"
    ]


async def test_a_retry_that_waited_for_a_day_is_told_as_not_made(
    tmp_path: Path, told: Told
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(the_killed())
        (intent,) = inside.store.retries.waiting()
        inside.store.retries.close(intent.attempt_uid, "to plan it again, earlier")
        early = replace(intent, attempt_uid="uid-train-1/2", planned_s=NOW_S - RETRY_WITHIN_S - 60)
        inside.store.retries.plan(early)
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        await closed(inside, expired=1)
    ((reason, _, words),) = told
    assert reason == "NotRetried"
    assert "was not made within a day: a quota was full, its task was paused, or" in words


@pytest.mark.slow
async def test_a_copy_of_an_auto_named_pod_stays_in_its_task(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        pod = killed(decided(a_train("train-x7k2p").labelled("auto")))
        server.has(pod)
        await inside.see(pod)
        await closed(inside, created=1)
        retry = APod(server.pods[server.created[0]])
        await inside.see(APod(server.has(killed(retry))))
        await closed(inside, created=2)
        assert [str(task) for task in inside.store.totals.tasks()] == ["shop/train"]


@pytest.mark.slow
async def test_polled_pods_are_lifted_and_never_copied(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        pod = the_killed().labelled(**{"jenkins/label": "agent"})
        server.has(pod)
        await inside.see(pod)
        assert len(inside.known.lifts) == 1
        assert inside.store.retries.waiting() == []
        assert server.calls == []
