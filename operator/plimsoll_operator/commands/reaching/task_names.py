"""Names of tasks that nobody knows: the ones that were probably meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from plimsoll_predictor.core.task import TaskId

NEAREST: Final = 3


class NothingToExplain(LookupError):
    """There is no such task or pod; says what there is."""


def nearest(named: TaskId, tasks: Sequence[TaskId]) -> str:
    """Name the tasks that were probably meant."""
    if not tasks:
        return "no task has been observed yet; is the --store right?"
    names = [str(task) for task in tasks]
    same = [str(task) for task in tasks if task.name == named.name]
    near = same or get_close_matches(str(named), names, n=NEAREST, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near[:NEAREST])}?"
    rest = f" and {len(names) - NEAREST} more" if len(names) > NEAREST else ""
    return f"there are {', '.join(names[:NEAREST])}{rest}"
