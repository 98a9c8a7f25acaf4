"""Reads a pod's run of a workflow and its item, and looks up the needs of this item.

Strangers write both: a long text is cut and gets a hash, and a text that cannot be printed counts
as absent. Needs of items are separate by namespace: nobody sees another namespace's needs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from plimsoll_operator.names import labels
from plimsoll_predictor.core.bounded_text import MOST_ITEM_BYTES, bounded
from plimsoll_predictor.core.item_needs import EARLIER, MOST_UPSTREAM, UPSTREAM, Siblings
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.model.columns import MAX_TEXT_CHARS

MAX_TASK_BYTES: Final = MAX_TEXT_CHARS - len(UPSTREAM)
"""The longest name of a task whose need other tasks see; longer feature names are not learned."""

Context: TypeAlias = Annotated[
    Mapping[
        Annotated[str, Meta(max_length=MAX_TEXT_CHARS, pattern=rf"\A(?:{EARLIER}\Z|{UPSTREAM})")],
        Annotated[float, Meta(gt=0, le=sys.float_info.max)],
    ],
    Meta(max_length=MOST_UPSTREAM + 1),
]
"""Feature -> bytes needed, as known for the item when a pod was decided.

The bounds are for the annotation on a pod, which strangers may write, too.
"""
NO_CONTEXT: Final[Context] = {}


@dataclass(frozen=True, slots=True)
class Work:
    """A pod's part of a workflow; None if unknown.

    run: of the workflow, with all its tasks. item: a sample, a partition or a date.
    """

    run: str | None = None
    item: str | None = None


UNKNOWN_WORK: Final = Work()


def written_work(annotations: Mapping[str, Any], pod_labels: Mapping[str, Any]) -> Work:
    """Return the work that the pod's author wrote; an annotation wins over a label."""
    return Work(
        bounded_name(annotations.get(labels.RUN) or pod_labels.get(labels.RUN)),
        bounded_name(annotations.get(labels.ITEM) or pod_labels.get(labels.ITEM)),
    )


def bounded_name(text: object) -> str | None:
    """Return a run's or item's name; None if it is empty or not printable."""
    # The rest of a long name is not kept, so its content does not matter.
    if not isinstance(text, str) or not text or not text[:MOST_ITEM_BYTES].isprintable():
        return None
    return bounded(text, MOST_ITEM_BYTES)


def place_of(task: TaskId, item: str) -> str:
    """Return the item's name among all namespaces; a namespace's name has no slash."""
    return f"{task.namespace}/{item}"


def context_of(task: TaskId, work: Work, siblings: Siblings) -> Context:
    """Return the needs known now for the item that a pod of the task works on."""
    if work.item is None:
        return NO_CONTEXT
    return siblings.features(work.run, place_of(task, work.item), task.name)


def need_bytes(value: object) -> float:
    """Return a need from another process.

    Raises:
        TypeError, ValueError: if it is no number above zero.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.50} is no size")
    if not 0 < value < math.inf:
        raise ValueError(f"{value!r:.50} is no size above zero")
    return float(value)
