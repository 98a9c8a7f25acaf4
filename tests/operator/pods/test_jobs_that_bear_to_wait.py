"""Whose pods may start late: only a Job says so, when it is created."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.job_attempts import bears_to_wait, notes_for_job
from plimsoll_operator.sizing.job_sizing import Moment, patch_for_new_job
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Order, Policy


def a_job(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {labels.TASK: "train"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
    }
    return {
        "metadata": {"name": "train-1", "namespace": "shop", **(metadata or {})},
        "spec": {"template": template, **spec},
    }


def owned_by(kind: str) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": kind, "name": "it", "controller": True}]}


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(), id="a plain Job"),
        pytest.param(a_job(parallelism=8, completions=100), id="a queue of work"),
        pytest.param(a_job(completionMode="Indexed", parallelism=1), id="indexes in a row"),
    ],
)
def test_who_bears_to_wait(job: dict[str, Any]) -> None:
    assert bears_to_wait(job)


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(activeDeadlineSeconds=600), id="its deadline runs while it waits"),
        pytest.param(
            a_job({"annotations": {"helm.sh/hook": "pre-install"}}), id="an installer waits for it"
        ),
        pytest.param(
            a_job({"annotations": {"meta.helm.sh/release-name": "shop"}}),
            id="Helm waits for the Jobs of a release",
        ),
        pytest.param(a_job(owned_by("CronJob")), id="a CronJob may replace it"),
        pytest.param(a_job(owned_by("JobSet")), id="a JobSet starts together"),
        pytest.param(a_job(completionMode="Indexed", parallelism=4), id="indexes side by side"),
        pytest.param(a_job(suspend=True), id="somebody queues it"),
        pytest.param(a_job(managedBy="kueue.x-k8s.io/multikueue"), id="it runs elsewhere"),
        pytest.param(
            a_job({"labels": {"kueue.x-k8s.io/queue-name": "team"}}), id="Kueue queues it"
        ),
    ],
)
def test_who_does_not(job: dict[str, Any]) -> None:
    assert not bears_to_wait(job)


def noted(job: dict[str, Any], order: Order) -> str | None:
    """Admission's note on the template."""
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE, order=order))
    patch = patch_for_new_job(job, notes_for_job(job) or {}, Moment(state, "shop"))
    found: dict[str, str] = {}
    for operation in patch:
        if isinstance(operation["value"], dict):
            found |= operation["value"].get("annotations", operation["value"])
        else:
            found[operation["path"].rpartition("/")[2].replace("~1", "/")] = operation["value"]
    return found.get(labels.MAY_WAIT)


def test_it_is_written_only_where_a_policy_orders() -> None:
    assert noted(a_job(), Order.ENFORCE) == "true"
    assert noted(a_job(activeDeadlineSeconds=9), Order.ENFORCE) == "false"
    assert noted(a_job(), Order.NEVER) is None


@pytest.mark.parametrize("order", list(Order))
def test_a_template_that_was_copied_from_another_job_says_what_is_so(order: Order) -> None:
    job = a_job(activeDeadlineSeconds=9)
    job["spec"]["template"]["metadata"]["annotations"] = {labels.MAY_WAIT: "true"}
    assert noted(job, order) == "false"
