"""Finds the largest node that a pod may run on, among classes of nodes that are alike.

The nodes come as a few classes, with the largest node of each, so thousands of nodes cost a pod no
time. A cap needs certainty: there is no cap if a pod selects by labels that the classes do not
have, or if no class fits it now (its pool is scaled to zero). An extended resource that no class
has (a GPU whose pool is scaled to zero, or a feed from an older controller) leaves the other nodes'
cap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from plimsoll_operator.pods.spec import Pod, mapping, spec_of
from plimsoll_operator.sizing.bounds.selecting import (
    Taint,
    Toleration,
    Wanted,
    read_extended,
    read_tolerations,
    read_wanted,
)
from plimsoll_predictor.core.documents import Count, from_document

MOST_TOLERATIONS: Final = 64
"""A pod with more tolerations of the nodes' taints gets no cap: to find it would cost too much."""


class _ClassDocument(msgspec.Struct):
    labels: list[int]
    taints: list[tuple[str, str, str]]
    memory_bytes: Count
    millicores: Count | None
    extended: tuple[int, ...] = ()


class _NodesDocument(msgspec.Struct):
    labels: list[tuple[str, str]]
    classes: list[_ClassDocument]
    karpenter: bool = False
    extended: tuple[str, ...] = ()
    """An older controller writes none, and an older admission does not read them."""


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that are alike to every pod, and what pods may get on the largest of them.

    labels: those that count. taints: only those that keep a pod away.
    millicores: of the node with the most memory; None if it does not say.
    extended: the names of the extended resources that they have, such as GPUs.
    """

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    memory_bytes: int
    millicores: int | None = None
    extended: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Nodes:
    """A cluster's classes of nodes, those with the most memory first.

    label_keys: of all classes; if a pod selects by other labels, its class is unknown.
    taint_keys: of all classes; other tolerations change nothing.
    plain: the class of a pod that selects and tolerates nothing; None if there is none.
    extended: of all classes; other resources that a pod asks for are unknown.
    karpenter: whether Karpenter made any node that was seen.
    """

    classes: tuple[NodeClass, ...] = ()
    label_keys: frozenset[str] = frozenset()
    taint_keys: frozenset[str] = frozenset()
    plain: NodeClass | None = None
    extended: frozenset[str] = frozenset()
    karpenter: bool = False

    @classmethod
    def of(cls, classes: Sequence[NodeClass]) -> Nodes:
        """Order and index the classes."""
        ordered = sorted(classes, key=_order)
        return cls(
            tuple(ordered),
            frozenset(key for one in ordered for key in one.labels),
            frozenset(taint.key for one in ordered for taint in one.taints),
            next((one for one in ordered if not one.taints), None),
            frozenset(name for one in ordered for name in one.extended),
        )

    def largest_for(self, pod: Pod) -> NodeClass | None:
        """The class with the most memory that the pod may run on; None if it is unknown.

        O(1) for a pod that neither selects nodes, nor tolerates their taints, nor asks for their
        extended resources.
        """
        spec = spec_of(pod)
        if not self.classes or spec.get("nodeName"):
            return None
        tolerations = read_tolerations(spec, self.taint_keys)
        selects = spec.get("nodeSelector") or mapping(spec.get("affinity")).get("nodeAffinity")
        extended = read_extended(spec, self.extended)
        if not tolerations and not selects and not extended:
            return self.plain
        wanted = read_wanted(spec) if selects else Wanted()
        if wanted is None or not wanted.keys <= self.label_keys:
            return None
        if len(tolerations) > MOST_TOLERATIONS:
            return None
        classes = (one for one in self.classes if extended <= one.extended)
        return next((one for one in classes if _takes(one, wanted, tolerations)), None)

    def to_document(self) -> dict[str, Any]:
        """Plain JSON types. Labels and names that classes share are written once."""
        names = sorted(self.extended)
        pairs = sorted({pair for one in self.classes for pair in one.labels.items()})
        numbers = {pair: number for number, pair in enumerate(pairs)}
        classes = [
            {
                "labels": sorted(numbers[pair] for pair in one.labels.items()),
                "taints": [[taint.key, taint.value, taint.effect] for taint in one.taints],
                "memory_bytes": one.memory_bytes,
                "millicores": one.millicores,
                "extended": [at for at, name in enumerate(names) if name in one.extended],
            }
            for one in self.classes
        ]
        return {
            "labels": [list(pair) for pair in pairs],
            "classes": classes,
            "extended": names,
            **({"karpenter": True} if self.karpenter else {}),
        }

    @classmethod
    def from_document(cls, document: object) -> Nodes:
        """Inverse of ``to_document``; ValueError or IndexError on anything else."""
        read = from_document(_NodesDocument, document, "the nodes")
        nodes = cls.of(
            [
                NodeClass(
                    dict(read.labels[number] for number in one.labels),
                    tuple(Taint(*taint) for taint in one.taints),
                    one.memory_bytes,
                    one.millicores,
                    frozenset(read.extended[number] for number in one.extended),
                )
                for one in read.classes
            ]
        )
        return replace(nodes, karpenter=read.karpenter)


NO_NODES: Final = Nodes()


def _order(
    one: NodeClass,
) -> tuple[int, int, list[tuple[str, str]], list[tuple[str, str, str]], list[str]]:
    """Most memory first. The same classes keep one order, so the feed sees no change."""
    labels, extended = sorted(one.labels.items()), sorted(one.extended)
    taints = [(taint.key, taint.value, taint.effect) for taint in one.taints]
    return -one.memory_bytes, -(one.millicores or 0), labels, taints, extended


def _takes(one: NodeClass, wanted: Wanted, tolerations: Sequence[Toleration]) -> bool:
    return all(
        any(toleration.tolerates(taint) for toleration in tolerations) for taint in one.taints
    ) and wanted.matches(one.labels)
