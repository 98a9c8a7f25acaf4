"""Removes from a name what was generated for one run, by the text of the name alone. Pure.

If two tasks are merged, they get each other's sizes, which may kill runs. If a run becomes a task
of its own, it is only not learned from. So an ending is removed only where nobody would have
written it: ``load-tpcds``, ``sync-https`` and ``fetch-html5`` are names that people write, and
Kubernetes could have generated each of them.
"""

from __future__ import annotations

import re
from typing import Final

from plimsoll_operator.names.labels import MAX_NAME_CHARS

# Kubernetes' own alphabet has no vowels, 0, 1 or 3. A random ending mostly has a letter after a
# digit (two of three with five characters, 19 of 20 with ten); words and versions rarely have one.
# A whole date, with or without a time, belongs to one run: scripts append what ``date`` prints.
# Dimensions tell tasks apart (2x2x4, 1024x768, 8x22b). One in 700 of the API server's endings looks
# like them, and its run becomes a task of its own.
_GENERATED: Final = re.compile(
    r"[-_.](?![0-9]+(?:x[0-9]+)+[a-z]?$)(?:(?=[a-z0-9]*[0-9][a-z])"
    r"(?:[bcdfghjklmnpqrstvwxz2456789]{5}|[bcdfghjklmnpqrstvwxz2456789]{8,10}|[0-9a-f]{7,64})"
    r"|[0-9]{8,}|[0-9]{8}[-tT]?[0-9]{4,6}[zZ]?"
    r"|20[0-9]{2}[-.](?:0[1-9]|1[0-2])[-.](?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[-.tT][0-9]{2}(?:[-.]?[0-9]{2}){1,2}[zZ]?)?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$"
)
_ONLY_GENERATED: Final = re.compile(r"[0-9]{6,}")
_BY_API_SERVER: Final = re.compile(r"[-_.][bcdfghjklmnpqrstvwxz2456789]{5}$")
_LONG_DRAWN: Final = (
    r"(?![0-9]+(?:x[0-9]+)+[a-z]?$)[bcdfghjklmnpqrstvwxz2456789]{8,10}"  # no dimensions
)
"""Letters of Kubernetes' alphabet, as many as no word has without a vowel."""
_PERHAPS_DRAWN: Final = re.compile(rf"(?:^|[-_.]){_LONG_DRAWN}$")
_PERHAPS_GENERATED: Final = re.compile(
    r"(?:^|[-_.])(?:[bcdfghjklmnpqrstvwxz2456789]{5}|[0-9a-f]{7,64}|[a-z][0-9a-f]{11}"
    rf"|{_LONG_DRAWN})$"
)
"""Also endings that a person may have written: endings of the API server, of controllers and of
uuid without a letter after a digit, and the names that Kubeflow's SDK makes up."""


def recurring_name(name: str) -> str | None:
    """Return a name without endings that nobody writes, by its text alone; None if nothing is left.

    >>> recurring_name("nightly-report-28391234"), recurring_name("train-x7k2p")
    ('nightly-report', 'train')
    >>> recurring_name("load-tpcds"), recurring_name("fetch-html5")
    ('load-tpcds', 'fetch-html5')
    """
    if len(name) > MAX_NAME_CHARS:
        # No object has such a name, but admission sees names that nobody has checked yet.
        return None
    root = name.rstrip("-_.")
    while match := _GENERATED.search(root):
        root = root[: match.start()].rstrip("-_.")
    return None if not root or _is_generated(root) else root


def surely_recurring(name: str) -> str | None:
    """Return the recurring name as above; None also if it is unclear what was generated.

    It is for names that people mostly write. It loses some of these names.

    >>> surely_recurring("train-x7k2p"), surely_recurring("train-demand")
    ('train', 'train-demand')
    >>> surely_recurring("load-tpcds") is surely_recurring("a1b2c3d4e5f6") is None
    True
    """
    root = recurring_name(name)
    return None if root is None or _PERHAPS_GENERATED.search(root) else root


def may_be_drawn(name: str) -> bool:
    """Say whether a controller may have drawn the ending, as Katib does for each of its trials.

    It is for names without the API server's endings.

    >>> may_be_drawn("random-bcdfghjk"), may_be_drawn("load-tpcds"), may_be_drawn("fft-64x64x64")
    (True, False, False)
    """
    root = recurring_name(name)
    return root is not None and bool(_PERHAPS_DRAWN.search(root))


def name_before_generated(name: str) -> str | None:
    """Return what stands before the API server's ending, for names that nearly always have one.

    >>> name_before_generated("load-tpcds"), name_before_generated("nightly-etl")
    ('load', 'nightly-etl')
    """
    if len(name) > MAX_NAME_CHARS:
        return None
    ending = _BY_API_SERVER.search(name)
    return recurring_name(name[: ending.start()] if ending else name)


def _is_generated(root: str) -> bool:
    return bool(_GENERATED.search(f"-{root}") or _ONLY_GENERATED.fullmatch(root))
