"""Which container is sized, what it asks, and the pod's class."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import (
    NotSizable,
    Qos,
    RestartPolicy,
    SizedContainer,
    other_memory_bytes,
    qos_of,
    restart_policy,
    sized_container,
)
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import APod, a_pod

TWO = a_pod().with_container("shipper").asking("1Gi").asking("64Mi", of="shipper")


def test_the_only_container_is_sized() -> None:
    pod = a_pod().asking("4Gi").limited("8Gi")
    assert sized_container(pod.built()) == SizedContainer(0, "main", 4 * GIB, 8 * GIB)


def test_of_several_containers_the_first_is_sized() -> None:
    assert sized(TWO).name == "main"


def test_the_container_kubectl_shows_by_default_is_sized() -> None:
    assert sized(TWO.annotated({labels.DEFAULT_CONTAINER: "shipper"})).name == "shipper"


def test_the_container_named_for_plimsoll_is_sized_before_kubectls() -> None:
    pod = TWO.annotated({labels.DEFAULT_CONTAINER: "main", labels.CONTAINER: "shipper"})
    assert sized(pod) == SizedContainer(1, "shipper", 64 * MIB, None)


def test_a_default_container_that_does_not_exist_is_passed_over() -> None:
    assert sized(TWO.annotated({labels.DEFAULT_CONTAINER: "gone"})).name == "main"


@pytest.mark.parametrize("name", ["gone", "fetch", "proxy"])
def test_only_an_ordinary_container_can_be_named_to_be_sized(name: str) -> None:
    pod = TWO.with_init_container("fetch").with_sidecar("proxy")
    why = refused(pod.annotated({labels.CONTAINER: name}))
    assert name in why
    assert "none of its containers" in why


def test_an_init_container_named_by_kubectl_is_not_sized() -> None:
    pod = TWO.with_init_container("fetch").annotated({labels.DEFAULT_CONTAINER: "fetch"})
    assert sized(pod).name == "main"


def test_a_limit_alone_is_a_request_too() -> None:
    assert sized(a_pod().limited("2Gi")) == SizedContainer(0, "main", 2 * GIB, 2 * GIB)


def test_a_pod_that_asks_for_nothing_has_neither() -> None:
    assert sized(a_pod()) == SizedContainer(0, "main", None, None)


def test_a_limit_below_the_request_is_read_as_it_is() -> None:
    assert sized(a_pod().asking("4Gi").limited("1Gi")) == SizedContainer(0, "main", 4 * GIB, GIB)


def test_a_pod_with_a_limit_for_the_whole_of_it_is_left_alone_and_said() -> None:
    """The API server would request for the whole pod what a size requests for a container."""
    why = refused(a_pod().with_spec(resources={"limits": {"cpu": "2"}}))
    assert why == "it has a limit for the whole pod (spec.resources), not per container"


@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_memory_of_the_whole_pod_is_left_alone_and_said(kind: str) -> None:
    assert "whole pod" in refused(a_pod().with_spec(resources={kind: {"memory": "4Gi"}}))


def test_cpu_of_the_whole_pod_does_not_stand_in_the_way() -> None:
    assert sized(a_pod().with_spec(resources={"requests": {"cpu": "2"}})).name == "main"


@pytest.mark.parametrize(
    "spec", [{"os": {"name": "windows"}}, {"nodeSelector": {"kubernetes.io/os": "windows"}}]
)
def test_a_pod_for_windows_is_left_alone_and_said(spec: dict[str, Any]) -> None:
    assert "Windows" in refused(a_pod().with_spec(**spec))


def test_a_static_pod_is_left_alone_as_its_node_reads_its_memory_from_a_file() -> None:
    shown = a_pod().annotated({"kubernetes.io/config.mirror": "a6b9"})
    assert "static pod" in refused(shown)


@pytest.mark.parametrize(
    "spec",
    [
        *({"os": each} for each in ({"name": "linux"}, {"name": None}, {}, None, "windows")),
        *({"nodeSelector": each} for each in ({"kubernetes.io/os": "linux"}, None, ["windows"])),
    ],
)
def test_a_pod_for_any_other_system_is_sized(spec: dict[str, Any]) -> None:
    assert sized(a_pod().with_spec(**spec)).name == "main"


@pytest.mark.parametrize("memory", ["lots", "4GB", "-1Gi", "1e999999", 1.5, True, [], {}])
def test_memory_that_cannot_be_read_is_not_guessed(memory: Any) -> None:
    assert "cannot be read" in refused(a_pod().asking(memory))


@pytest.mark.parametrize("containers", [None, [], {}, "main", 3])
def test_a_pod_without_containers_is_not_sized(containers: object) -> None:
    assert "no containers" in refused(a_pod().with_spec(containers=containers))


@pytest.mark.parametrize("container", [None, "main", 3, [], {"resources": "many"}])
def test_containers_of_any_shape_raise_nothing(container: object) -> None:
    assert sized(a_pod().with_spec(containers=[container])).request_bytes is None


@pytest.mark.parametrize("pod", [{}, {"spec": None}, {"spec": []}, {"metadata": "x", "spec": {}}])
def test_pods_of_any_shape_raise_nothing(pod: dict[str, Any]) -> None:
    assert isinstance(sized_container(pod), NotSizable)
    assert qos_of(pod) is Qos.BEST_EFFORT
    assert restart_policy(pod) is RestartPolicy.ALWAYS


def test_what_runs_beside_the_sized_container_is_added_up() -> None:
    pod = (
        TWO.limited("128Mi", of="shipper")
        .with_sidecar("proxy", resources={"limits": {"memory": "32Mi"}})
        .with_init_container("fetch", resources={"requests": {"memory": "9Gi"}})
        .with_container("odd", resources={"requests": {"memory": "many"}})
    )
    assert other_memory_bytes(pod.built(), sized(pod)) == (96 * MIB, 160 * MIB)


@pytest.mark.parametrize(
    ("pod", "qos"),
    [
        pytest.param(a_pod(), Qos.BEST_EFFORT, id="nothing asked"),
        pytest.param(a_pod().asking("0"), Qos.BEST_EFFORT, id="zero asked"),
        pytest.param(a_pod().asking("1Gi"), Qos.BURSTABLE, id="a request"),
        pytest.param(
            a_pod().asking("1Gi").limited("1Gi"), Qos.BURSTABLE, id="equal memory, but no cpu"
        ),
        pytest.param(
            a_pod().asking("1Gi").limited("1Gi").with_cpu("1", "1"),
            Qos.GUARANTEED,
            id="both equal",
        ),
        pytest.param(
            a_pod().limited("1Gi").with_cpu(None, "1"), Qos.GUARANTEED, id="both limits alone"
        ),
        pytest.param(
            a_pod().asking("1024Mi").limited("1Gi").with_cpu("1", "1"),
            Qos.GUARANTEED,
            id="both equal, written differently",
        ),
        pytest.param(
            a_pod().asking("1Gi").limited("2Gi").with_cpu("1", "1"),
            Qos.BURSTABLE,
            id="a limit above",
        ),
        pytest.param(
            a_pod().asking("1Gi").limited("1Gi").with_cpu("1", "1").with_container("other"),
            Qos.BURSTABLE,
            id="another container without",
        ),
        pytest.param(
            a_pod().asking("1Gi").limited("1Gi").with_cpu("1", "1").with_sidecar("proxy"),
            Qos.BURSTABLE,
            id="a sidecar without",
        ),
    ],
)
def test_the_class_is_kubernetes_own(pod: APod, qos: Qos) -> None:
    assert qos_of(pod.built()) is qos


def sized(pod: APod) -> SizedContainer:
    found = sized_container(pod.built())
    assert isinstance(found, SizedContainer)
    return found


def refused(pod: APod) -> str:
    found = sized_container(pod.built())
    assert isinstance(found, NotSizable)
    return found.why
