"""A run's lift at admission: given where Plimsoll may act, only noted where it may not."""

from __future__ import annotations

import pytest

from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import a_pod, memory_of

TRAIN = TaskId("shop", "train")


@pytest.mark.parametrize(
    ("mode", "memory", "attempt"),
    [
        pytest.param(Mode.ENFORCE, ("256Mi", "256Mi"), 2, id="enforce gives it"),
        pytest.param(Mode.RECOMMEND, ("128Mi", "128Mi"), 2, id="recommend writes it down"),
        pytest.param(Mode.OFF, ("128Mi", "128Mi"), None, id="off does nothing"),
    ],
)
def test_a_lift_is_given_only_while_sizes_are_enforced(
    mode: Mode, memory: tuple[str, str], attempt: int | None
) -> None:
    lifts = {"run:r/7": Lift(256 * MIB, 2, 128 * MIB)}
    known = Knowledge(task=TRAIN, policy=Policy(mode=mode), lifts=lifts)
    state = AdmissionState(tasks={TRAIN: known})
    pod = a_pod().asking("128Mi").limited("128Mi")
    pod = pod.annotated({"plimsoll.dev/run": "r", "plimsoll.dev/item": "7"})
    sized = pod.patched(size(pod.built(), state).patch)
    note = read_note(sized.built())
    assert memory_of(sized) == memory
    assert (note.attempt if note else None) == attempt
