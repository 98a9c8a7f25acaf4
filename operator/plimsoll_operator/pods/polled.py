"""Recognises bare pods whose maker watches them by their names, and may make others.

A continuous-integration system, a notebook server, a workflow engine or an installer waits for the
pod that it made. A copy of that pod would do its work a second time, and nobody would wait for it.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.pods.engines.table import (
    ENGINES,
    WAITING_MARKS,
    engine_run,
    limits_start,
)
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    labels_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)

_LABELS: Final = frozenset(
    {
        # Airflow's operator and its executor; the labels of the run may be missing.
        *("kubernetes_pod_operator", "kubernetes_executor", "airflow_version", "airflow-worker"),
        *("job.runner.gitlab.com/pod", "project.runner.gitlab.com/id"),
        *("jenkins", "jenkins/label", "kubernetes.jenkins.io/controller"),
        *("hub.jupyter.org/username", "hub.jupyter.org/servername"),
        *("created-by-prow", "prow.k8s.io/id"),
        *("dask.org/cluster-name", "dask.org/component"),
        # AWS Batch on EKS, by its user guide ("Map a running pod back to its job").
        *("batch.amazonaws.com/job-id", "batch.amazonaws.com/compute-environment-uuid"),
        # GitHub's runners: actions/runner-container-hooks, packages/k8s/src/hooks/constants.ts.
        "runner-pod",
        # Drone: drone-runners/drone-runner-kube, engine/compiler/compiler.go.
        "io.drone",
        # Woodpecker, by its changelog and its page on the Kubernetes backend; before, see below.
        *("woodpecker-ci.org/step", "woodpecker-ci.org/task-uuid"),
        # An engine also watches a pod with its mark but without the labels that name its run.
        *(mark for engine in ENGINES for mark in engine.marks),
    }
)
HOOKS: Final = frozenset({"helm.sh/hook", "argocd.argoproj.io/hook"})
"""Annotations of Jobs and pods that install or upgrade something, mostly migrations of a database.

The installer waits for them by their names.
"""
_ANNOTATIONS: Final = frozenset(
    {
        *HOOKS,
        "job.runner.gitlab.com/id",
        *("buildUrl", "runUrl", "kubernetes.jenkins.io/last-refresh"),
        *("hub.jupyter.org/username", "hub.jupyter.org/servername"),
        "workflows.argoproj.io/node-name",
    }
)
_NOTEBOOK: Final = "singleuser-server"
"""JupyterHub's value of the label ``component``."""
_SNAKEMAKE: Final = "snakemake"
"""Snakemake's value of the label ``app`` on its bare pods (snakemake/executors, before its plugin
snakemake-executor-plugin-kubernetes made Jobs)."""


def is_polled(pod: Pod) -> bool:
    """Say whether the maker of a bare pod polls it."""
    labels = labels_of(pod)
    if _is_attended(pod):
        return True
    if not _LABELS.isdisjoint(labels) or labels.get("component") == _NOTEBOOK:
        return True
    if labels.get("app") == _SNAKEMAKE or not _ANNOTATIONS.isdisjoint(annotations_of(pod)):
        return True
    return _named_by_ci(pod)


def is_awaited(pod: Pod) -> bool:
    """Say whether an engine, or another maker that polls it, fails the pod if it starts late.

    It does so after minutes, whether it made the pod itself or a Job.
    """
    return engine_run(pod, labels_of(pod)) is not None or is_polled(pod)


def must_start_soon(pod: Pod) -> bool:
    """Say whether the pod's maker fails it, as a rule, if it is Pending for some minutes.

    Some engines do, and so does who polls a bare pod. Controllers of Kubernetes do not.
    """
    labels = labels_of(pod)
    run = engine_run(pod, labels)
    if run is not None:
        return limits_start(run)
    if controller_of(pod) is not None or not WAITING_MARKS.isdisjoint(labels):
        return False
    return is_polled(pod)


def _is_attended(pod: Pod) -> bool:
    """Say whether a person may type its input (``kubectl run -i``): a copy is no use to them."""
    containers = sequence(spec_of(pod).get("containers"))
    return any(mapping(container).get("stdin") is True for container in containers)


def _named_by_ci(pod: Pod) -> bool:
    """Say whether the name is one of a GitLab runner or of Woodpecker.

    Older GitLab runners write no labels of their own, and an older Woodpecker writes only ``step``
    (woodpecker-ci/woodpecker, pipeline/backend/kubernetes/pod.go).
    """
    metadata = metadata_of(pod)
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    if name.startswith("wp-"):
        return "step" in labels_of(pod)
    return name.startswith("runner-") and "-project-" in name and "-concurrent-" in name
