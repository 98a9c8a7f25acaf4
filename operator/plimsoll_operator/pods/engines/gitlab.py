"""GitLab's runner: a pod for each job of a pipeline, which the runner alone watches."""

from __future__ import annotations

import re
from typing import Final

from plimsoll_operator.names.objects import Pod, annotations_of
from plimsoll_operator.pods.engines.row import (
    Engine,
    EngineRun,
    Executions,
    Labels,
    joined,
    text,
)

_JOB: Final = "job.runner.gitlab.com/name"
_JOB_ID: Final = "job.runner.gitlab.com/id"
_SHA: Final = "job.runner.gitlab.com/sha"
_REF: Final = "job.runner.gitlab.com/ref"
_PROJECT: Final = "project.runner.gitlab.com/id"
_PROJECT_NAME: Final = "project.runner.gitlab.com/name"
_SHARE: Final = re.compile(r" [0-9]{1,4}/[0-9]{1,4}$")
"""The ending that ``parallel: 5`` adds to a job's name."""


def _read(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    notes = annotations_of(pod)
    project, name = text(pod_labels, _PROJECT) or text(notes, _PROJECT), text(notes, _JOB)
    if project is None or name is None:
        return None
    # Two projects in two groups may have the same name in their label; their numbers differ.
    label = text(pod_labels, _PROJECT_NAME)
    where = f"{label}-{project}" if label else project
    # A job that is tried again has another number but the same commit.
    of = ":".join(text(notes, key) or "" for key in (_REF, _SHA))
    known = of != ":"
    key = f"{project}:{name}:{of}" if known else f"{project}:{text(notes, _JOB_ID)}"
    task = joined("gitlab", where, _plain(_SHARE.sub("", name)))
    # So has the job of a later pipeline, as of each night, if nobody committed meanwhile.
    executions = Executions.IN_TURN if known else Executions.ONE
    return EngineRun("gitlab", task, key, outlives_pod=known, executions=executions)


def _plain(name: str) -> str:
    # A task's name has no slash, and two different names must stay different.
    return name.replace("%", "%25").replace("/", "%2F").replace(".", "%2E")


GITLAB: Final = Engine(
    "gitlab",
    _read,
    marks=("job.runner.gitlab.com/pod", _PROJECT),
    labels=(_PROJECT_NAME,),
    annotations=(_JOB, _JOB_ID, _SHA, _REF, _PROJECT),
    note_marks=(_JOB_ID,),
    main_containers=("build",),
    limits_start=True,  # poll_timeout
    missing=(
        "a runner that is older than its annotations: update it, or write the variable"
        " KUBERNETES_POD_LABELS_1: plimsoll.dev/task=<name> of the job, if the runner's"
        " pod_labels_overwrite_allowed lets it"
    ),
)
