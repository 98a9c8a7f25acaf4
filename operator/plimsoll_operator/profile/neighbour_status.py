"""Makes the part of a TaskProfile's status about neighbours on a node.

A reader of a profile may not be allowed to see other namespaces, so their tasks are not named.
Figures have two digits, because each change of the status costs a patch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from plimsoll_predictor.core.durations import two_digits
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.telling import Neighbour, Neighbours

ANOTHER: Final = "a task of another namespace"


def neighbour_status(task: TaskId, neighbours: Neighbours) -> dict[str, Any] | None:
    """Return the status' field ``neighbours``; None while nothing is known about the task."""
    best, worst = _facts(task, neighbours.best), _facts(task, neighbours.worst)
    if not best and not worst:
        return None
    parts = [
        f"gets along with {_listed(best)}" if best else "",
        f"slowed by {_listed(worst)}" if worst else "",
    ]
    return {"text": "; ".join(filter(None, parts)), "best": best, "worst": worst}


def _facts(task: TaskId, all_beside: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [
        {
            "task": _name(task, beside.kind),
            "times": two_digits(beside.slowdown.times),
            "low": two_digits(beside.slowdown.low),
            "high": two_digits(beside.slowdown.high),
        }
        for beside in all_beside
    ]


def _name(task: TaskId, kind: str) -> str:
    namespace, _, name = kind.partition("/")
    return name if namespace == task.namespace else ANOTHER


def _listed(facts: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{each['task']} ({each['times']:.1f}×)" for each in facts)
