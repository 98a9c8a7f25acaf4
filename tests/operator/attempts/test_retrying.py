"""The clean copy that a bare pod's retry is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.attempts.retry_pod import (
    NextAttempt,
    next_attempt,
    retry_name,
)
from plimsoll_operator.names import labels
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB
from tests.builders.controller.ledgers import a_cpu_note, decided
from tests.builders.pods import APod, a_pod, cpu_of, memory_of

FOLLOWING = NextAttempt("train-1-a2-x", "main", 2 * GIB, '{"attempt":2}')


def killed() -> APod:
    return (
        a_pod()
        .named("train-1", uid="u1")
        .asking("1Gi")
        .limited("1Gi")
        .knowing(rows=7)
        .with_spec(nodeName="node-1", priority=5, priorityClassName="batch")
        .with_status(phase="Failed")
    )


def copy_of(pod: APod) -> APod:
    return APod(next_attempt(pod.built(), FOLLOWING))


def test_the_copy_has_the_lifted_size() -> None:
    assert memory_of(copy_of(killed())) == ("2Gi", "2Gi")


@pytest.mark.parametrize("written", [None, Memory(GIB, GIB)], ids=["lifted", "as written"])
@pytest.mark.parametrize(
    ("was", "mode", "has", "copied"),
    [
        pytest.param(500, Mode.ENFORCE, "2", "500m", id="raised"),
        pytest.param(None, Mode.ENFORCE, "2", None, id="raised where nothing was written"),
        pytest.param(4000, Mode.ENFORCE, "2", "4", id="lowered"),
        pytest.param(500, Mode.ENFORCE, "3", "3", id="somebody changed it"),
        pytest.param(500, Mode.RECOMMEND, "2", "2", id="recommended"),
    ],
)
def test_the_copy_has_the_cpu_request_that_its_author_wrote(
    was: int | None, mode: Mode, has: str, copied: str | None, written: Memory | None
) -> None:
    note = read_note(decided(killed()).built())
    assert note is not None
    cpu = a_cpu_note(was, mode)
    pod = killed().annotated({labels.DECISION: note_to_json(replace(note, cpu=cpu))}).with_cpu(has)
    copy = APod(next_attempt(pod.built(), replace(FOLLOWING, written=written)))
    assert cpu_of(copy) == (copied, None)
    assert memory_of(copy)[0] == ("1Gi" if written else "2Gi")


def test_the_copy_keeps_what_people_wrote() -> None:
    copied = copy_of(killed()).built()["metadata"]
    original = killed().built()["metadata"]
    assert copied["labels"] == original["labels"]
    assert copied["annotations"][f"{labels.FEATURE_PREFIX}rows"] == "7"
    assert copied["namespace"] == "shop"


@pytest.mark.parametrize(
    "name",
    [
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        "karpenter.sh/do-not-disrupt",
        "cluster-autoscaler.kubernetes.io/pod-scale-up-delay",
    ],
)
def test_the_copy_tells_autoscalers_of_nodes_what_the_first_pod_told_them(name: str) -> None:
    copied = copy_of(killed().annotated({name: "true"}))
    assert copied.built()["metadata"]["annotations"][name] == "true"


def test_the_copy_drops_what_the_cluster_wrote() -> None:
    copied = copy_of(killed()).built()
    assert "status" not in copied
    assert "uid" not in copied["metadata"]
    assert not {"nodeName", "priority"} & set(copied["spec"])
    assert copied["spec"]["priorityClassName"] == "batch"


def test_the_copy_is_linked_to_its_attempt_and_its_run() -> None:
    second = copy_of(killed())
    third = APod(next_attempt(second.named("train-1-a2-x", uid="u2").built(), FOLLOWING))
    annotations = third.built()["metadata"]["annotations"]
    assert annotations[labels.RUN_OF] == "u1"
    assert annotations[labels.RETRY_OF] == "u2"


def test_the_copy_keeps_an_owner_that_is_no_controller() -> None:
    owned = killed().owned_by("Workflow", "nightly", controls=False)
    assert copy_of(owned).built()["metadata"]["ownerReferences"]


def test_the_copy_leaves_the_token_volume_to_the_cluster() -> None:
    mounted = killed().with_spec(
        volumes=[{"name": "kube-api-access-x"}, {"name": "data", "emptyDir": {}}]
    )
    assert copy_of(mounted).built()["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]


def test_the_original_is_left_as_it_was() -> None:
    pod = killed().built()
    next_attempt(pod, FOLLOWING)
    assert pod == killed().built()


def test_a_retry_has_one_name_whoever_computes_it() -> None:
    pod = killed().built()
    assert retry_name(pod, 2) == "train-1-a2-bb82030dbc"
    assert retry_name(pod, 3) == "train-1-a3-bb82030dbc"


def test_pods_of_one_name_have_retries_of_different_names() -> None:
    later = killed().named("train-1", uid="u9").built()
    assert retry_name(later, 2) != retry_name(killed().built(), 2)


def test_a_retrys_retry_does_not_grow_its_name() -> None:
    second = copy_of(killed()).built()
    second["metadata"].update(name=retry_name(killed().built(), 2), uid="u2")
    third = retry_name(second, 3)
    assert third.startswith("train-1-a3-")


def test_a_long_name_stays_within_a_hostname() -> None:
    name = retry_name(killed().named("x" * 63, uid="u1").built(), 2)
    assert len(name) <= labels.MAX_LABEL_CHARS
    assert "-a2-" in name


def test_the_copy_leaves_out_what_kubectl_noted_of_the_first_pod() -> None:
    noted = "kubectl.kubernetes.io/last-applied-configuration"
    copied = copy_of(killed().annotated({noted: "{}"})).built()
    assert noted not in copied["metadata"]["annotations"]
