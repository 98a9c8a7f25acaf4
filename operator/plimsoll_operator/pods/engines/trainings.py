"""Engines of training: JobSet, Kubeflow's Training Operator, and Ray.

Pods of Kubeflow's Trainer belong to a JobSet, which has its TrainJob's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.generated import (
    name_before_generated,
    surely_recurring,
)
from plimsoll_operator.names.objects import Pod, mapping, metadata_of, sequence
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, count, joined, text

_JOBSET: Final = "jobset.sigs.k8s.io/jobset-name"
_JOBSET_UID: Final = "jobset.sigs.k8s.io/jobset-uid"
_REPLICATED: Final = "jobset.sigs.k8s.io/replicatedjob-name"
_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
_OF_ONE_JOB: Final = {
    "jobset.sigs.k8s.io/global-replicas": 1,
    # Before JobSet 0.7 only these two say something of other Jobs, and not on each pod.
    "jobset.sigs.k8s.io/replicatedjob-replicas": 1,
    "jobset.sigs.k8s.io/job-global-index": 0,
}
"""Labels, and the largest number in each where a JobSet has one Job."""


def _jobset(_: Pod, pod_labels: Labels) -> EngineRun | None:
    name, replicated = text(pod_labels, _JOBSET), text(pod_labels, _REPLICATED)
    if name is None or replicated is None:
        return None
    # A JobSet that starts again makes its Jobs anew, with the same indexes. The index of a pod
    # within its Job is added to every run's key.
    whole = text(pod_labels, _JOBSET_UID) or name
    run = f"{whole}:{replicated}:{text(pod_labels, _JOB_INDEX) or '0'}"
    return EngineRun("jobset", joined("jobset", surely_recurring(name), replicated), run)


def has_other_jobs(pod_labels: Labels) -> bool:
    """Say whether a pod's labels show a JobSet of more than one Job."""
    return any((count(pod_labels.get(key)) or 0) > most for key, most in _OF_ONE_JOB.items())


JOBSET: Final = Engine(
    "jobset",
    _jobset,
    marks=(_JOBSET,),
    labels=(_JOBSET_UID, _REPLICATED, _JOB_INDEX),
    missing=(
        "a JobSet or TrainJob whose name was generated, or could have been: write metadata.name, or"
        " the label in the pod template of each replicatedJob"
    ),
)

_TRAINING: Final = "training.kubeflow.org/job-name"
_REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
_ROLE: Final = "training.kubeflow.org/job-role"
_REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"


def _training(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    name, role = text(pod_labels, _TRAINING), text(pod_labels, _REPLICA_TYPE, _ROLE)
    if name is None or role is None:
        return None
    owner = _controller(pod)
    kind, uid = (text(owner, "kind") or "job").lower(), text(owner, "uid") or name
    task = joined("kubeflow", kind, surely_recurring(name), role.lower())
    return EngineRun("kubeflow", task, f"{uid}:{role}:{text(pod_labels, _REPLICA_INDEX) or '0'}")


def _controller(pod: Pod) -> Mapping[str, Any]:
    """Return the owner reference of the pod's controller; empty if it has none."""
    references = map(mapping, sequence(metadata_of(pod).get("ownerReferences")))
    return next((each for each in references if each.get("controller") is True), {})


TRAINING_OPERATOR: Final = Engine(
    "kubeflow",
    _training,
    marks=(_TRAINING,),
    labels=(_REPLICA_TYPE, _ROLE, _REPLICA_INDEX),
    main_containers=("pytorch", "tensorflow", "mpi", "xgboost", "paddle", "jax"),
    missing=(
        "a PyTorchJob or the like whose name was generated, or could have been: write"
        " metadata.name, or the label in the template of each replica"
    ),
)

_CLUSTER: Final = "ray.io/cluster"
_GROUP: Final = "ray.io/group"
_HEADS: Final = "headgroup"
"""KubeRay's name for the group of a cluster's one head."""
_SERVES: Final = "ray.io/serve"


def _ray(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    cluster, group = text(pod_labels, _CLUSTER), text(pod_labels, _GROUP)
    if cluster is None or group is None:
        return None
    # The pods do not say what their cluster was made for. KubeRay makes the name of a RayJob's
    # cluster, with an ending like the API server's.
    stem = name_before_generated(cluster)
    return EngineRun(
        "ray",
        None if _SERVES in pod_labels else _rays_task(cluster, group, stem),
        # A lost worker is made again under another name; only its group is the same. A cluster
        # that is deleted and made again keeps its name.
        f"{text(_controller(pod), 'uid') or cluster}:{group}",
        # A RayJob that is tried again makes another cluster.
        outlives_pod=stem == cluster,
        # Ray gives a lost worker's tasks to the others.
        shares_work=group != _HEADS,
    )


def _rays_task(cluster: str, group: str, stem: str | None) -> str | None:
    if stem is None or stem == cluster:
        return joined("ray", "raycluster", stem, group)
    return joined("ray", "rayjob", surely_recurring(stem.removesuffix("-raycluster")), group)


RAY: Final = Engine(
    "ray",
    _ray,
    marks=(_CLUSTER,),
    labels=(_GROUP, _SERVES),
    main_containers=("ray-head", "ray-worker"),
    missing=(
        "a RayService (its pods are a service), or a RayJob whose own name was generated: write"
        " metadata.name, or the label in the template of each group"
    ),
)
