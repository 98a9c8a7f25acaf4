"""Names the namespaces that Plimsoll leaves alone: one set for every process and both webhooks.

In an excluded namespace no pod is sized, watched, resized, retried or deleted, nothing is learned,
and no object of Plimsoll's is made, changed or removed. The webhooks' selectors keep most requests
away. They may be older than the processes, or changed by hand; so each process also asks here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from plimsoll_operator.names.object_names import is_object_name

OWN_NAMESPACE: Final = "plimsoll"
"""The default name of Plimsoll's own namespace."""
ALWAYS: Final = frozenset({"kube-system"})
"""The namespaces that keep the cluster itself alive."""
NOBODYS: Final = "kube-system"
"""A selector of this namespace, with the excluded ones left out, selects nothing."""


def excluded_namespaces(names: str | Iterable[str], own: str | None = None) -> frozenset[str]:
    """Return the names and those that are always left alone.

    names: separated by commas, or one by one. own: Plimsoll's own namespace, which is added.

    Raises:
        ValueError: for a text that cannot be a namespace.

    >>> sorted(excluded_namespaces("monitoring, plimsoll"))
    ['kube-system', 'monitoring', 'plimsoll']
    """
    listed = names.split(",") if isinstance(names, str) else names
    found = {name.strip() for name in listed} - {""}
    for name in found:
        if not is_object_name(name):
            raise ValueError(f"{name!r:.80} is no namespace; write names, separated by commas")
    return ALWAYS | found | ({own} if own else set())


NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The API server sets this label on every namespace."""


def selector_of(excluded: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return a webhook's namespaceSelector for all namespaces but these."""
    of_others = {"key": NAME_LABEL, "operator": "NotIn", "values": sorted(excluded)}
    return {"matchExpressions": [of_others]}
