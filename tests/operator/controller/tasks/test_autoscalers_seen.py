"""The controller lists VerticalPodAutoscalers, and tells admission of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.tasks.autoscalers import AutoscalersSeen
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.applying import apply, steps
from plimsoll_operator.feed.board import MAX_CHANGE_BYTES, FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.kube.errors import ApiError, NotFound, Refused
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.pods.autoscalers import MOST_IN_NAMESPACE
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode, Policy
from tests.builders.controller.ledgers import a_train, an_inside, decided, killed
from tests.builders.kubernetes.autoscalers import a_vpa


@dataclass(slots=True)
class Listed:
    """The part of the API server that is needed here; error: what it answers instead."""

    found: list[dict[str, Any]] = field(default_factory=list)
    error: ApiError | None = None

    @property
    def api(self) -> Listed:
        return self

    async def items(self, path: str) -> list[dict[str, Any]]:
        assert path.endswith("autoscaling.k8s.io/v1/verticalpodautoscalers")
        if self.error is not None:
            raise self.error
        return self.found


@dataclass(slots=True)
class Seen:
    """A controller's part, and what the feed has told admission."""

    listed: Listed
    board: FeedBoard
    seen: AutoscalersSeen

    def told(self) -> AdmissionState:
        state = AdmissionState()
        for kind, name, data in steps(decode_message(self.board.message(0, None))):
            apply(state, kind, name, data)
        return state

    def names(self, namespace: str = "shop") -> list[str]:
        return [each.name for each in self.told().namespace(namespace).autoscalers.values()]


@pytest.fixture
def made() -> Seen:
    board, listed = FeedBoard("e"), Listed()
    bounds = ClusterBounds(board, TaskPolicies(Policy(), Hub()), ClusterNodes())
    return Seen(listed, board, AutoscalersSeen(listed, bounds))  # type: ignore[arg-type]


async def test_admission_hears_of_those_that_change_pods(made: Seen) -> None:
    made.listed.found = [
        a_vpa(name="one"),
        a_vpa(name="off", target="other", mode="Off"),
        a_vpa(name="elsewhere", namespace="mall"),
    ]
    await made.seen.look()
    assert (made.names(), made.names("mall")) == (["one"], ["elsewhere"])
    made.listed.found = []
    await made.seen.look()
    assert (made.names(), made.names("mall")) == ([], [])


async def test_what_its_recommender_writes_is_no_news(made: Seen) -> None:
    made.listed.found = [a_vpa()]
    await made.seen.look()
    revision = made.board.revision
    made.listed.found = [{**a_vpa(), "status": {"recommendation": {"at": 7}}}]
    await made.seen.look()
    assert made.board.revision == revision


@pytest.mark.parametrize(
    ("error", "known"),
    [
        pytest.param(NotFound("there is no such kind"), [], id="no such kind: none"),
        pytest.param(Refused("forbidden"), ["report-vpa"], id="not allowed: as it was"),
    ],
)
async def test_what_cannot_be_listed_ends_nothing(
    made: Seen, error: ApiError, known: list[str]
) -> None:
    made.listed.found = [a_vpa()]
    await made.seen.look()
    made.listed.error = error
    await made.seen.look()
    assert made.names() == known


async def test_a_namespace_full_of_them_is_bounded(made: Seen) -> None:
    """They have long names, but the feed still has to carry the namespace's LimitRanges."""
    lengths = (63, 253) * 50
    policies = [{"containerName": f"{n}".rjust(chars, "c")} for n, chars in enumerate(lengths)]
    made.listed.found = [
        a_vpa("K" * 253, f"{number}".rjust(253, "t"), name=f"{number:04}", containers=policies)
        for number in range(MOST_IN_NAMESPACE + 50)
    ]
    await made.seen.look()
    names = made.names()
    assert names == [f"{number:04}" for number in range(MOST_IN_NAMESPACE)]
    assert len(made.board.message(0, None)) < MAX_CHANGE_BYTES


@pytest.mark.slow
async def test_nobody_lifts_a_run_that_was_left(tmp_path: Path) -> None:
    """Its next pod would not get the size that the Event promises."""
    async with an_inside(tmp_path) as inside:
        pod = decided(a_train().owned_by_job("report-29391234"))
        note = read_note(pod.built())
        assert note is not None
        left = replace(note, allocation_bytes=None, reason=Reason.LEFT, mode=Mode.RECOMMEND)
        await inside.see(killed(pod.annotated({DECISION: note_to_json(left)})))
        assert not any(lift.tells_need for lift in inside.known.lifts.values())
        await inside.see(killed(decided(a_train("train-2").owned_by_job("report-29391235"))))
        assert any(lift.tells_need for lift in inside.known.lifts.values())
