"""The list of where each pod's items begin, as a variable of a Job over items.

A Job whose chunks differ has the same list in all its pods: the first item of each pod, in the
order of indexes, and the number of all items at the end. A pod's own chunk is at its index.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Final

from plimsoll_operator.pods.identity import COMPLETION_INDEX
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of

STARTS: Final = "PLIMSOLL_STARTS"
MOST_STARTS_BYTES: Final = 16 * 1024
"""For all such variables of a pod together. Linux takes eight times as much for one, but the API
server keeps a copy for each pod of the Job: hundreds of MB for thousands of pods."""
_MOST_CHARS: Final = 16


def starts_text(sizes: Iterable[int]) -> str:
    """Return the variable's value for chunks of these sizes.

    >>> starts_text([27, 27, 4])
    '0 27 54 58'
    """
    return " ".join(map(str, accumulate(sizes, initial=0)))


def most_listed(items: int, variables: int) -> int:
    """Return how many pods the list may have, for so many variables and any chunks."""
    return MOST_STARTS_BYTES // max(1, variables) // (len(str(items)) + 1) - 1


def sizes_in(text: str, items: int, pods: int) -> tuple[int, ...] | None:
    """Return the sizes of all pods' chunks; None if they do not share these items."""
    numbers = [_number(each) for each in text.split()]
    known = [each for each in numbers if each is not None]
    if len(known) != len(numbers) or len(known) != pods + 1:
        return None
    sizes = tuple(after - first for first, after in pairwise(known))
    return sizes if (known[0], known[-1]) == (0, items) and min(sizes) >= 0 else None


def own_items(pod: Pod, text: object) -> int | None:
    """Return how many items the pod has by its list; None if the list does not have this pod.

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
