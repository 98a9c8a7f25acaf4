"""The list of where each pod's items begin, as a variable of a Job over items.

A Job whose chunks differ has it, in all of its pods alike: the first item of each pod, in the order
of indexes, and how many items there are at its end. A pod's own chunk is at its index.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Final

from plimsoll_operator.pods.identity import COMPLETION_INDEX
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of

STARTS: Final = "PLIMSOLL_STARTS"
MOST_STARTS_BYTES: Final = 16 * 1024
"""Of all such variables of a pod. Linux takes eight times as much of one, but each pod of the Job
has a copy, which the API server keeps: thousands of pods would have it keep hundreds of MB."""
_MOST_CHARS: Final = 16


def starts_text(sizes: Iterable[int]) -> str:
    """Return the variable's value for chunks of these sizes.

    >>> starts_text([27, 27, 4])
    '0 27 54 58'
    """
    return " ".join(map(str, accumulate(sizes, initial=0)))


def most_listed(items: int, variables: int) -> int:
    """Return of how many pods the list fits so many variables, whatever their chunks are."""
    return MOST_STARTS_BYTES // max(1, variables) // (len(str(items)) + 1) - 1


def sizes_in(text: str, items: int, pods: int) -> tuple[int, ...] | None:
    """Return the sizes of all pods' chunks; None if they are not these items among these pods."""
    numbers = [_number(each) for each in text.split()]
    known = [each for each in numbers if each is not None]
    if len(known) != len(numbers) or len(known) != pods + 1:
        return None
    sizes = tuple(after - first for first, after in pairwise(known))
    return sizes if (known[0], known[-1]) == (0, items) and min(sizes) >= 0 else None


def own_items(pod: Pod, text: object) -> int | None:
    """Return how many items the pod has by its list; None if it says nothing of this pod.

    text: the value of its variable.
    """
    told = annotations_of(pod).get(COMPLETION_INDEX) or labels_of(pod).get(COMPLETION_INDEX)
    index = _number(told)
    if index is None or not isinstance(text, str):
        return None
    first, after = (
        _number(each)
        for each in [*text.split(maxsplit=index + 2)[index : index + 2], None, None][:2]
    )
    return None if first is None or after is None or after < first else after - first


def _number(text: object) -> int | None:
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal():
        return None
    return int(text) if len(text) <= _MOST_CHARS else None
