"""What a pod's spec and status say of its resizes."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.pods.resizes import failed_resize, granted_memory, refusal
from plimsoll_predictor.core.units import MIB
from tests.builders.pods import RUNNING, APod, a_pod

RUNS = a_pod().named("train-1").asking("1Gi").limited("2Gi").with_status(phase="Running")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        pytest.param(("PodResizePending", "True", "Deferred"), "Deferred", id="deferred"),
        pytest.param(("PodResizePending", "True", "Infeasible"), "Infeasible", id="infeasible"),
        pytest.param(("PodResizeInProgress", "True", "Error"), "Error", id="an error"),
        pytest.param(("PodResizeInProgress", "True", None), None, id="under way"),
        pytest.param(("PodResizePending", "False", "Deferred"), None, id="over"),
        pytest.param(("Ready", "True", "Deferred"), None, id="another condition"),
    ],
)
def test_a_node_refuses(condition: tuple[str, str, str | None], said: str | None) -> None:
    kind, status, reason = condition
    conditions = [{"type": kind, "status": status, "reason": reason}]
    assert refusal(RUNS.with_status(conditions=conditions).built()) == said


def saying(observed: int | None, reason: str = "Error", message: str = "no") -> APod:
    """A pod of generation 3, whose node said this at the generation ``observed``."""
    kind = "PodResizeInProgress" if reason == "Error" else "PodResizePending"
    condition: dict[str, Any] = {"type": kind, "status": "True", "reason": reason}
    if observed is not None:
        condition["observedGeneration"] = observed
    built = RUNS.with_status(conditions=[{**condition, "message": message}]).built()
    built["metadata"]["generation"] = 3
    return APod(built)


@pytest.mark.parametrize("reason", ["Error", "Deferred", "Infeasible"])
def test_what_a_node_said_of_an_earlier_resize_is_no_answer(reason: str) -> None:
    assert refusal(saying(2, reason).built()) is None
    assert refusal(saying(3, reason).built()) == reason
    assert refusal(saying(None, reason).built()) == reason


def test_words_that_were_there_before_a_resize_are_no_answer_to_it() -> None:
    """The node keeps them until a resize succeeds, and before 1.34 it names no generation."""
    pod = saying(None, message="the limit is below the usage").built()
    assert refusal(pod, failed_resize(pod)) is None
    assert refusal(saying(None, message="another").built(), failed_resize(pod)) == "Error"
    assert refusal(saying(None, message="").built(), failed_resize(RUNS.built())) == "Error"
    deferred = saying(None, "Deferred").built()
    assert refusal(deferred, failed_resize(deferred)) == "Deferred"


@pytest.mark.parametrize(
    ("resources", "granted"),
    [
        ({"limits": {"memory": "128Mi"}}, 128 * MIB),
        ({"limits": {"memory": "much"}}, None),
        ({"limits": []}, None),
        (None, None),
    ],
)
def test_what_is_granted_is_read_from_the_status(resources: object, granted: int | None) -> None:
    pod = RUNS.with_status(containerStatuses=["junk", {**RUNNING, "resources": resources}])
    assert granted_memory(pod.built(), "main", "limits") == granted
