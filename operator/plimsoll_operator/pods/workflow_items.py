"""Which run of a workflow a pod belongs to, what it works on, and what is known of that.

Both are written by strangers: bounded, and what does not fit counts as not written. Needs of items
are kept apart by namespace: nobody is told of another's.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from plimsoll_operator.names import labels
from plimsoll_predictor.core.siblings import EARLIER, MOST_UPSTREAM, UPSTREAM, Siblings
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.model.columns import MAX_TEXT_CHARS

MAX_NAME_CHARS: Final = 128
"""Of a run or an item."""
MAX_TASK_CHARS: Final = MAX_TEXT_CHARS - len(UPSTREAM)
"""Of a task whose need is told to others: a longer feature's name would not be learned from."""

Context = Mapping[str, float]
"""Feature -> bytes needed: what was known of the item when a pod was decided."""
WrittenContext: TypeAlias = Annotated[
    dict[
        Annotated[str, Meta(max_length=MAX_TEXT_CHARS, pattern=rf"\A(?:{EARLIER}\Z|{UPSTREAM})")],
        Annotated[float, Meta(gt=0, le=sys.float_info.max)],
    ],
    Meta(max_length=MOST_UPSTREAM + 1),
]
"""A context as it stands on a pod, where strangers may write too."""
NO_CONTEXT: Final[Context] = {}


@dataclass(frozen=True, slots=True)
class Work:
    """What a pod is part of.

    run: of a workflow, all its tasks; None if nobody says.
    item: what is worked on: a sample, a partition, a date; None if nobody says.
    """

    run: str | None = None
    item: str | None = None


UNKNOWN_WORK: Final = Work()


def written_work(annotations: Mapping[str, Any], found: Mapping[str, Any]) -> Work:
    """What the pod's author wrote; an annotation wins over a label.

    found: the pod's labels.
    """
    return Work(
        bounded_name(annotations.get(labels.RUN) or found.get(labels.RUN)),
        bounded_name(annotations.get(labels.ITEM) or found.get(labels.ITEM)),
    )


def bounded_name(text: object) -> str | None:
    """A run's or item's name; None if it is none, too long or not printable."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_NAME_CHARS:
        return None
    return text if text.isprintable() else None


def place_of(task: TaskId, item: str) -> str:
    """The item among those of all namespaces; a namespace's name has no slash."""
    return f"{task.namespace}/{item}"


def context_of(task: TaskId, work: Work, siblings: Siblings) -> Context:
    """What is known now of the item that a pod of the task works on."""
    if work.item is None:
        return NO_CONTEXT
    return siblings.features(work.run, place_of(task, work.item), task.name)


def need_bytes(value: object) -> float:
    """A need as it comes from elsewhere.

    Raises:
        TypeError, ValueError: if it is no number above zero.

    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.50} is no size")
    if not 0 < value < math.inf:
        raise ValueError(f"{value!r:.50} is no size above zero")
    return float(value)
