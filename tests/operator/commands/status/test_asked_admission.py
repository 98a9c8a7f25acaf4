"""`plimsoll status` says that the API server does not ask admission about new pods."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from prometheus_client import generate_latest

from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.asked import asked_check, idle_since_s
from plimsoll_operator.commands.status.checks import Level
from plimsoll_operator.commands.status.cluster_reader import ClusterReader
from plimsoll_operator.commands.status.cluster_state import ClusterState
from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import NotFound, Refused
from plimsoll_operator.names import labels
from tests.builders.kubernetes.cluster_status import (
    NOW,
    NOW_S,
    a_deployment,
    a_webhook,
    what_is_seen,
)

HOUR_S = 3600.0
SIZES = {"matchExpressions": [{"key": labels.TASK, "operator": "Exists"}]}
NOT_EXCLUDED = {
    "key": "kubernetes.io/metadata.name",
    "operator": "NotIn",
    "values": ["kube-system", "plimsoll"],
}


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def the_webhook(*more: Any, **hook: Any) -> Any:
    """The chart's webhook that sizes pods. more: expressions of its selector of namespaces."""
    hook.setdefault("namespaceSelector", {"matchExpressions": [NOT_EXCLUDED, *more]})
    webhook = a_webhook(objectSelector=SIZES, **hook)
    webhook["metadata"]["creationTimestamp"] = ago(24 * HOUR_S)
    return webhook


def of_a_task(name: str, namespace: str = "shop", *, made_ago_s: float, **notes: str) -> Any:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": ago(made_ago_s),
            "annotations": {f"plimsoll.dev/{key}": value for key, value in notes.items()},
        }
    }


NEW = of_a_task("train-a", made_ago_s=600)


def seen(*pods: Any, **changes: Any) -> ClusterState:
    """Replicas of admission that were asked about no pod for an hour. pods: those of tasks."""
    idle: dict[str, Any] = {
        "webhooks": [the_webhook()],
        "idle_since_s": NOW_S - HOUR_S,
        "pods_of_tasks": pods,
    }
    return what_is_seen(**{**idle, **changes})


def test_a_new_pod_about_which_nobody_was_asked_is_not_healthy_and_told_what_to_do() -> None:
    pods = [of_a_task("train-b", made_ago_s=60), NEW, of_a_task("train-c", made_ago_s=900)]
    told = summary_of(seen(*pods), NOW_S)
    [check] = [each for each in told.checks if each.name == "asked"]
    assert check.level is Level.BAD
    assert check.words == (
        "the API server does not ask admission about new pods: 3 pods of tasks came since admission"
        " is ready, the last shop/train-b, and it was asked about none"
    )
    assert not told.healthy
    [step] = [each for each in told.next_steps if each.startswith("asked: ")]
    assert "9443" in step
    assert "docs/install.md" in step


def test_a_pod_or_two_may_have_been_labelled_later_so_they_only_warn() -> None:
    told = summary_of(seen(NEW, of_a_task("train-b", made_ago_s=60)), NOW_S)
    [check] = [each for each in told.checks if each.name == "asked"]
    assert check.level is Level.WARNING
    assert check.words.startswith("the API server may not ask admission about new pods: 2 pods")


@pytest.mark.parametrize(
    ("pods", "changes"),
    [
        pytest.param([], {}, id="no pod of a task"),
        pytest.param([NEW], {"idle_since_s": None}, id="a replica was asked"),
        pytest.param([of_a_task("a", made_ago_s=2 * HOUR_S)], {}, id="older than the replicas"),
        pytest.param([of_a_task("a", made_ago_s=HOUR_S - 30)], {}, id="as they became ready"),
        pytest.param([of_a_task("a", made_ago_s=9, decision="{}")], {}, id="it has a decision"),
        pytest.param([of_a_task("a", "kube-system", made_ago_s=9)], {}, id="an excluded namespace"),
        pytest.param([NEW], {"webhooks": None}, id="the webhook may not be read"),
        pytest.param([NEW], {"webhooks": [a_webhook()]}, id="no webhook that sizes pods"),
        pytest.param(
            [NEW],
            {"webhooks": [the_webhook({"key": "team", "operator": "Exists"})]},
            id="somebody chose its namespaces by a label",
        ),
        pytest.param(
            [NEW],
            {"webhooks": [the_webhook(namespaceSelector={"matchLabels": {"team": "ml"}})]},
            id="and that with matchLabels",
        ),
        pytest.param(
            [NEW],
            {"webhooks": [the_webhook(matchConditions=[{"name": "some", "expression": "true"}])]},
            id="somebody chose its pods",
        ),
    ],
)
def test_nothing_is_said_where_admission_need_not_have_been_asked(
    pods: list[Any], changes: dict[str, Any]
) -> None:
    assert asked_check(seen(*pods, **changes)) is None


def test_a_webhook_younger_than_the_pod_is_no_reason() -> None:
    webhook = the_webhook()
    webhook["metadata"]["creationTimestamp"] = ago(630)
    assert asked_check(seen(NEW, webhooks=[webhook])) is None


def test_a_broken_webhook_says_why_by_itself() -> None:
    told = summary_of(seen(NEW, webhooks=[the_webhook(clientConfig={})]), NOW_S)
    assert "asked" not in [each.name for each in told.checks]
    assert not told.healthy


def a_replica(name: str, *, ready_ago_s: float | None, phase: str = "Running") -> Any:
    ready = {"type": "Ready", "status": "False" if ready_ago_s is None else "True"}
    conditions = [{**ready, "lastTransitionTime": ago(ready_ago_s or 0.0)}]
    return {
        "metadata": {"name": name, "namespace": "plimsoll"},
        "status": {"phase": phase, "conditions": conditions},
    }


READY = [a_replica("a", ready_ago_s=HOUR_S), a_replica("b", ready_ago_s=60)]


def test_replicas_are_idle_since_the_last_of_them_is_ready() -> None:
    evicted = a_replica("c", ready_ago_s=None, phase="Failed")
    assert idle_since_s([*READY, evicted], {"a": 0.0, "b": 0.0}) == NOW_S - 60


@pytest.mark.parametrize(
    ("replicas", "asked"),
    [
        pytest.param([], {}, id="none"),
        pytest.param(READY, {"a": 0.0, "b": 3.0}, id="one was asked"),
        pytest.param(READY, {"a": 0.0, "b": None}, id="one does not say"),
        pytest.param(READY, {"a": 0.0}, id="one is not known"),
        pytest.param(
            [READY[0], a_replica("b", ready_ago_s=None)], {"a": 0.0, "b": 0.0}, id="one not ready"
        ),
    ],
)
def test_replicas_of_which_one_may_have_been_asked_are_not_idle(
    replicas: list[Any], asked: dict[str, float | None]
) -> None:
    assert idle_since_s(replicas, asked) is None


class Answers:
    """An API server that knows one replica of admission, and one pod of a task."""

    def __init__(self, metrics: bytes, *, allowed: bool = True) -> None:
        self.metrics = metrics
        self.allowed = allowed
        self.listed: list[str] = []

    clock_s = None

    async def get(self, path: str) -> Any:
        if path == "/version":
            return {}
        raise NotFound(path)

    async def items(self, path: str, _query: dict[str, str] | None = None) -> list[Any]:
        if path.endswith("/deployments"):
            return [a_deployment("admission"), a_deployment("controller")]
        if path.endswith("/mutatingwebhookconfigurations"):
            return [the_webhook()]
        if path == "/api/v1/namespaces/plimsoll/pods":
            return [a_replica("admission-a", ready_ago_s=HOUR_S)]
        return []

    async def metadata(self, path: str, query: dict[str, str]) -> list[Any]:
        self.listed.append(f"{path}?labelSelector={query['labelSelector']}")
        if not self.allowed:
            raise Refused("pods is forbidden")
        return [NEW]

    async def text(self, path: str) -> bytes:
        assert path.endswith("admission-a:9090/proxy/metrics")
        return self.metrics


def metrics_after(*seconds: float) -> bytes:
    metrics = AdmissionMetrics()
    for each in seconds:
        metrics.seconds.observe(each)
    return generate_latest(metrics.registry)


async def read(answers: Answers, namespace: str | None = None) -> ClusterState:
    return await ClusterReader(cast(ApiServer, answers), Installation(), namespace).read()


async def test_a_replica_that_was_never_asked_has_pods_of_tasks_read() -> None:
    answers = Answers(metrics_after())
    state = await read(answers, "shop")
    assert answers.listed == ["/api/v1/namespaces/shop/pods?labelSelector=plimsoll.dev/task"]
    check = asked_check(state)
    assert check is not None
    assert "the last shop/train-a" in check.words


async def test_of_a_replica_that_was_asked_once_no_pods_of_tasks_are_read() -> None:
    answers = Answers(metrics_after(0.001))
    assert asked_check(await read(answers)) is None
    assert not answers.listed


async def test_who_may_not_list_pods_is_told_so() -> None:
    state = await read(Answers(metrics_after(), allowed=False))
    assert asked_check(state) is None
    assert ("asked", "pods is forbidden") in [(each.what, each.why) for each in state.unseen]
