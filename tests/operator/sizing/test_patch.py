"""The JSON Patch: what the decision changes, and nothing else."""

from __future__ import annotations

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import SizedContainer, sized_container
from plimsoll_operator.sizing.patch import Memory, memory_after, patch_for
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import APod, a_pod, memory_of

BOTH = Memory(900 * MIB, 900 * MIB)


def container_of(pod: APod) -> SizedContainer:
    found = sized_container(pod.built())
    assert isinstance(found, SizedContainer)
    return found


def patched(pod: APod, wanted: Memory | None, note: str | None = None) -> APod:
    return pod.patched(patch_for(pod.built(), container_of(pod), wanted, note))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(), id="no memory at all"),
        pytest.param(a_pod().with_cpu("1"), id="only cpu"),
        pytest.param(a_pod().asking("4Gi"), id="a request"),
        pytest.param(a_pod().limited("4Gi"), id="a limit"),
        pytest.param(a_pod().asking("4Gi").limited("8Gi").with_cpu("1", "2"), id="everything"),
        pytest.param(
            a_pod().with_spec(containers=[{"name": "main", "image": "x"}]), id="no resources"
        ),
        pytest.param(
            a_pod().with_spec(containers=[{"name": "main", "resources": None}]), id="null resources"
        ),
        pytest.param(
            a_pod().with_spec(
                containers=[{"name": "main", "resources": {"requests": None, "limits": {}}}]
            ),
            id="null requests",
        ),
    ],
)
def test_missing_parents_are_made_and_the_rest_is_kept(pod: APod) -> None:
    after = patched(pod, BOTH)
    assert memory_of(after) == ("900Mi", "900Mi")
    assert without_memory(after) == without_memory(pod)


def test_what_is_right_already_is_not_patched() -> None:
    pod = a_pod().asking("900Mi").limited("943718400")
    assert patch_for(pod.built(), container_of(pod), BOTH, None) == []


def test_only_the_field_that_changes_is_patched() -> None:
    pod = a_pod().asking("4Gi").limited("900Mi")
    assert patch_for(pod.built(), container_of(pod), BOTH, None) == [
        {"op": "add", "path": "/spec/containers/0/resources/requests/memory", "value": "900Mi"}
    ]


def test_a_field_the_author_did_not_write_is_taken_away_again() -> None:
    pod = a_pod().asking("900Mi").limited("900Mi")
    assert memory_of(patched(pod, Memory(4 * GIB, None))) == ("4Gi", None)


def test_the_container_that_is_sized_is_the_one_patched() -> None:
    pod = a_pod().asking("1Gi").with_container("big").annotated({labels.CONTAINER: "big"})
    after = patched(pod, BOTH)
    assert memory_of(after, "big") == ("900Mi", "900Mi")
    assert memory_of(after, "main") == ("1Gi", None)


def test_the_annotation_is_escaped_and_its_neighbours_stay() -> None:
    pod = a_pod().annotated({"example.com/a~b": "kept"})
    after = patched(pod, None, "{}").built()
    assert after["metadata"]["annotations"] == {"example.com/a~b": "kept", labels.DECISION: "{}"}


@pytest.mark.parametrize("annotations", [None, {}])
def test_a_pod_without_annotations_gets_them(annotations: dict[str, str] | None) -> None:
    bare = a_pod().built()
    bare["metadata"]["annotations"] = annotations
    assert patched(APod(bare), None, "{}").built()["metadata"]["annotations"] == {
        labels.DECISION: "{}"
    }


def test_the_same_annotation_is_not_written_twice() -> None:
    pod = patched(a_pod(), None, "{}")
    assert patch_for(pod.built(), container_of(pod), None, "{}") == []


@pytest.mark.parametrize(
    ("was", "limits", "then"),
    [
        pytest.param(Memory(GIB, 2 * GIB), Limits.EQUAL, Memory(500, 500), id="equal"),
        pytest.param(Memory(GIB, 2 * GIB), Limits.KEEP, Memory(500, 2 * GIB), id="kept"),
        pytest.param(
            Memory(GIB, 2 * GIB), Limits.KEEP, Memory(3 * GIB, 3 * GIB), id="kept, but raised over"
        ),
        pytest.param(Memory(GIB, None), Limits.KEEP, Memory(500, None), id="none is kept"),
    ],
)
def test_request_and_limit_after(was: Memory, limits: Limits, then: Memory) -> None:
    assert then.request_bytes is not None
    assert memory_after(was, then.request_bytes, limits) == then


def without_memory(pod: APod) -> object:
    body = pod.built()
    for container in body["spec"]["containers"]:
        resources = container.pop("resources", None) or {}
        container["rest"] = {
            kind: rest
            for kind, values in resources.items()
            if (rest := {k: v for k, v in (values or {}).items() if k != "memory"})
        }
    return body
