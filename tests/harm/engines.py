"""Stand-ins for workflow engines: they make pods, poll them and make the next ones as real ones do.

Plimsoll reads what each writes on its pods, so labels and annotations are the engines' own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from tests.harm.manifests import a_pod
from tests.harm.plays import Play, pod_ends
from tests.harm.scenario import TASK, Ending, Manifest
from tests.harm.stage import Stage

POLLS_EVERY_S: Final = 2.0
RETRY_DELAY_S: Final = 4.0
DOUBLES_WITHIN_S: Final = 10.0
WORKFLOWS: Final = ("argoproj.io", "workflows", "Workflow")
TRAININGS: Final = ("kubeflow.org", "trainings", "Training")
"""Group, plural and kind of objects that controllers outside of Kubernetes own pods by."""


def foreign_kind(group: str, plural: str, kind: str) -> Manifest:
    """A definition of somebody else's kind, without any checks."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def polled(manifest: Manifest, *, tries: int = 1, numbered: Callable[..., None] | None = None,
           owner: tuple[str, str, str] | None = None) -> Play:  # fmt: skip
    """An engine that looks only at its own pod, deletes it, and makes the next while tries last.

    numbered: writes a try's number on its pod. owner: the kind of the object that owns the pods.
    """

    async def play(stage: Stage) -> Ending:
        reference = await _owner(stage, owner) if owner else None
        ending = Ending.FAILED
        for number in range(1, tries + 1):
            pod = json.loads(json.dumps(manifest))
            pod["metadata"]["name"] = f"{manifest['metadata']['name']}-{number}"
            if numbered is not None:
                numbered(pod, number)
            if reference is not None:
                pod["metadata"]["ownerReferences"] = [reference]
            made = await stage.create(pod)
            ending = await pod_ends(stage, made.metadata.uid)
            await asyncio.sleep(POLLS_EVERY_S)
            if ending is Ending.SUCCEEDED or number == tries:
                break
            await stage.remove(made.metadata.name)
            await asyncio.sleep(RETRY_DELAY_S)
        killed = stage.plimsoll is not None and any(seen.kills() for seen in stage.pods)
        if killed and await stage.until(lambda: len(stage.pods) > tries, DOUBLES_WITHIN_S):
            return Ending.DOUBLED
        return ending

    return play


async def _owner(stage: Stage, kind: tuple[str, str, str]) -> dict[str, Any]:
    group, plural, name = kind
    manifest = {"apiVersion": f"{group}/v1alpha1", "kind": name, "metadata": {"name": "run"}}
    made = await stage.put(group, plural, manifest)
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": name,
        "name": "run",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }


def airflow(retries: int, *, labelled: bool = True) -> Play:
    """Airflow's KubernetesPodOperator: a bare pod a try, deleted when it has ended.

    labelled: whether somebody wrote Plimsoll's label into the DAG; else the label ``max_tries``.
    """
    pod = a_pod("nightly")
    if not labelled:
        pod["metadata"]["labels"] = {"max_tries": str(retries)}
    pod["metadata"]["labels"] |= {
        "dag_id": "nightly",
        "task_id": TASK,
        "run_id": "manual-1",
        "kubernetes_pod_operator": "True",
        "airflow_version": "3.3.2",
    }

    def numbered(made: Manifest, number: int) -> None:
        made["metadata"]["labels"]["try_number"] = str(number)

    return polled(pod, tries=retries + 1, numbered=numbered)


def argo(limit: int | None) -> Play:
    """Argo Workflows: pods of a Workflow, whose template says how often a step is tried again."""
    pod = a_pod("flow-work")
    template: dict[str, Any] = {"name": TASK}
    if limit is not None:
        template["retryStrategy"] = {"limit": str(limit)}
    pod["metadata"]["labels"]["workflows.argoproj.io/workflow"] = "flow"
    pod["spec"]["containers"][0]["env"] = [{"name": "ARGO_TEMPLATE", "value": json.dumps(template)}]

    def numbered(made: Manifest, number: int) -> None:
        node = "flow.work" if limit is None else f"flow.work({number - 1})"
        made["metadata"]["annotations"]["workflows.argoproj.io/node-name"] = node

    return polled(pod, tries=(limit or 0) + 1, numbered=numbered, owner=WORKFLOWS)


def nextflow() -> Play:
    """Nextflow with its default: it ends with the first task that fails."""
    pod = a_pod("nf-0a1b2c")
    pod["metadata"]["labels"] |= {
        "nextflow.io/app": "nextflow",
        "nextflow.io/processName": TASK,
        "nextflow.io/runName": "happy_euler",
        "nextflow.io/taskName": f"{TASK}_1",
    }
    return polled(pod)


def gitlab() -> Play:
    """A GitLab runner: it waits only for the pod that it made."""
    pod = a_pod("runner-abc-project-1-concurrent-0")
    pod["metadata"]["labels"] |= {"job.runner.gitlab.com/pod": "runner-abc"}
    pod["metadata"]["annotations"] |= {
        "job.runner.gitlab.com/id": "42",
        "project.runner.gitlab.com/id": "1",
    }
    return polled(pod)


def jenkins() -> Play:
    """Jenkins' Kubernetes plugin: its agent is the pod."""
    pod = a_pod("build-7")
    pod["metadata"]["labels"] |= {"jenkins": "slave", "jenkins/label": "build"}
    return polled(pod)


def foreign_controller() -> Play:
    """A controller that Plimsoll does not know; its run is its single pod."""
    return polled(a_pod("trainer"), owner=TRAININGS)
