"""Ends whose reason comes later: the present state may hide them, and then what was seen counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.attempts.watched_pod import WatchedPod, read_pod
from plimsoll_operator.controller.attempts import passed_over
from plimsoll_operator.controller.attempts.passed_over import PassedOver
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.controller.ledgers import TRAIN, Inside, a_train, an_inside, decided, ended
from tests.builders.pods import APod

LOWERED = decided(a_train(), was_bytes=256 * MIB).owned_by_job()
FAILED = ("Error", 1)
RESTARTING = LOWERED.restarting("OnFailure")
EVICTION = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
RUNNING = {"running": {"startedAt": "2026-01-01T00:01:02Z"}}
SECOND_END = {
    "terminated": {
        "reason": "Completed",
        "exitCode": 0,
        "startedAt": "2026-01-01T00:01:02Z",
        "finishedAt": "2026-01-01T00:01:03Z",
    }
}


def stopping(pod: APod, end: tuple[str, int]) -> APod:
    return ended(pod, *end, phase="Running")


def deleted(pod: APod) -> APod:
    """Its deletion was asked for in the second in which it ended."""
    built = pod.built()
    built["metadata"].update(
        deletionTimestamp="2026-01-01T00:01:30Z", deletionGracePeriodSeconds=30
    )
    return APod(built)


def restarted(pod: APod, restarts: int, **shown: Any) -> APod:
    built = pod.built()
    [main] = built["status"]["containerStatuses"]
    main.update(restartCount=restarts, **shown)
    return APod(built)


def ends(inside: Inside) -> dict[str, Outcome]:
    return {each.attempt_uid: each.outcome for each in inside.store.observations.of_task(TRAIN)}


@pytest.mark.slow
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (("Completed", 0), None),
        (("Error", 3), Cause.JVM),
        (("Error", 52), Cause.SPARK),
        (FAILED, Cause.OWN_MISTAKE),
    ],
)
async def test_a_deletion_after_an_end_does_not_explain_it(
    tmp_path: Path, end: tuple[str, int], cause: Cause | None, gone: bool
) -> None:
    pod = stopping(LOWERED, end)
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        await inside.see(deleted(pod), gone=gone)
        await inside.see(deleted(pod), gone=True)
        [observation] = inside.store.observations.of_task(TRAIN)
        assert observation.cause is cause
        assert observation.outcome is not Outcome.DELETED
        assert len(inside.known.lifts) == (cause is not None)


@pytest.mark.slow
async def test_a_deletion_after_an_end_takes_no_debt_away_while_the_task_is_off(
    tmp_path: Path,
) -> None:
    pod = stopping(LOWERED, FAILED)
    async with an_inside(tmp_path, Mode.OFF) as inside:
        await inside.see(pod)
        await inside.see(deleted(pod))
        [lift] = inside.known.lifts.values()
        assert lift.as_written


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"conditions": [EVICTION]},
        {"phase": "Failed", "reason": "Evicted"},
    ],
)
async def test_an_eviction_that_is_told_with_the_deletion_explains_the_end(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    pod = stopping(LOWERED, ("Completed", 0))
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        await inside.see(deleted(pod).with_status(**said))
        assert list(ends(inside).values()) == [Outcome.EVICTED]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shown", "later"),
    [
        pytest.param(
            {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": SECOND_END},
            {"uid-train-1/1": Outcome.SUCCEEDED},
            id="waiting after the next end",
        ),
        pytest.param({"state": SECOND_END, "lastState": {}}, {}, id="the next end"),
        pytest.param({"state": RUNNING, "lastState": {}}, {}, id="the next life"),
    ],
)
async def test_an_end_whose_next_states_were_not_seen_is_not_lost(
    tmp_path: Path, shown: dict[str, Any], later: dict[str, Outcome]
) -> None:
    pod = stopping(RESTARTING, FAILED)
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        for _ in range(2):
            await inside.see(restarted(pod, 1, **shown))
        assert ends(inside) == {"uid-train-1": Outcome.FAILED} | later


@pytest.mark.slow
async def test_what_ended_the_pod_ended_only_its_last_life(tmp_path: Path) -> None:
    pod = stopping(RESTARTING, FAILED)
    last = restarted(pod, 1, state=SECOND_END, lastState={})
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        await inside.see(last.with_status(phase="Failed", reason="Evicted"))
        assert ends(inside) == {"uid-train-1": Outcome.FAILED, "uid-train-1/1": Outcome.EVICTED}


def watched(pod: APod) -> WatchedPod:
    read = read_pod(pod.built(), lambda task: Knowledge(task=task, policy=Policy()))
    assert read is not None
    return read


def passed(kept: PassedOver, pod: APod) -> bool:
    seen = watched(pod)
    return kept.passes(pod.built(), seen, seen.status)


def test_an_end_is_kept_until_it_is_judged_or_its_pod_is_gone() -> None:
    kept, pod = PassedOver(), stopping(RESTARTING, FAILED)
    second = restarted(pod, 1, state=SECOND_END)
    assert passed(kept, pod)
    assert passed(kept, second)
    kept.judged(watched(pod).status)
    assert len(kept) == 1, "the second one is not judged yet"
    kept.judged(watched(second).status)
    assert len(kept) == 0
    assert passed(kept, pod)
    kept.gone(watched(pod).status.uid)
    assert len(kept) == 0


def test_only_the_latest_ends_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_over, "MOST", 3)
    kept = PassedOver()
    pods = [stopping(LOWERED.named(f"train-{n}", uid=f"uid-{n}"), FAILED) for n in range(5)]
    assert all(passed(kept, pod) for pod in pods)
    assert len(kept) == 3
    recalled = [kept.recalled(watched(deleted(pod))).status.deletion_s for pod in pods]
    assert [at_s is None for at_s in recalled] == [False, False, True, True, True]
