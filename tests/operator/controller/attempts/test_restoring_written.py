"""A lowered run gets back what was written, whatever people allow Plimsoll by then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.attempts.retry_creation import RetryMaker
from plimsoll_operator.names.labels import RETRIED_AS, RETRY, RUN_OF
from plimsoll_operator.pods.spec import Pod, container_of
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.wording.event_words import Happening
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import (
    NOW_S,
    TRAIN,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
    made,
)
from tests.builders.controller.retried_pods import (
    AS_WRITTEN,
    closed,
    deleting,
    failed,
    lowered,
    retries,
)
from tests.builders.kubernetes.pod_servers import a_pod_server
from tests.builders.pods import APod

Said = dict[str, Any]

STOPS = [
    pytest.param({"paused": True}, id="paused"),
    pytest.param({"mode": "recommend"}, id="recommend"),
    pytest.param({"mode": "off"}, id="off"),
]
"""What people may say in a SizingPolicy after a pod was sized."""
ENDS = [pytest.param(killed, id="killed"), pytest.param(failed, id="failed by itself")]

LOW_ON_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi."
LOW_ON_DISK = "The node was low on resource: ephemeral-storage."


def evicted(pod: APod, message: str = LOW_ON_MEMORY, **how: Any) -> APod:
    """The kubelet ended it. message: its own words."""
    stopped = ended(pod, "Error", 137, **how)
    return stopped.with_status(phase="Failed", reason="Evicted", message=message)


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("end", ENDS)
async def test_a_bare_pod_that_was_lowered_before_is_tried_again_as_written(
    tmp_path: Path, stop: Said, end: Callable[[APod], APod]
) -> None:
    for _ in range(2):
        async with an_inside(tmp_path, said=stop) as inside:
            for _ in range(2):
                await inside.see(end(lowered()))
            [made_again] = retries(inside)
            assert container_of(made_again, 0)["resources"] == AS_WRITTEN
            assert made_again["metadata"]["annotations"][RUN_OF] == "uid-train-1"
            note = read_note(made_again)
            assert note is not None
            assert (note.attempt, note.reason) == (2, Reason.NOT_LOWERED)
            [lift] = inside.known.lifts.values()
            assert lift.as_written


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
async def test_nothing_else_is_tried_again_meanwhile(tmp_path: Path, stop: Said) -> None:
    others = {
        "killed as written": killed(decided(a_train("a"))),
        "failed as written": failed(decided(a_train("b"))),
        "nobody decided on it": killed(a_train("c")),
        "it had more than was written": killed(lowered("d", to_mib=256)),
        "nothing was enforced": killed(lowered("e", mode=Mode.RECOMMEND)),
        "its author forbids it": killed(lowered("f").annotated({RETRY: "never"})),
        "somebody deletes it": deleting(killed(lowered("g"))),
        "it succeeded": ended(lowered("h")),
        "evicted for its node's disk": evicted(lowered("i"), LOW_ON_DISK),
    }
    async with an_inside(tmp_path, said=stop) as inside:
        for words, pod in others.items():
            await inside.see(pod)
            assert retries(inside, pod) == [], words


@pytest.mark.slow
async def test_an_attempt_as_written_is_not_lifted_in_a_pause_after_it_was_given_back(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path, said={"paused": True}) as inside:
        await inside.see(killed(lowered()))
        again = decided(a_train("train-2").annotated({RUN_OF: "uid-train-1"}), attempt=2)
        await inside.see(killed(again))
        assert len(retries(inside)) == 1
        [lift] = inside.known.lifts.values()
        assert lift.as_written


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
async def test_a_jobs_next_pod_is_as_written_also_if_the_pause_ends_before_it_comes(
    tmp_path: Path, stop: Said
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(decided(a_train("train-0"))))
    async with an_inside(tmp_path, said=stop) as inside:
        await inside.see(killed(lowered().owned_by_job()))
        assert retries(inside) == []
    async with an_inside(tmp_path) as inside:
        [lift] = inside.known.lifts.values()
        assert (lift.as_written, lift.attempt) == (True, 2)


@pytest.mark.slow
async def test_a_lift_beyond_what_was_written_outlives_a_pause(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train("train-1")).owned_by_job()))
        [lift] = inside.known.lifts.values()
        assert lift.allocation_bytes > 128 * MIB
        inside.controller.book.policies.set_namespace_spec("shop", {"paused": True})
        await inside.see(killed(lowered("train-2").owned_by_job()))
        assert list(inside.known.lifts.values()) == [lift]


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
async def test_a_jobs_pod_restarted_in_place_is_replaced_only_if_it_was_lowered(
    tmp_path: Path, stop: Said
) -> None:
    for pod, deleted in ((lowered(), ["train-1"]), (decided(a_train()), [])):
        killed_in_place = killed(pod.restarting("OnFailure").owned_by_job(), phase="Running")
        folder = tmp_path / str(len(deleted))
        folder.mkdir()
        async with (
            a_pod_server() as server,
            an_inside(folder, host=server.url, said=stop) as inside,
        ):
            server.has(killed_in_place)
            await inside.see(killed_in_place)
            await inside.replaced()
            assert server.deleted == deleted


FAR_BELOW = killed(lowered(to_mib=32, written=(1024, 1024)))
"""The next attempt gets more than this, and less than was written."""


def memory_in(pod: Pod) -> set[str]:
    resources = container_of(pod, 0)["resources"]
    return {resources["requests"]["memory"], resources["limits"]["memory"]}


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
async def test_what_was_intended_before_is_made_as_written(tmp_path: Path, stop: Said) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(FAR_BELOW)
        [intended] = retries(inside, FAR_BELOW)
        assert memory_in(intended) != {"1Gi"}
    async with a_pod_server() as server:
        server.has(FAR_BELOW)
        async with an_inside(tmp_path, host=server.url, said=stop) as inside:
            await closed(inside, created=1)
        [retry] = server.created
        assert memory_in(server.pods[retry]) == {"1Gi"}
        note = read_note(server.pods[retry])
        assert note is not None
        assert (note.allocation_bytes, note.reason) == (1024 * MIB, Reason.NOT_LOWERED)
        assert server.pods["train-1"]["metadata"]["annotations"][RETRIED_AS] == retry


@pytest.mark.slow
async def test_a_lift_above_what_was_written_waits_for_the_end_of_the_pause(
    tmp_path: Path,
) -> None:
    as_written = killed(decided(a_train()))
    async with an_inside(tmp_path) as inside:
        await inside.see(as_written)
        assert len(retries(inside, as_written)) == 1
    async with a_pod_server() as server:
        server.has(as_written)
        async with an_inside(tmp_path, host=server.url, said={"paused": True}) as inside:
            [intent] = inside.store.retries.waiting()
            maker = RetryMaker(
                kube=inside.controller.retries.kube,
                policies=inside.controller.book.policies,
                now_s=lambda: NOW_S,
            )
            assert await maker.make(intent) is None
        assert server.created == []
        async with an_inside(tmp_path, host=server.url) as inside:
            await closed(inside, created=1)


@pytest.mark.slow
async def test_a_crash_after_the_lift_was_committed_changes_nothing(tmp_path: Path) -> None:
    """The lift from before the pause is below what was written, and no retry was intended."""
    async with an_inside(tmp_path) as inside:
        # Another container still runs, so nothing follows yet.
        await inside.see(FAR_BELOW.with_container("other").with_status(phase="Running"))
        [lift] = inside.known.lifts.values()
        assert not lift.as_written
        assert retries(inside, FAR_BELOW) == []
    async with an_inside(tmp_path, said={"paused": True}) as inside:
        await inside.see(FAR_BELOW)
        [retry] = retries(inside, FAR_BELOW)
        assert memory_in(retry) == {"1Gi"}
        [lift] = inside.known.lifts.values()
        assert lift.as_written


@pytest.mark.slow
@pytest.mark.parametrize("attempt", [1, 3])
@pytest.mark.parametrize("end", [*ENDS, pytest.param(evicted, id="evicted for memory")])
async def test_a_run_is_not_given_up_below_what_was_written(
    tmp_path: Path, end: Callable[[APod], APod], attempt: int
) -> None:
    """People set this after the pod was sized."""
    async with an_inside(tmp_path, said={"maxLifts": 0}) as inside:
        await inside.see(end(lowered(attempt=attempt)))
        [retry] = retries(inside)
        assert container_of(retry, 0)["resources"] == AS_WRITTEN
        again = decided(a_train("train-2").annotated({RUN_OF: "uid-train-1"}), attempt=attempt + 1)
        await inside.see(end(again))
        assert len(retries(inside)) == 1


@pytest.mark.slow
async def test_what_was_killed_a_day_ago_is_not_run_again(tmp_path: Path) -> None:
    for ending in (killed, evicted):
        folder = tmp_path / ending.__name__
        folder.mkdir()
        async with an_inside(folder, said={"paused": True}) as inside:
            await inside.see(ending(lowered(), at="2025-12-30T00:01:00Z"))
            assert retries(inside) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "since", "retried"),
    [
        pytest.param("DisruptionTarget", "2026-01-01T00:00:00Z", 1, id="evicted a minute ago"),
        pytest.param("Ready", "2026-01-01T00:00:00Z", 1, id="not ready since a minute ago"),
        pytest.param("DisruptionTarget", "2025-12-30T00:00:00Z", 0, id="evicted two days ago"),
        pytest.param("Ready", "2025-12-30T18:00:00Z", 0, id="not ready since it was made"),
    ],
)
async def test_a_pod_that_ran_for_long_is_no_history_when_it_is_evicted(
    tmp_path: Path, condition: str, since: str, retried: int
) -> None:
    """The kubelet may have lost the times of its containers."""
    conditions = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-30T18:00:00Z"},
        {"type": condition, "status": "True", "lastTransitionTime": since},
    ]
    pod = evicted(made(lowered(), "2025-12-30T18:00:00Z"), at=None)
    async with an_inside(tmp_path) as inside:
        await inside.see(pod.with_status(conditions=conditions[condition == "Ready" :]))
        assert len(retries(inside)) == retried


@pytest.mark.slow
async def test_a_namespace_that_is_excluded_since_is_left_alone(tmp_path: Path) -> None:
    excluded = frozenset({"shop"})
    async with an_inside(tmp_path, excluded=excluded) as inside:
        await inside.see(killed(lowered()))
        await inside.see(evicted(lowered("train-2")))
        assert inside.store.retries.waiting() == []
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(lowered()))
    async with an_inside(tmp_path, excluded=excluded, said={"paused": True}) as inside:
        await closed(inside, passed_over=1)


@pytest.mark.slow
async def test_a_task_that_is_off_learns_nothing_of_what_it_is_given_back(tmp_path: Path) -> None:
    async with an_inside(tmp_path, said={"mode": "off"}) as inside:
        await inside.see(killed(lowered()))
        assert len(retries(inside)) == 1
        assert inside.store.totals.by_task() == {}
        unknown = lowered("train-2").labelled("other")
        await inside.see(killed(unknown))
        assert [str(task) for task in inside.controller.book] == ["shop/train"]
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(lowered()))
        assert inside.store.totals.of(TRAIN).oom_kills == 1
        assert len(retries(inside)) == 1


@pytest.mark.slow
async def test_people_are_told_what_the_next_attempt_gets(tmp_path: Path) -> None:
    async with an_inside(tmp_path, said={"paused": True}) as inside:
        told: list[str] = []

        def announce(happening: Happening, pod: Pod) -> None:
            assert pod["metadata"]["namespace"] == "shop"
            told.append(happening.note)

        inside.controller.announcer.announce = announce  # type: ignore[method-assign]
        await inside.see(killed(lowered()))
        await inside.see(evicted(lowered("train-2")))
        assert [words for words in told if "attempt 2 of this run" in words] == [
            "killed for lack of memory at 64Mi, less than was written; attempt 2 of this run gets"
            " what was written",
            "ended at 64Mi, less than was written, when its node ran out of memory; attempt 2 of"
            " this run gets what was written",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("said", [{}, {"paused": True}, {"mode": "off"}])
async def test_an_attempt_that_its_node_evicted_for_memory_is_followed_as_written(
    tmp_path: Path, said: Said
) -> None:
    for _ in range(2):
        async with an_inside(tmp_path, said=said) as inside:
            await inside.see(evicted(lowered()))
            [retry] = retries(inside)
            assert container_of(retry, 0)["resources"] == AS_WRITTEN
            [lift] = inside.known.lifts.values()
            assert (lift.as_written, lift.attempt, lift.after_bytes) == (True, 2, 64 * MIB)


@pytest.mark.slow
async def test_no_other_eviction_is_followed_by_what_was_written(tmp_path: Path) -> None:
    others = {
        "it had what was written": evicted(decided(a_train("a"))),
        "for its node's disk": evicted(lowered("b"), LOW_ON_DISK),
        "nobody says why": evicted(lowered("c"), ""),
        "preempted": failed(lowered("d"), 137).with_status(reason="Preempted"),
        "nothing was enforced": evicted(lowered("e", mode=Mode.RECOMMEND)),
        "its author forbids it": evicted(lowered("f").annotated({RETRY: "never"})),
        "somebody deletes it": deleting(evicted(lowered("g"))),
    }
    async with an_inside(tmp_path) as inside:
        for words, pod in others.items():
            await inside.see(pod)
            assert retries(inside, pod) == [], words


@pytest.mark.slow
async def test_a_lower_request_under_the_authors_own_limit_counts_too(tmp_path: Path) -> None:
    """The kubelet looks at the request; the limit may be unchanged."""
    kept_limit = lowered(written=(128, 256)).limited("256Mi")
    async with an_inside(tmp_path, said={"paused": True}) as inside:
        await inside.see(evicted(kept_limit))
        [retry] = retries(inside, kept_limit)
        assert container_of(retry, 0)["resources"] == {
            "requests": {"memory": "128Mi"},
            "limits": {"memory": "256Mi"},
        }


@pytest.mark.slow
async def test_an_evicted_pod_of_a_job_is_left_to_its_job(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        pod = evicted(lowered().restarting("OnFailure").owned_by_job())
        server.has(pod)
        await inside.see(pod)
        assert server.calls == []
        [lift] = inside.known.lifts.values()
        assert lift.as_written


@pytest.mark.slow
async def test_an_eviction_spends_the_error_budget_and_teaches_no_need(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(evicted(lowered()))
        await inside.see(evicted(decided(a_train("train-2"))))
        await inside.controller.standings.fold()
        assert (inside.known.spent.killed, inside.known.max_need_bytes) == (1, None)
        assert inside.known.floor is None
    async with an_inside(tmp_path) as inside:
        await inside.see(evicted(lowered()))
        await inside.controller.standings.fold()
        assert inside.known.spent.killed == 1
