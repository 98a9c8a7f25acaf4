"""Nextflow: a pod, or a Job's pod, for each task of a process."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.names.labels import MAX_LABEL_CHARS
from plimsoll_operator.names.objects import Pod
from plimsoll_operator.pods.engines.row import (
    Engine,
    EngineRun,
    Executions,
    Labels,
    joined,
    text,
)

_PROCESS: Final = "nextflow.io/processName"
_RUN: Final = "nextflow.io/runName"
_TASK: Final = "nextflow.io/taskName"
_TRIMMED: Final = 8
"""After the cut, Nextflow removes one or two characters at the end that are no letter or digit."""


def _read(_: Pod, pod_labels: Labels) -> EngineRun | None:
    process, run = text(pod_labels, _PROCESS), text(pod_labels, _RUN)
    if process is None or run is None:
        return None
    name = text(pod_labels, _TASK) or process
    tag = name.removeprefix(f"{process}_") if name.startswith(f"{process}_") else ""
    # Without a tag, Nextflow numbers a process' tasks in their order.
    item = None if tag.isdecimal() else tag
    task = joined("nextflow", process) if _is_whole(process, name) else None
    if _may_be_cut(name, tag):
        return EngineRun("nextflow", task, None, f"nextflow:{run}")
    return EngineRun(
        "nextflow",
        task,
        f"{run}:{name}",
        f"nextflow:{run}",
        item,
        # Tags need not differ: a sample's shards mostly have the sample's tag. A tag may be a
        # number, too, such as a chromosome's.
        executions=Executions.AT_ONCE,
    )


def _is_whole(process: str, task: str) -> bool:
    """Say whether a process' name is complete.

    Nextflow cuts texts to 63 characters, so the names of two processes may become one. A task's
    name begins with its process' name, and is longer if that was not cut.
    """
    return len(process) <= MAX_LABEL_CHARS - _TRIMMED or task.startswith(f"{process}_")


def _may_be_cut(task: str, tag: str) -> bool:
    """Say whether a task's name may be only a beginning, which others of its process have, too.

    Nextflow cuts it first and then writes one underscore for all other signs in a row, so each
    underscore in a tag may stand for two, as in ``a, b``.
    """
    return len(task) + tag.count("_") > MAX_LABEL_CHARS - _TRIMMED


NEXTFLOW: Final = Engine(
    "nextflow",
    _read,
    marks=(_PROCESS,),
    labels=(_RUN, _TASK),
    missing=(
        "a process whose name is longer than a label can be; write in the process,"
        " pod = [label: 'plimsoll.dev/task', value: '<name>']"
    ),
)
