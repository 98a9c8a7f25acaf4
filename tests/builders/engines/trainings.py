"""Pods of JobSet, of Kubeflow's Trainer and Training Operator, and of Ray.

kubernetes-sigs/jobset, as of 0.12.0, which writes more labels than the fixtures have:

- api/jobset/v1alpha2/jobset_types.go: the labels' names
- pkg/controllers/jobset_controller.go, ``labelAndAnnotateObject``: their values, on Jobs and pods
- pkg/util/placement/placement.go, ``GenJobName``: <JobSet>-<replicatedJob>-<index>

kubeflow/trainer, as of 2.3.0:

- pkg/runtime/framework/plugins/jobset: a JobSet of the TrainJob's name
- manifests/base/runtimes: its replicatedJobs are called node, dataset-initializer,
  model-initializer

kubeflow/sdk (nobody wrote down which version):

- kubeflow/trainer/backends/kubernetes/backend.py: a name of a letter and eleven hexadecimal digits

kubeflow/training-operator, as of 1.9.0:

- pkg/apis/kubeflow.org/v1/common_types.go: the labels' names
- pkg/controller.v1/common/pod.go, ``createNewPod``: their values
- pkg/core/utils.go, ``GenGeneralName``: <job>-<type>-<index>

ray-project/kuberay, ray-operator/controllers/ray/, as of 1.7.0:

- utils/constant.go: the labels' names
- common/pod.go, ``labelPod``, ``BuildPod``: their values, and ray.io/serve on all pods of a
  RayService. Its ray.io/originated-from-* are on clusters, services and Jobs, never on these pods,
  in no version from 1.1 on
- utils/util.go, ``PodName``: <cluster>-head-<random>, <cluster>-<group>-worker-<random>
- utils/util.go, ``GenerateRayClusterName``: <RayJob>-<random>, -raycluster- between them before 1.4
"""

from __future__ import annotations

from functools import partial

from tests.builders.engines.runs import Chance, Json, Task, a_jobs_pod, a_pod


def jobset(chance: Chance, name: str, replicated: str, random: bool = False) -> Json:
    """A pod of a JobSet that people named, or (random) that was created with generateName."""
    jobset_name = f"{name}-{chance.ending()}" if random else name
    return _jobset(chance, jobset_name, replicated)


def trainjob(chance: Chance, name: str, step: str = "node") -> Json:
    """A pod of a TrainJob that people named. step: of its runtime, such as dataset-initializer."""
    return _jobset(chance, name, step)


def sdks_trainjob(chance: Chance) -> Json:
    """A pod of a TrainJob that Kubeflow's SDK has named."""
    return _jobset(chance, chance.letters(1, "abcdefghijklmnopqrstuvwxyz") + chance.hexadecimal(11),
                   "node")  # fmt: skip


def _jobset(chance: Chance, name: str, replicated: str) -> Json:
    index = chance.number(8)
    job = f"{name}-{replicated}-{index}"
    labels = {
        "jobset.sigs.k8s.io/jobset-name": name,
        "jobset.sigs.k8s.io/jobset-uid": chance.uid(),
        "jobset.sigs.k8s.io/replicatedjob-name": replicated,
        "jobset.sigs.k8s.io/replicatedjob-replicas": "8",
        "jobset.sigs.k8s.io/job-index": str(index),
        "jobset.sigs.k8s.io/job-global-index": str(index),
        "jobset.sigs.k8s.io/job-key": chance.hexadecimal(40),
        "jobset.sigs.k8s.io/restart-attempt": str(chance.number(3)),
    }
    pod = a_jobs_pod(job, chance.uid(), labels=labels, index=chance.number(4), restart="OnFailure")
    pod["metadata"]["annotations"] |= labels
    return pod


def training(chance: Chance, name: str, role: str, kind: str = "PyTorchJob") -> Json:
    """A pod of the Training Operator."""
    index = str(chance.number(8))
    labels = {
        "training.kubeflow.org/job-name": name,
        "training.kubeflow.org/operator-name": f"{kind.lower()}-controller",
        "training.kubeflow.org/replica-index": index,
        "training.kubeflow.org/replica-type": role,
    }
    if role == "master":
        labels["training.kubeflow.org/job-role"] = "master"
    owner = ("kubeflow.org/v1", kind, name, chance.uid())
    pod = f"{name}-{role}-{index}"
    return a_pod(pod, labels=labels, owner=owner, restart="OnFailure", containers=("pytorch",))


def trial(chance: Chance, experiment: str) -> Json:
    """A worker of a PyTorchJob that Katib made for a trial; see ``jobs.trial``."""
    return training(chance, f"{experiment}-{chance.ending(8)}", "worker")


def ray(chance: Chance, name: str, group: str, of: str = "RayJob", old: bool = False) -> Json:
    """A pod of a cluster of Ray. of: the kind that people made."""
    cluster = name
    if of != "RayCluster":
        cluster = f"{name}-raycluster-{chance.ending()}" if old else f"{name}-{chance.ending()}"
    role = "head" if group == "headgroup" else "worker"
    labels = {
        "app.kubernetes.io/created-by": "kuberay-operator",
        "app.kubernetes.io/name": "kuberay",
        "ray.io/cluster": cluster,
        "ray.io/group": group,
        "ray.io/identifier": f"{cluster}-{role}",
        "ray.io/is-ray-node": "yes",
        "ray.io/node-type": role,
    }
    if of == "RayService":
        labels["ray.io/serve"] = str(role == "worker").lower()
    owner = ("ray.io/v1", "RayCluster", cluster, chance.uid())
    stem = cluster if role == "head" else f"{cluster}-{group}"
    return a_pod(prefix=f"{stem}-{role}-", labels=labels, owner=owner,
                 restart="Always", containers=(f"ray-{role}",))  # fmt: skip


TASKS = (
    Task("kubeflow", "workers", partial(training, name="bert", role="worker")),
    Task("kubeflow", "the master", partial(training, name="bert", role="master")),
    Task("kubeflow", "of a kind", partial(training, name="bert", role="worker", kind="TFJob")),
    Task("kubeflow", "as if generated", partial(training, name="load-tpcds", role="worker"), 0),
    Task("kubeflow", "a trial", partial(trial, experiment="bayes"), 0.7),
    Task("ray", "workers", partial(ray, name="tune", group="cpu")),
    Task("ray", "of older KubeRay", partial(ray, name="sweep", group="cpu", old=True)),
    Task("ray", "other workers", partial(ray, name="tune", group="gpu")),
    Task("ray", "the head", partial(ray, name="tune", group="headgroup")),
    Task("ray", "a cluster of the name", partial(ray, name="tune", group="cpu", of="RayCluster")),
    Task("ray", "a service", partial(ray, name="serve", group="cpu", of="RayService"), 0),
    Task("ray", "its head", partial(ray, name="serve", group="headgroup", of="RayService"), 0),
    Task("jobset", "workers", partial(jobset, name="pretrain", replicated="workers")),
    Task("jobset", "its driver", partial(jobset, name="pretrain", replicated="driver")),
    Task("jobset", "another's workers", partial(jobset, name="finetune", replicated="workers")),
    Task("jobset", "dots", partial(jobset, name="pre.train", replicated="workers")),
    # A third of the API server's endings look like words.
    Task("jobset", "generated", partial(jobset, name="eval", replicated="w", random=True), 0.6),
    Task("jobset", "a TrainJob", partial(trainjob, name="tune-bert")),
    Task("jobset", "its data", partial(trainjob, name="tune-bert", step="dataset-initializer")),
    Task("jobset", "a TrainJob of the SDK", sdks_trainjob, recognised=0),
    Task("jobset", "as if generated", partial(jobset, name="load-tpcds", replicated="w"), 0),
    Task("jobset", "the same", partial(jobset, name="load-https", replicated="w"), 0),
)
