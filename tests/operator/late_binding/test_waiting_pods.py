"""The index of pods that wait, their order, and the pace."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.late_binding.backlog import Backlog, Rate, Turn
from plimsoll_operator.late_binding.resizing import Resize, resize_for
from plimsoll_operator.late_binding.waiting_pods import WaitingPods
from plimsoll_predictor.core.task import TaskId
from tests.builders.kubernetes.waiting_pods import GATED, KNOWN, PASSED_OVER, WAITING
from tests.builders.pods import APod, a_pod

TRAIN = TaskId("shop", "train")


def a_waiting(number: int) -> APod:
    return WAITING.named(f"train-{number}", uid=f"uid-{number}")


def test_a_pod_is_in_the_index_while_it_waits() -> None:
    waiting = WaitingPods()
    assert waiting.see(a_waiting(1).built())
    assert (len(waiting), waiting.of_task(TRAIN)) == (1, ["uid-1"])
    assert not waiting.see(a_waiting(1).with_spec(nodeName="node-1").built())
    assert (len(waiting), waiting.has(TRAIN), waiting.held_bytes) == (0, False, 0)


@pytest.mark.parametrize("gone", [True, False])
def test_a_pod_that_is_deleted_or_not_ours_is_not_in_it(gone: bool) -> None:
    waiting = WaitingPods()
    pod = a_waiting(1) if gone else a_waiting(1).unlabelled()
    assert not waiting.see(pod.built(), gone=gone)
    assert len(waiting) == 0


def test_only_what_is_new_is_worth_deciding() -> None:
    waiting = WaitingPods()
    assert waiting.see(a_waiting(1).built())
    assert not waiting.see(a_waiting(1).annotated({"a": "b"}).built())
    passed_over = a_waiting(1).with_status(**PASSED_OVER)
    assert waiting.see(passed_over.built())
    assert not waiting.see(passed_over.built())


def test_what_is_kept_of_a_pod_is_decided_like_the_pod() -> None:
    waiting = WaitingPods()
    pod = (
        a_waiting(1)
        .annotated({"kubectl.kubernetes.io/last-applied-configuration": "x" * 5000})
        .knowing(rows=3)
        .with_environment({"ROWS": "3"})
        .with_spec(**GATED, volumes=[{"name": "data"}], tolerations=[{"key": "a"}])
    )
    body = pod.built()
    body["metadata"]["managedFields"] = [{"manager": "x" * 5000}]
    waiting.see(body)
    kept = waiting.get("uid-1")
    assert kept is not None
    assert resize_for(kept, KNOWN) == resize_for(body, KNOWN)
    assert waiting.held_bytes < 1500


def test_the_index_is_bounded_and_takes_pods_again_when_there_is_room() -> None:
    waiting = WaitingPods(max_bytes=1000)
    for number in range(20):
        waiting.see(a_waiting(number).built())
    assert waiting.held_bytes <= 1000
    assert waiting.turned_away == 20 - len(waiting) > 0
    waiting.see(a_waiting(0).built(), gone=True)
    assert waiting.see(a_waiting(19).built())


def turn(pod: APod) -> Turn:
    found = resize_for(pod.built(), KNOWN)
    assert isinstance(found, Resize)
    return Turn.of(pod.built(), found)


def created(pod: APod, at: str, priority: int = 0) -> APod:
    body: dict[str, Any] = pod.with_spec(priority=priority).built()
    body["metadata"]["creationTimestamp"] = at
    return APod(body)


def test_raises_come_first_then_who_frees_most_then_who_the_scheduler_takes_next() -> None:
    noon, one = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"
    pods = {
        "grows": a_pod().asking("100Mi").limited("100Mi").with_spec(**GATED),
        "frees most": a_pod().asking("64Gi").limited("64Gi"),
        "urgent": created(WAITING, one, priority=10),
        "waited longest": created(WAITING, noon),
        "came last": created(WAITING, one),
    }
    backlog = Backlog()
    for name in reversed(pods):
        backlog.put(name, turn(pods[name]))
    assert [backlog.pop() for _ in pods] == list(pods)
    assert backlog.pop() is None


@pytest.mark.slow
def test_a_pod_stands_in_the_backlog_once_at_its_newest_turn() -> None:
    backlog = Backlog()
    small, large = a_pod().asking("8Gi").limited("8Gi"), a_pod().asking("64Gi").limited("64Gi")
    for _ in range(3000):
        backlog.put("a", turn(small))
        backlog.put("a", turn(large))
    backlog.put("b", turn(small))
    assert len(backlog) == 2
    assert [backlog.pop(), backlog.pop(), backlog.pop()] == ["a", "b", None]


def test_a_dropped_pod_is_not_resized() -> None:
    backlog = Backlog()
    backlog.put("a", turn(WAITING))
    backlog.drop("a")
    assert (len(backlog), backlog.pop()) == (0, None)


def test_the_rate_is_kept_over_any_second_but_a_burst_of_one() -> None:
    rate, now_s, taken_s = Rate(per_s=10.0), 100.0, []
    for _ in range(50):
        now_s += rate.wait_s(now_s)
        taken_s.append(now_s)
    assert sum(at_s <= 100.0 for at_s in taken_s) == 10
    assert now_s - 100.0 == pytest.approx(4.0)


def test_a_namespace_whose_pods_fill_the_index_takes_no_room_from_others() -> None:
    waiting = WaitingPods(max_bytes=20_000)
    flood = WAITING.in_namespace("evil").annotated({"notes": "x" * 4000})
    for number in range(50):
        waiting.see(flood.named(f"evil-{number}", uid=f"evil-{number}").built())
    for number in range(5):
        assert waiting.see(a_waiting(number).built())
    assert len(waiting.of_task(TRAIN)) == 5
    assert waiting.held_bytes <= 20_000
    # The namespace that has most is turned away, and keeps what it has.
    held = waiting.of_task(TaskId("evil", "train"))
    assert not waiting.see(flood.named("evil-99", uid="evil-99").built())
    assert waiting.of_task(TaskId("evil", "train")) == held != []
    assert waiting.turned_away > 40
