"""Reads what a pod asks of a node, and what a node has, in whole units by the resource's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.quantity import BadQuantity, parse_bytes, parse_millicores
from plimsoll_operator.pods.spec import (
    Pod,
    RestartPolicy,
    mapping,
    overhead_of,
    sequence,
    spec_of,
)

PODS: Final = "pods"
UNBOUNDED: Final = frozenset({"cpu", "memory", "ephemeral-storage", PODS})
"""Every node has some of these: a node that does not say how much has enough. A node has none of
any other resource that it does not name, such as GPUs."""

Amounts = Mapping[str, int]
"""Thousandths of a core, bytes, or how many."""
Asked = tuple[tuple[str, int], ...]
"""The same in the order of names, so that it is equal for pods that ask alike."""


def amounts_of(document: object) -> dict[str, int]:
    """Read quantities by their names; leave out those that cannot be read."""
    found: dict[str, int] = {}
    for name, text in mapping(document).items():
        try:
            found[str(name)] = parse_millicores(text) if name == "cpu" else parse_bytes(text)
        except BadQuantity:
            continue
    return found


def asked_by(pod: Pod) -> Asked:
    """Return what a pod asks of its node, by the scheduler's rule; the pod itself counts as one."""
    spec = spec_of(pod)
    together = Counter[str]()
    for container in sequence(spec.get("containers")):
        together.update(_requests(container))
    largest: dict[str, int] = {}
    for container in map(mapping, sequence(spec.get("initContainers"))):
        if container.get("restartPolicy") == RestartPolicy.ALWAYS:
            together.update(_requests(container))
            continue
        for name, amount in _requests(container).items():
            largest[name] = max(largest.get(name, 0), amount)
    asked = {name: max(amount, largest.get(name, 0)) for name, amount in together.items()}
    asked = {**largest, **asked, **_requests(spec)}
    total = Counter(asked)
    total.update(amounts_of(overhead_of(pod)))
    total[PODS] = 1
    return tuple(sorted((name, amount) for name, amount in total.items() if amount))


def fits(asked: Asked, free: Amounts) -> bool:
    """Say whether a node has enough left. free: what is left of the resources that it names."""
    return all(
        amount <= free[name] if name in free else name in UNBOUNDED for name, amount in asked
    )


def times_it_fits(asked: Asked, free: Amounts, most: int) -> int:
    """Return for how many pods that ask alike a node has room; ``most`` at most."""
    if not fits(asked, free):
        return 0
    return min([most, *(free[name] // amount for name, amount in asked if name in free)])


def _requests(container: Any) -> dict[str, int]:
    resources = mapping(mapping(container).get("resources"))
    return {**amounts_of(resources.get("limits")), **amounts_of(resources.get("requests"))}
