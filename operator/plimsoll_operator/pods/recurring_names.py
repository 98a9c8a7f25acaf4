"""Finds the name that recurs behind a name that was generated for one run.

Two tasks that are merged get each other's sizes, which may kill runs; a run that becomes a task of
its own is only not learned from. So an ending is taken off only where the pod shows who generated
it, or where nobody would have written it: ``load-tpcds``, ``sync-https`` and ``fetch-html5`` are
names that people write, and Kubernetes could have generated each of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.labels import JOB_NAME, MAX_NAME_CHARS
from plimsoll_operator.pods.owners import LONGEST_PREFIX, cronjob_of, is_job
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of, metadata_of

TEMPLATE_HASH: Final = "pod-template-hash"
"""Label of a ReplicaSet's pods: the ending that its Deployment gave the ReplicaSet's name."""
_NAMED_BY_PEOPLE: Final = frozenset({"DaemonSet", "StatefulSet"})
"""Kinds of owners that live as long as their task, so that their names recur as they are."""

# No vowels, 0, 1 or 3 in Kubernetes' own alphabet. A random ending has nearly always a letter after
# a digit (two of three with five characters, 19 of 20 with ten); words and versions rarely have.
_GENERATED: Final = re.compile(
    r"[-_.](?:(?=[a-z0-9]*[0-9][a-z])"
    r"(?:[bcdfghjklmnpqrstvwxz2456789]{5}|[bcdfghjklmnpqrstvwxz2456789]{8,10}|[0-9a-f]{7,64})"
    r"|[0-9]{8,}|[0-9]{8}[-tT]?[0-9]{4,6}[zZ]?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$"
)
_ONLY_GENERATED: Final = re.compile(r"[0-9]{6,}")


def recurring_name(name: str) -> str | None:
    """Return a name without endings that nobody writes, by its text alone; None if nothing is left.

    >>> recurring_name("nightly-report-28391234"), recurring_name("train-x7k2p")
    ('nightly-report', 'train')
    >>> recurring_name("load-tpcds"), recurring_name("fetch-html5")
    ('load-tpcds', 'fetch-html5')
    """
    if len(name) > MAX_NAME_CHARS:
        # No object has such a name, but admission sees what nobody has checked yet.
        return None
    root = name.rstrip("-_.")
    while match := _GENERATED.search(root):
        root = root[: match.start()].rstrip("-_.")
    return None if not root or _is_generated(root) else root


def name_by_owner(pod: Pod, owner: Mapping[str, Any]) -> str | None:
    """Return what recurs in the name of the pod's controller; None if all of it was generated."""
    name, kind = str(owner.get("name", "")), str(owner.get("kind"))
    if len(name) > MAX_NAME_CHARS:
        return None
    if kind in _NAMED_BY_PEOPLE:
        return name or None
    if is_job(owner):
        prefix = annotations_of(pod).get(JOB_NAME)
        if isinstance(prefix, str) and prefix and name.startswith(prefix[:LONGEST_PREFIX]):
            return recurring_name(prefix)
        if cronjob := cronjob_of(owner):
            return cronjob
    if kind == "ReplicaSet":
        ending = f"-{labels_of(pod).get(TEMPLATE_HASH)}"
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return recurring_name(name)


def name_by_itself(pod: Pod) -> str | None:
    """Return what recurs in the name of a bare pod; None if all of it was generated."""
    metadata = metadata_of(pod)
    return recurring_name(str(metadata.get("generateName") or metadata.get("name") or ""))


def _is_generated(root: str) -> bool:
    return bool(_GENERATED.search(f"-{root}") or _ONLY_GENERATED.fullmatch(root))
