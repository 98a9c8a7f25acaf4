"""Pods that were raised and find no node for hours: they get what was written, whatever it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.late_binding.resizing import Left, Resize, resize_for, unapplied
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.pods.autoscalers import by_target, read_autoscaler
from plimsoll_operator.pods.spec import Qos, SizedContainer, qos_of, sized_container
from plimsoll_operator.sizing.cpu_sizing import cpu_asked
from plimsoll_operator.sizing.decision_note import memory_asked, note_to_json, read_note
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import UNBOUNDED_NAMESPACE
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.cpu import CpuAsk
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.kubernetes.autoscalers import a_vpa
from tests.builders.kubernetes.waiting_pods import (
    BEGAN_S,
    LATE_S,
    PASSED_OVER,
    needing,
    waiting,
    with_cpu,
)
from tests.builders.pods import APod, a_pod, memory_of

WRITTEN = Memory(4000 * MIB, 4000 * MIB)
AFTER_EVICTION = Lift(4000 * MIB, 2, 0, as_written=True)
AFTER_KILL = Lift(4100 * MIB, 2, 4000 * MIB)


@pytest.mark.parametrize(
    ("lift", "need_mib"),
    [
        pytest.param(None, 5000, id="raised by much"),
        pytest.param(None, 4100, id="raised by a little"),
        pytest.param(AFTER_EVICTION, 5000, id="after an eviction"),
        pytest.param(AFTER_EVICTION, 4100, id="after an eviction, by a little"),
    ],
)
def test_a_raise_is_given_back(lift: Lift | None, need_mib: int) -> None:
    state = needing(need_mib, lift)
    pod = waiting(state)
    assert isinstance(resize_for(pod.built(), state, LATE_S - 1), Left)
    found = resize_for(pod.built(), state, LATE_S)
    assert isinstance(found, Resize)
    assert (found.memory, found.note.reason) == (WRITTEN, Reason.KEPT)
    again = pod.annotated({DECISION: note_to_json(found.note)}).asking("4000Mi").limited("4000Mi")
    assert isinstance(resize_for(again.built(), state, LATE_S), Left), "for good"


def test_a_raise_is_given_back_that_would_not_be_made_any_more() -> None:
    found = resize_for(waiting(needing(4100)).built(), needing(4000), LATE_S)
    assert isinstance(found, Resize)
    assert found.memory == WRITTEN


@pytest.mark.parametrize("forgotten", [False, True], ids=["known", "forgotten since"])
def test_a_lift_after_a_kill_at_what_was_written_is_no_raise(forgotten: bool) -> None:
    pod = waiting(needing(4100, AFTER_KILL))
    state = needing(4100, None if forgotten else AFTER_KILL)
    assert isinstance(resize_for(pod.built(), state, LATE_S), Left)


@pytest.mark.parametrize(
    ("limit", "lift", "memory"),
    [
        pytest.param(
            "16000Mi",
            Lift(16000 * MIB, 4, 4000 * MIB),
            Memory(4000 * MIB, 16000 * MIB),
            id="to its author's limit",
        ),
        pytest.param(
            "16000Mi",
            Lift(8000 * MIB, 2, 4000 * MIB),
            Memory(4000 * MIB, 16000 * MIB),
            id="to less than that",
        ),
        pytest.param(
            None,
            Lift(8000 * MIB, 4, 4000 * MIB),
            Memory(4000 * MIB, None),
            id="no limit was written",
        ),
        pytest.param(
            None,
            Lift(8000 * MIB, 2, 4000 * MIB),
            Memory(4000 * MIB, 8000 * MIB),
            id="and its own cannot be removed",
        ),
    ],
)
def test_a_lift_after_a_kill_below_what_was_written_is_given_back(
    limit: str | None, lift: Lift, memory: Memory
) -> None:
    """The request that was written may be enough, as the run was not killed at its limit."""
    state = needing(3900, lift)
    pod = waiting(state, limit)
    assert isinstance(resize_for(pod.built(), state, LATE_S - 1), Left)
    found = resize_for(pod.built(), state, LATE_S)
    assert isinstance(found, Resize)
    assert (found.memory, found.note.attempt) == (memory, lift.attempt)
    again = pod.annotated({DECISION: note_to_json(found.note)})
    again = again.asking(memory.request_bytes).limited(memory.limit_bytes)
    assert isinstance(resize_for(again.built(), state, LATE_S), Left), "for good"


def unasked(memory: str | None, attempts: int = 7) -> APod:
    """A pod that requests CPU and no memory, as admission has sized it: its task needs 5000Mi."""
    pod = a_pod().named("train-1").owned_by_job(attempts=attempts).asking(memory).with_cpu("100m")
    built = pod.patched(size(pod.built(), needing(5000)).patch).built()
    built["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    return APod(built).with_status(phase="Pending", **PASSED_OVER)


@pytest.mark.parametrize(
    ("attempts", "limit"),
    [pytest.param(7, 5000 * MIB, id="limited"), pytest.param(1, None, id="without a limit")],
)
@pytest.mark.parametrize("asked", [None, "0"], ids=["no request", "a request of zero"])
def test_a_memory_request_that_nobody_wrote_is_given_back_as_zero(
    asked: str | None, attempts: int, limit: int | None
) -> None:
    """The API server lets no request be removed, and no limit."""
    state = needing(5000)
    pod = unasked(asked, attempts)
    assert memory_of(pod) == ("5000Mi", "5000Mi" if limit else None)
    assert isinstance(resize_for(pod.built(), state, LATE_S - 1), Left)
    found = resize_for(pod.built(), state, LATE_S)
    assert isinstance(found, Resize)
    assert (found.memory, found.freed_bytes) == (Memory(0, limit), 5000 * MIB)
    assert requests_of(found) == {"memory": "0"}
    given = "the request of 0Ki is kept" if asked else "memory request is zero, as none was written"
    assert given in found.note.why
    noted = pod.annotated({DECISION: note_to_json(found.note)})
    done = noted.asking("0").built()
    assert qos_of(done) is Qos.BURSTABLE
    assert isinstance(resize_for(done, state, LATE_S), Left), "for good"
    container = sized_container(done)
    assert isinstance(container, SizedContainer)
    written = Memory(None if asked is None else 0, None)
    assert memory_asked(container, read_note(done)) == written
    bound = unapplied(noted.built())
    assert bound is not None, "a node was found before"
    assert bound.allocation_bytes == 5000 * MIB


def test_a_memory_request_that_nobody_wrote_goes_with_the_reason_for_it() -> None:
    """It is the same with a request that somebody wrote, and takes no hours."""
    known = needing(5000)
    held = replace(known, default_policy=replace(known.default_policy, max_bytes=1000 * MIB))
    tasks = {task: replace(each, policy=held.default_policy) for task, each in known.tasks.items()}
    found = resize_for(unasked(None, attempts=1).built(), replace(held, tasks=tasks), BEGAN_S)
    assert isinstance(found, Resize)
    assert found.memory == Memory(0, None)


def test_a_request_that_alone_makes_the_pod_burstable_stays() -> None:
    """An older version may have given one to a BestEffort pod, whose class is set by now."""
    pod = unasked(None, attempts=1).built()
    del pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    assert resize_for(pod, needing(5000), LATE_S) == Left(
        "the size would change its QoS class, which is set when it is created"
    )


def requests_of(resize: Resize) -> dict[str, str]:
    [container] = resize.body()["spec"]["containers"]
    requests: dict[str, str] = container["resources"]["requests"]
    return requests


@pytest.mark.parametrize(
    ("need_mib", "memory"), [pytest.param(5000, "4000Mi", id="with its memory"),
                             pytest.param(3900, "3900Mi", id="its memory was lowered")]
)  # fmt: skip
def test_so_is_a_raise_of_its_cpu(need_mib: int, memory: str) -> None:
    state = needing(need_mib)
    pod = with_cpu(waiting(state))
    assert isinstance(resize_for(pod.built(), state, LATE_S - 1), Left)
    found = resize_for(pod.built(), state, LATE_S)
    assert isinstance(found, Resize)
    assert requests_of(found) == {"memory": memory, "cpu": "1"}
    assert "no node had room" in found.note.why
    noted = pod.annotated({DECISION: note_to_json(found.note)})
    done = noted.asking(memory).limited(memory).with_cpu("1")
    assert isinstance(resize_for(done.built(), state, LATE_S), Left), "once"
    for each, millicores in ((done, 1000), (with_cpu(pod), 1000)):
        body = each.built()
        container = sized_container(body)
        assert cpu_asked(body, container, read_note(body)) == CpuAsk(millicores, None)  # type: ignore[arg-type]
    assert (unapplied(noted.built()) is None) == (need_mib == 3900)


@pytest.mark.parametrize("was", [None, 0], ids=["no request", "a request of zero"])
def test_a_cpu_request_that_nobody_wrote_is_given_back_as_zero(was: int | None) -> None:
    """The API server lets no request be removed."""
    state = needing(3900)
    pod = with_cpu(waiting(state), was=was)
    assert isinstance(resize_for(pod.built(), state, LATE_S - 1), Left)
    found = resize_for(pod.built(), state, LATE_S)
    assert isinstance(found, Resize)
    assert requests_of(found) == {"memory": "3900Mi", "cpu": "0"}
    given = "zero, as none was written" if was is None else "as written"
    assert f"its CPU request is {given}" in found.note.why
    done = pod.annotated({DECISION: note_to_json(found.note)}).with_cpu("0").built()
    assert isinstance(resize_for(done, state, LATE_S), Left), "once"
    container = sized_container(done)
    assert cpu_asked(done, container, read_note(done)) == CpuAsk(was, None)  # type: ignore[arg-type]


def test_a_cpu_request_that_equals_a_later_limit_stays_where_none_was_written() -> None:
    """Another webhook wrote the limit. Without the request the pod would not be Guaranteed."""
    state = needing(3900)
    pod = with_cpu(waiting(state), was=None).with_cpu("2", "2")
    assert qos_of(pod.built()) is Qos.GUARANTEED
    assert isinstance(resize_for(pod.built(), state, LATE_S), Left)


@pytest.mark.parametrize("asked", ["4000Mi", None], ids=["a request", "no request"])
@pytest.mark.parametrize("by", ["recommend", "a VerticalPodAutoscaler"])
def test_a_raise_of_cpu_is_given_back_also_where_memory_is_left_alone(
    by: str, asked: str | None
) -> None:
    state = needing(5000)
    if by != "recommend":
        vpa = read_autoscaler(a_vpa())
        assert vpa is not None
        space = replace(UNBOUNDED_NAMESPACE, autoscalers=by_target([vpa]))
        state = replace(state, namespaces={"shop": space})
    pod = a_pod().owned_by_job("report-29391234").asking(asked)
    if by == "recommend":
        pod = pod.in_mode("recommend")
    built = pod.patched(size(pod.built(), state).patch).received().built()
    built["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    raised = with_cpu(APod(built).with_status(phase="Pending", **PASSED_OVER))
    assert isinstance(resize_for(raised.built(), state, LATE_S - 1), Left)
    found = resize_for(raised.built(), state, LATE_S)
    assert isinstance(found, Resize)
    assert requests_of(found) == ({"memory": asked} if asked else {}) | {"cpu": "1"}
    before = read_note(raised.built())
    assert before is not None
    assert replace(found.note, why="") == replace(before, why=""), "nothing else is decided anew"
    noted = raised.annotated({DECISION: note_to_json(found.note)})
    assert unapplied(noted.built()) is None
    assert isinstance(resize_for(noted.with_cpu("1").built(), state, LATE_S), Left), "once"
    paused = replace(state, paused=True)
    assert isinstance(resize_for(raised.built(), paused, LATE_S), Left)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(with_cpu(waiting(needing(3900)), was=3000), id="lowered"),
        pytest.param(with_cpu(waiting(needing(3900)), mode=Mode.RECOMMEND), id="recommended"),
        pytest.param(with_cpu(waiting(needing(3900))).with_cpu("3"), id="somebody changed it"),
        pytest.param(
            with_cpu(waiting(needing(3900), schedulingGates=[{"name": "g"}])), id="nobody looked"
        ),
        pytest.param(with_cpu(waiting(needing(3900))).in_mode("off"), id="switched off"),
    ],
)
def test_no_other_cpu_request_is_changed(pod: APod) -> None:
    assert isinstance(resize_for(pod.built(), needing(3900), LATE_S), Left)
