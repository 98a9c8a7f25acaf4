"""Says whether a pod's affinities reach pods of other namespaces. Quotas may count by that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.objects import mapping, sequence

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def reaches_other_namespaces(spec: Mapping[str, Any]) -> bool:
    """Say whether a term of a pod's affinities names or selects namespaces.

    spec: of a pod. https://kubernetes.io/docs/concepts/policy/resource-quotas/ describes the scope
    ``CrossNamespacePodAffinity``.
    """
    affinity = mapping(spec.get("affinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = mapping(affinity.get(kind))
        weighed = sequence(terms.get(PREFERRED))
        inner = [mapping(mapping(term).get("podAffinityTerm")) for term in weighed]
        for term in [*map(mapping, sequence(terms.get(REQUIRED))), *inner]:
            if sequence(term.get("namespaces")) or term.get("namespaceSelector") is not None:
                return True
    return False
