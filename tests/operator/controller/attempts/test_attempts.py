"""Consequences of an attempt's end: counted once, lifted where allowed, retried once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.names.labels import DECISION, MODE, RUN_OF
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.wording.event_words import Happening
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
)
from tests.builders.controller.retried_pods import lowered, retries
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import APod, memory_of
from tests.operator.sizing.admitted import after


@asynccontextmanager
async def amending(inside: Inside) -> AsyncIterator[None]:
    """Run the work that is done beside the handlers."""
    work = asyncio.create_task(inside.controller.late_peaks.run())
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def until_peaked(inside: Inside, peak_bytes: int) -> None:
    """Wait until the peak is written and the book knows it, too."""

    def peaked() -> bool:
        written = [each.peak_bytes for each in inside.store.observations.of_task(TRAIN)]
        return written == [peak_bytes] == [inside.known.max_need_bytes]

    async with asyncio.timeout(120):
        while not peaked():
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_run_whose_peak_comes_late_is_known_once(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside, amending(inside):
        await inside.see(ended(a_train()))
        assert inside.known.runs == 0
        await inside.report(a_final())
        await until_peaked(inside, 90 * MIB)
        await inside.report(a_final(need_bytes=95 * MIB))
        await until_peaked(inside, 95 * MIB)
        assert (inside.known.runs, inside.known.max_need_bytes) == (1, 95 * MIB)


@pytest.mark.slow
async def test_a_run_whose_peak_comes_while_nobody_is_there_is_known_once(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_train()))
        inside.store.peaks.put([to_document(a_final())])
    for _ in range(2):
        async with an_inside(tmp_path) as inside:
            await inside.see(ended(a_train()))
            assert inside.known.runs == 1
            assert inside.store.totals.of(TRAIN).runs_known == 1


EMPTY_CGROUP = replace(a_final(need_bytes=0), container_id="main")
"""The node's count for a container inside a sandbox."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overhead", "peak_bytes"),
    [
        pytest.param({"memory": "160Mi", "cpu": "250m"}, 90 * MIB, id="inside a sandbox"),
        pytest.param({}, 0, id="the node counts for the container itself"),
    ],
)
async def test_a_sandboxs_memory_is_read_from_its_pod(
    tmp_path: Path, overhead: dict[str, str], peak_bytes: int
) -> None:
    sandbox = replace(a_final(), container_id="pause", need_peak_bytes=90 * MIB)
    async with an_inside(tmp_path) as inside:
        await inside.report(EMPTY_CGROUP, sandbox, a_final())
        await inside.see(ended(a_train().with_spec(overhead=overhead)))
        assert [o.peak_bytes for o in inside.store.observations.of_task(TRAIN)] == [peak_bytes]


@pytest.mark.slow
async def test_a_sandboxs_late_peak_is_its_pods_too(tmp_path: Path) -> None:
    sandboxed = a_train().with_spec(overhead={"memory": "160Mi"})
    sandbox = replace(a_final(), container_id="pause")
    async with an_inside(tmp_path) as inside, amending(inside):
        await inside.see(ended(sandboxed))
        await inside.report(EMPTY_CGROUP, sandbox, a_final(need_bytes=95 * MIB))
        await until_peaked(inside, 95 * MIB)
        await inside.report(a_final(need_bytes=250 * MIB))
        await until_peaked(inside, 128 * MIB)


@pytest.mark.slow
async def test_a_sandboxs_own_memory_is_no_need_of_its_container(tmp_path: Path) -> None:
    sandboxed = a_train(memory="128Mi").with_spec(overhead={"memory": "160Mi"})
    async with an_inside(tmp_path) as inside:
        await inside.report(a_final(need_bytes=250 * MIB))
        await inside.see(ended(sandboxed))
        assert [o.peak_bytes for o in inside.store.observations.of_task(TRAIN)] == [128 * MIB]


@pytest.mark.slow
async def test_pods_of_one_run_make_one_known_run(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        for name in ("train-1", "train-2"):
            await inside.report(a_final(name))
            await inside.see(ended(a_train(name).owned_by_job()))
        assert inside.known.runs == inside.store.totals.of(TRAIN).runs_known == 1


@pytest.mark.slow
async def test_a_kill_whose_run_got_through_meanwhile_is_not_lifted(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(decided(a_train("train-2").owned_by_job(), attempt=2)))
        await inside.see(killed(a_train("train-1").owned_by_job()))
        assert inside.known.lifts == {}


@pytest.mark.slow
async def test_a_siblings_success_does_not_end_a_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train("train-1").owned_by_job())))
        await inside.see(ended(decided(a_train("train-2").owned_by_job())))
        assert len(inside.known.lifts) == 1
        await inside.see(ended(decided(a_train("train-3").owned_by_job(), attempt=2)))
        assert inside.known.lifts == {}
        assert inside.store.lifts.waiting() == {}


@pytest.mark.slow
async def test_a_larger_sibling_is_lifted_over_its_own_size(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_train("train-1").owned_by_job()))
        await inside.see(killed(a_train("train-2", "1Gi").owned_by_job()))
        (lift,) = inside.known.lifts.values()
        assert lift.allocation_bytes > 1024 * MIB


@pytest.mark.slow
async def test_a_lift_goes_up_to_the_request_whatever_nodes_are_there(tmp_path: Path) -> None:
    """A pool of larger nodes is at the moment scaled to zero."""
    lowered = decided(a_train(memory="7Gi"))
    note = read_note(lowered.built())
    assert note is not None
    asked = replace(note, allocation_bytes=7 * GIB, was_request_bytes=64 * GIB)
    pod = lowered.annotated({DECISION: note_to_json(replace(asked, was_limit_bytes=64 * GIB))})
    async with an_inside(tmp_path) as inside:
        await inside.controller.watch.see_node(a_node("8Gi"), gone=False)
        await inside.see(killed(pod))
        (lift,) = inside.known.lifts.values()
        assert lift.allocation_bytes > 8 * GIB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("killed_gib", "request_gib", "limit_gib", "limit"),
    [
        pytest.param(16, 8, None, None, id="no limit"),
        pytest.param(16, 8, 8, "18Gi", id="a limit that is too small"),
        pytest.param(16, 4, 40, "40Gi", id="a limit above every node"),
        pytest.param(18, 4, 40, "40Gi", id="and no step is left below it"),
    ],
)
async def test_a_killed_bare_pod_is_lifted_to_what_a_node_can_give(
    tmp_path: Path, killed_gib: int, request_gib: int, limit_gib: int | None, limit: str | None
) -> None:
    """A larger request would never find a node; a limit may be larger than any."""
    placed = a_train(memory=f"{killed_gib}Gi").with_spec(nodeName="node-1")
    lowered = decided(placed, attempt=3)
    note = read_note(lowered.built())
    assert note is not None
    limit_bytes = None if limit_gib is None else limit_gib * GIB
    asked = replace(note, was_request_bytes=request_gib * GIB, was_limit_bytes=limit_bytes)
    asked = replace(asked, allocation_bytes=killed_gib * GIB)
    pod = killed(lowered.annotated({DECISION: note_to_json(asked)}))
    async with an_inside(tmp_path) as inside:
        await inside.controller.watch.see_node(a_node("20Gi"), gone=False)
        await inside.see(pod)
        [made] = retries(inside, pod)
        state = AdmissionState(tasks={TRAIN: inside.known}, nodes=nodes_of(a_node("20Gi")))
        assert memory_of(after(APod(made), state)) == ("18Gi", limit)


@pytest.mark.slow
@pytest.mark.parametrize(("priority", "lifts"), [("high", 0), ("low", 1)])
async def test_only_a_quota_that_counts_the_pod_stops_its_lift(
    tmp_path: Path, priority: str, lifts: int
) -> None:
    high = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    quota = {
        "metadata": {"namespace": "shop", "name": "high"},
        "spec": {
            "hard": {"requests.memory": "128Mi"},
            "scopeSelector": {"matchExpressions": [high]},
        },
    }
    async with an_inside(tmp_path) as inside:
        await inside.controller.watch.see_bounds(quota, gone=False)
        await inside.see(killed(decided(a_train().with_spec(priorityClassName=priority))))
        assert len(inside.known.lifts) == lifts


@pytest.mark.slow
@pytest.mark.parametrize("of_a_job", [True, False], ids=["of a Job", "bare"])
async def test_a_run_in_a_quota_is_lifted_once_it_was_killed_at_its_written_limit(
    tmp_path: Path, of_a_job: bool
) -> None:
    """Below that it gets no more of the quota than was written, so it gets all of its own limit."""
    quota = {
        "metadata": {"namespace": "shop", "name": "all"},
        "spec": {"hard": {"requests.memory": "8Gi"}},
    }
    first = lowered(written=(64, 256))
    second = lowered("train-2", attempt=2, written=(64, 256)).limited("256Mi")
    if of_a_job:
        first, second = first.owned_by_job(), second.owned_by_job()
    else:
        second = second.annotated({RUN_OF: "uid-train-1"})
    async with an_inside(tmp_path) as inside:
        told: list[str] = []

        def announce(happening: Happening, pod: Pod) -> None:
            assert pod["metadata"]["namespace"] == "shop"
            told.append(happening.note)

        inside.controller.announcer.announce = announce  # type: ignore[method-assign]
        await inside.controller.watch.see_bounds(quota, gone=False)
        await inside.see(killed(first))
        [lift] = inside.known.lifts.values()
        assert (lift.as_written, lift.attempt) == (True, 2)
        assert told[-1].endswith("; attempt 2 of this run gets what was written")
        if not of_a_job:
            [again] = retries(inside, first)
            assert memory_of(APod(again)) == ("64Mi", "256Mi")
        await inside.see(killed(second))
        [lift] = inside.known.lifts.values()
        assert (lift.as_written, lift.attempt) == (False, 3)
        assert lift.allocation_bytes > 256 * MIB
        assert not [words for words in told if "given up" in words]


@pytest.mark.slow
async def test_a_killed_pod_is_retried_once_its_other_containers_have_ended(tmp_path: Path) -> None:
    pod = a_train().with_container("sidecar")
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(pod, phase="Running"))
        assert inside.store.retries.waiting() == []
        for _ in range(2):
            await inside.see(killed(pod))
        (intent,) = inside.store.retries.waiting()
        assert intent.attempt_uid == "uid-train-1"


@pytest.mark.slow
async def test_a_killed_pod_of_which_nothing_runs_is_retried_before_its_phase_says_so(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_train(), phase="Running"))
        (intent,) = inside.store.retries.waiting()
        await inside.see(killed(a_train()))
        assert inside.store.retries.waiting() == [intent]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "written", "lifts"),
    [
        pytest.param(Mode.ENFORCE, Mode.ENFORCE, 1, id="enforced then and now"),
        pytest.param(Mode.RECOMMEND, Mode.ENFORCE, 0, id="enforced then, or forged"),
        pytest.param(Mode.ENFORCE, Mode.RECOMMEND, 0, id="enforced only since"),
    ],
)
async def test_only_what_is_and_was_enforced_is_lifted(
    tmp_path: Path, policy: Mode, written: Mode, lifts: int
) -> None:
    async with an_inside(tmp_path, policy) as inside:
        await inside.see(killed(decided(a_train(), mode=written)))
        assert len(inside.known.lifts) == len(inside.store.retries.waiting()) == lifts
        assert inside.store.totals.of(TRAIN).oom_kills == 1


@pytest.mark.slow
async def test_a_pod_deleted_by_someone_is_not_retried(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        taken = killed(a_train())
        taken = type(taken)(
            {
                **taken.built(),
                "metadata": {
                    **taken.built()["metadata"],
                    "deletionTimestamp": "2026-01-01T00:01:20Z",
                    "deletionGracePeriodSeconds": 30,
                },
            }
        )
        await inside.see(taken, gone=True)
        assert inside.store.retries.waiting() == []
        assert inside.store.observations.of_task(TRAIN)[0].outcome is Outcome.OOM_KILLED


async def test_a_pod_that_is_switched_off_makes_no_task_known(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        off = ended(a_train().labelled(task="other").annotated({MODE: "off"}))
        await inside.see(off)
        assert [str(task) for task in inside.controller.book] == [str(TRAIN)]
