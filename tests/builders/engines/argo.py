"""Pods of Argo Workflows, as of 4.1.2.

argoproj/argo-workflows:

- workflow/common/common.go: the names of labels, annotations and variables
- workflow/controller/workflowpod.go, ``createWorkflowPod``: what is written on a pod
- workflow/controller/steps.go, dag.go, operator.go: names of nodes: ``wf[0].step``, ``wf.task``,
  ``wf.task(0:item)``, ``wf.task(1)`` for a retry, ``wf.onExit``
- workflow/util/pod_name.go, ``GeneratePodName``: <workflow>-<template>-<hash of the node's name>
- workflow/cron/operator.go, ``getChildWorkflowName``: <CronWorkflow>-<Unix seconds>

kubeflow/pipelines (nobody wrote down which version):

- backend/src/v2/compiler/argocompiler/container.go: all tasks of a pipeline have the template
  ``system-container-impl``
"""

from __future__ import annotations

import json
from functools import partial

from tests.builders.engines.runs import Chance, Json, Task, a_pod


def argo(
    chance: Chance, template: str, node: str = "", prefix: str = "etl-", cron: bool = False
) -> Json:
    """A pod of a step. node: what follows the workflow's name; {item} and {retry} vary."""
    ending = str(1_760_000_000 + chance.number(9_000_000)) if cron else chance.ending()
    workflow = f"{prefix}{ending}"
    number = chance.number(40)
    node = workflow + node.format(
        item=f"({number}:{chance.one_of('apple', 'pear', '2026.11.20')})", retry=f"({number % 3})"
    )
    written = json.dumps({"name": template, "container": {"image": "x", "args": [node]}})
    return a_pod(
        f"{workflow}-{template}-{chance.number(2**32)}",
        labels={
            "workflows.argoproj.io/workflow": workflow,
            "workflows.argoproj.io/completed": "false",
        },
        annotations={
            "kubectl.kubernetes.io/default-container": "main",
            "workflows.argoproj.io/node-id": f"{workflow}-{chance.number(2**32)}",
            "workflows.argoproj.io/node-name": node,
        },
        owner=("argoproj.io/v1alpha1", "Workflow", workflow, chance.uid()),
        containers=("wait", "main"),
        env={"ARGO_TEMPLATE": written, "ARGO_NODE_ID": node},
    )


KFP = "system-container-impl"

TASKS = (
    Task("argo", "one template", partial(argo, template="main", prefix="hello-world-")),
    Task("argo", "the same name elsewhere", partial(argo, template="main", prefix="train-")),
    Task("argo", "of a CronWorkflow", partial(argo, template="main", prefix="night-", cron=True)),
    Task("argo", "a step", partial(argo, template="load", node="[0].load")),
    Task("argo", "a step of another name", partial(argo, template="load", node="[1].load-eu")),
    Task("argo", "in a loop, retried", partial(argo, template="scan", node=".scan{item}{retry}")),
    Task("argo", "nested", partial(argo, template="x", node="[0].outer{item}[2].inner{item}")),
    Task("argo", "a pipeline's step", partial(argo, template=KFP, node=".root.train.executor")),
    Task("argo", "another of it", partial(argo, template=KFP, node=".root.score.executor")),
    Task("argo", "on exit", partial(argo, template="clean", node=".onExit")),
)
