"""Pods of Flyte, Dagster, Prefect and GitLab's runner.

flyteorg/flyte, as of 1.16.8; 2.0 has no flytepropeller, and nobody looked at its pods:

- flytepropeller/pkg/compiler/transformers/k8s/workflow.go: execution-id, workflow-name, shard-key
- flytepropeller/pkg/controller/nodes/node_exec_context.go: node-id, task-name, interruptible
- flytepropeller/pkg/controller/nodes/common/utils.go, ``GenerateUniqueID``: a node's name within
  others, as <parent>-<attempt of the parent>-<node>; a pod's name is <execution>-<that>-<attempt>
- flyteplugins/go/tasks/plugins/array/k8s: <execution>-<node>-<attempt>-<item>-<attempt of the
  item>, where a last 0 is left out
- flytepropeller/pkg/controller/nodes/array: <execution>-<node>-<attempt>-n<item>-<attempt of it>

dagster-io/dagster, python_modules/libraries/dagster-k8s/dagster_k8s/, as of 1.13.27 (dagster-k8s
0.29.27):

- launcher.py: run_worker; executor.py: step_worker; ops/k8s_job_op.py: k8s_job_op
- job.py, ``construct_dagster_k8s_job``: the same labels on Job and pod, cut to 63 characters

PrefectHQ/prefect, as of 3.8.3 with prefect-kubernetes 0.7.12:

- src/prefect/workers/base.py, ``_base_flow_run_labels`` and the like
- src/integrations/prefect-kubernetes/prefect_kubernetes/worker.py, ``_propagate_labels_to_pod``

gitlab-org/gitlab-runner (nobody wrote down which version):

- docs/executors/kubernetes/_index.md: "Default labels for job pods", "Default annotations for job
  pods"
"""

from __future__ import annotations

from functools import partial

from tests.builders.engines.runs import Chance, Json, Task, a_jobs_pod, a_pod


def flyte(chance: Chance, task: str, domain: str = "production", inside: str = "",
          items: str | None = None, attempt: int | None = None) -> Json:  # fmt: skip
    """A pod of a task, by default any of its first three attempts.

    inside: the beginning that a node has within other nodes. items: None, or the first letters of
    a map task's items: "" of the older ones, "n" of array nodes.
    """
    execution = f"a{chance.hexadecimal(19)}"
    labels = {
        "domain": domain,
        "execution-id": execution,
        "interruptible": "false",
        "node-id": "n0",
        "project": "shop",
        "shard-key": str(chance.number(30)),
        "task-name": task,
        "workflow-name": "workflows-etl-nightly",
    }
    name, tries = f"{execution}-{inside}n0", chance.number(3) if attempt is None else attempt
    if items is None:
        name = f"{name}-{tries}"
    elif items:
        name = f"{name}-0-{items}{chance.number(500)}-{tries}"
    else:
        name = f"{name}-0-{chance.number(500)}{f'-{tries}' if tries else ''}"
    owner = ("flyte.lyft.com/v1alpha1", "flyteworkflow", execution, chance.uid())
    return a_pod(name, labels=labels, owner=owner)


def dagster(chance: Chance, job: str, op: str | None = None, component: str = "step_worker",
            mapped: bool = False) -> Json:  # fmt: skip
    """A pod of a run's worker (no op), of a step's, or of an op that is a Job of Kubernetes."""
    run = chance.uid()
    key = f"{op}[{chance.letters(6)}]" if mapped else op
    labels = {
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/instance": "dagster",
        "app.kubernetes.io/name": "dagster",
        "app.kubernetes.io/part-of": "dagster",
        "app.kubernetes.io/version": "1.11.0",
        "dagster/code-location": "analytics",
        "dagster/job": job.strip("_"),
        "dagster/run-id": run,
    }
    if key is not None:
        labels["dagster/op"] = key.replace("[", "-").replace("]", "")
    name = f"dagster-run-{run}" if op is None else f"dagster-step-{chance.hexadecimal(32)}"
    pod = a_jobs_pod(name, chance.uid(), labels=labels, containers=("dagster",))
    variables = [{"name": "DAGSTER_RUN_JOB_NAME", "value": job}]
    if key is not None and component == "step_worker":
        variables.append({"name": "DAGSTER_RUN_STEP_KEY", "value": key})
    pod["spec"]["containers"][0]["env"] = variables
    return pod


ADJECTIVES = ("loutish", "quick", "amber", "gentle", "curious")
ANIMALS = ("mongrel", "otter", "swallow", "beetle", "stoat")


def prefect(chance: Chance, flow: str, deployment: str | None) -> Json:
    """A pod of a flow's run."""
    run = f"{chance.one_of(*ADJECTIVES)}-{chance.one_of(*ANIMALS)}"
    labels = {
        "prefect.io/flow-run-id": chance.uid(),
        "prefect.io/flow-run-name": run,
        "prefect.io/version": "3.4.0",
        "prefect.io/flow-id": chance.uid(),
        "prefect.io/flow-name": flow,
    }
    if deployment is not None:
        labels["prefect.io/deployment-name"] = deployment
        labels["prefect.io/deployment-id"] = chance.uid()
    job = f"{run}-{chance.ending()}"
    return a_jobs_pod(job, chance.uid(), labels=labels, containers=("prefect-job",))


def gitlab(chance: Chance, job: str, project: str = "shop", number: int = 42) -> Json:
    """A pod of a job of a pipeline."""
    identity = chance.number(10**9)
    prefix = f"runner-{chance.letters(9)}-project-{number}-concurrent-{chance.number(20)}"
    labels = {
        "job.runner.gitlab.com/pod": prefix,
        "manager.runner.gitlab.com/id-short": chance.letters(9),
        "manager.runner.gitlab.com/name": "runner",
        "pod": prefix,
        "project.runner.gitlab.com/id": str(number),
        "project.runner.gitlab.com/name": project,
        "project.runner.gitlab.com/namespace": "team",
        "project.runner.gitlab.com/namespace-id": "7",
        "project.runner.gitlab.com/root-namespace": "team",
    }
    notes = {
        "job.runner.gitlab.com/before_sha": chance.hexadecimal(40),
        "job.runner.gitlab.com/id": str(identity),
        "job.runner.gitlab.com/name": job.replace("{share}", f"{1 + chance.number(5)}/5"),
        "job.runner.gitlab.com/ref": chance.one_of("main", "feature/more"),
        "job.runner.gitlab.com/sha": chance.hexadecimal(40),
        "job.runner.gitlab.com/timeout": "1h0m0s",
        "job.runner.gitlab.com/url": f"https://gitlab.example.com/team/{project}/-/jobs/{identity}",
        "project.runner.gitlab.com/id": str(number),
    }
    return a_pod(f"{prefix}-{chance.ending(8)}", labels=labels, annotations=notes,
                 containers=("build", "helper"))  # fmt: skip


LONG = "a-name-of-a-flow-that-says-what-it-does-and-why-and-for-whom-too"

TASKS = (
    Task("flyte", "a task", partial(flyte, task="workflows-etl-load")),
    Task("flyte", "the same elsewhere", partial(flyte, task="workflows-etl-load", domain="dev")),
    Task("flyte", "a map task", partial(flyte, task="workflows-etl-scan", items="n")),
    Task("flyte", "an older one", partial(flyte, task="workflows-etl-old-scan", items="")),
    Task("flyte", "nested", partial(flyte, task="workflows-etl-join", inside="n1-0-")),
    Task("flyte", "too long", partial(flyte, task=LONG[:63]), recognised=0),
    Task("dagster", "a run's worker", partial(dagster, job="etl", component="run_worker")),
    Task("dagster", "a step", partial(dagster, job="etl", op="load")),
    Task("dagster", "a mapped step", partial(dagster, job="etl", op="scan", mapped=True)),
    Task("dagster", "a Job of it", partial(dagster, job="etl", op="load", component="k8s_job_op")),
    Task("dagster", "any assets", partial(dagster, job="__ASSET_JOB", component="run_worker"), 0),
    Task("dagster", "an asset", partial(dagster, job="__ASSET_JOB", op="orders")),
    Task("prefect", "a deployment", partial(prefect, flow="etl", deployment="nightly")),
    Task("prefect", "another", partial(prefect, flow="etl", deployment="hourly")),
    Task("prefect", "a flow alone", partial(prefect, flow="etl.nightly", deployment=None)),
    Task("prefect", "too long", partial(prefect, flow=LONG[:63], deployment=None), recognised=0),
    Task("gitlab", "a job", partial(gitlab, job="build")),
    Task("gitlab", "of another project", partial(gitlab, job="build", number=43)),
    Task("gitlab", "of a name", partial(gitlab, job="build", project="site", number=44)),
    Task("gitlab", "in parallel", partial(gitlab, job="test {share}")),
    Task("gitlab", "of a matrix", partial(gitlab, job="deploy: [eu/west, 1.2]")),
    Task("gitlab", "as if escaped", partial(gitlab, job="deploy: [eu%2Fwest, 1.2]")),
)
