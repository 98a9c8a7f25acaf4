"""Pods of Tekton, as of 1.15.0, and of Nextflow, as of 26.04.6.

tektoncd/pipeline:

- pkg/apis/pipeline/register.go: the labels' names
- pkg/pod/pod.go, ``makeLabels``: the labels of the TaskRun, and its own
- pkg/reconciler/pipelinerun/pipelinerun.go, ``createChildResourceLabels``: those of the TaskRun; a
  pipeline that is written into its run has the run's name
- pkg/pod/pod.go, ``Build``: <TaskRun>-pod, and <TaskRun>-pod-retry<n> for a retry

nextflow-io/nextflow, plugins/nf-k8s/src/main/nextflow/k8s/:

- K8sTaskHandler.groovy, ``getLabels`` and ``getSyntheticPodName``
- model/PodSpecBuilder.groovy, ``sanitizeValue``: cut to 63 characters first, made plain afterwards
"""

from __future__ import annotations

import re
from functools import partial

from tests.builders.engines.runs import Chance, Json, Task, a_jobs_pod, a_pod

SCIENTISTS = ("curie", "euler", "feynman", "noether", "turing", "meitner")
MOODS = ("mad", "happy", "nauseous", "sleepy", "golden", "tiny")


def tekton(chance: Chance, task: str, pipeline: str | None = None, run: str = "run-") -> Json:
    """A pod of a pipeline's task. pipeline: None if it is written into its run. run: its prefix."""
    name = f"{run}{chance.ending()}"
    task_run = f"{name}-{task}"
    labels = {
        "app.kubernetes.io/managed-by": "tekton-pipelines",
        "tekton.dev/memberOf": "tasks",
        "tekton.dev/pipeline": pipeline or name,
        "tekton.dev/pipelineRun": name,
        "tekton.dev/pipelineRunUID": chance.uid(),
        "tekton.dev/pipelineTask": task,
        "tekton.dev/task": "git-clone",
        "tekton.dev/taskRun": task_run,
        "tekton.dev/taskRunUID": chance.uid(),
    }
    owner = ("tekton.dev/v1", "TaskRun", task_run, chance.uid())
    pod = f"{task_run}-pod{chance.one_of('', '-retry1')}"
    return a_pod(pod, labels=labels, owner=owner, containers=("step-clone",))


def tekton_alone(chance: Chance, task: str) -> Json:
    """A pod of a TaskRun outside of pipelines."""
    run = f"{task}-run-{chance.ending()}"
    labels = {
        "app.kubernetes.io/managed-by": "tekton-pipelines",
        "tekton.dev/task": task,
        "tekton.dev/taskRun": run,
        "tekton.dev/taskRunUID": chance.uid(),
    }
    owner = ("tekton.dev/v1", "TaskRun", run, chance.uid())
    return a_pod(f"{run}-pod", labels=labels, owner=owner, containers=("step-x",))


def nextflow(chance: Chance, process: str, tag: str = "number", job: bool = False) -> Json:
    """A pod of one task of a process. tag: names its items; "number" is Nextflow's own count."""
    item = str(chance.number(900)) if tag == "number" else f"{tag}{chance.number(900)}"
    labels = {
        "nextflow.io/app": "nextflow",
        "nextflow.io/runName": f"{chance.one_of(*MOODS)}_{chance.one_of(*SCIENTISTS)}",
        "nextflow.io/taskName": sanitized(f"{process} ({item})"),
        "nextflow.io/processName": sanitized(process),
        "nextflow.io/sessionId": f"uuid-{chance.uid()}",
    }
    name = f"nf-{chance.hexadecimal(32)}-{chance.hexadecimal(5)}"
    if job:
        return a_jobs_pod(name, chance.uid(), labels=labels)
    return a_pod(name, labels=labels, containers=(name,))


def sanitized(text: str) -> str:
    """A text as Nextflow writes it into a label's value."""
    text = re.sub(r"[^a-zA-Z0-9._-]+", "_", text[:63])
    return re.sub(r"[^a-zA-Z0-9]+$", "", re.sub(r"^[^a-zA-Z0-9]+", "", text))


SAREK = "NFCORE_SAREK:SAREK:BAM_VARIANT_CALLING_SOMATIC_ALL:BAM_VARIANT_CALLING_SOMATIC_MUTECT2"
"""From nf-core/sarek, workflows/sarek/main.nf: many processes begin with it."""

TASKS = (
    Task("tekton", "a task", partial(tekton, pipeline="build", task="test")),
    Task("tekton", "another", partial(tekton, pipeline="build", task="compile")),
    Task("tekton", "the same of another", partial(tekton, pipeline="deploy", task="test")),
    Task("tekton", "a dot in the name", partial(tekton, pipeline="build.v2", task="test")),
    Task("tekton", "written into its run", partial(tekton, task="test", run="on-push-")),
    Task("tekton", "in no pipeline", partial(tekton_alone, task="build.test")),
    Task("nextflow", "numbered", partial(nextflow, process="ALIGN")),
    Task("nextflow", "tagged", partial(nextflow, process="NFCORE_RNASEQ:STAR", tag="sample_")),
    Task("nextflow", "in Jobs", partial(nextflow, process="MULTIQC", job=True)),
    Task("nextflow", "too long", partial(nextflow, process=f"{SAREK}:MUTECT2"), recognised=0),
    Task("nextflow", "as long", partial(nextflow, process=f"{SAREK}:FILTER"), recognised=0),
    Task("nextflow", "just not", partial(nextflow, process="A" * 27 + ":" + "B" * 27)),
)
