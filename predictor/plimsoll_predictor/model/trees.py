"""Gradient-boosted trees as flat arrays, walked by numpy: one row in tens of microseconds.

XGBoost's own prediction of one row spends its time on crossing into the library, and the library
is too large for the admission process. Here all trees take their next step together: per level
six vector operations over as many elements as there are trees.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import Float32Vector, FloatVector, IntVector, ModelError

MAX_DEPTH: Final = 64
MAX_CLASSES: Final = 64
MAX_FEATURES: Final = 2**15
MAX_MARGIN: Final = 1e39
"""A float32 is below it; margins cannot overflow float64."""

IntArray: TypeAlias = NDArray[np.intp]
FloatArray: TypeAlias = NDArray[np.float32]


class CompiledTrees(Struct, frozen=True, eq=False, dict=True, tag_field="kind", tag="trees"):
    """A forest of binary trees, nodes in level order over all trees: first every root.

    Trees are in rounds: root i adds to margin i mod n_groups. n_groups is 1 for two classes
    (logistic), else n_classes (softmax); one class is certain.

    slot: (n_nodes,), whole. Where a node reads the row: feature f where missing goes left,
        n_features + f where missing goes right, 2 n_features in a leaf.
    value: (n_nodes,), float32. A node's threshold (less goes left), or a leaf's margin.
    left: (n_nodes,), whole. Left child; the right one follows it. A leaf is its own.
    base: (n_groups,), float64. Margins before any tree.
    """

    n_classes: int
    n_features: int
    n_trees: int
    slot: IntVector
    value: Float32Vector
    left: IntVector
    base: FloatVector

    def __post_init__(self) -> None:
        """Check that the arrays are a forest that can be walked; ModelError if not."""
        # numpy's own index type: any other integer would be converted at every step of every walk.
        force_setattr(self, "slot", self.slot.astype(np.intp, copy=False))
        force_setattr(self, "left", self.left.astype(np.intp, copy=False))
        self._check_sizes()
        if np.any(self.slot < 0) or np.any(self.slot > 2 * self.n_features):
            raise ModelError("a tree reads a feature the model does not have; train the task again")
        if self.depth > MAX_DEPTH:
            raise ModelError(f"a tree is deeper than {MAX_DEPTH}; train with a smaller max_depth")

    @cached_property
    def depth(self) -> int:
        """Steps from a root to its deepest leaf, at most MAX_DEPTH + 1; ModelError if no forest.

        Children lie behind their parent, so there is no cycle; each node but a root has exactly
        one parent, so no part is walked twice.
        """
        nodes = np.arange(self.n_nodes, dtype=np.int64)
        left = self.left
        inner = nodes[left != nodes]
        children = np.sort(np.concatenate([left[inner], left[inner] + 1]))
        if np.any(left[inner] <= inner) or not np.array_equal(children, nodes[self.n_trees :]):
            raise ModelError("the model's nodes do not form trees; train the task again")
        if np.any((self.slot == 2 * self.n_features) != (left == nodes)):
            raise ModelError("the model has leaves that read features; train the task again")
        depth, level = 0, nodes[: self.n_trees]
        while depth <= MAX_DEPTH and (level := level[left[level] != level]).size:
            depth += 1
            level = np.concatenate([left[level], left[level] + 1])
        return depth

    @cached_property
    def _roots(self) -> IntArray:
        return np.arange(self.n_trees, dtype=np.intp)

    def _check_sizes(self) -> None:
        if not 1 <= self.n_classes <= MAX_CLASSES or not 0 <= self.n_features <= MAX_FEATURES:
            raise ModelError(
                f"a model of {self.n_classes} classes and {self.n_features} features is out of "
                f"range; at most {MAX_CLASSES} and {MAX_FEATURES}"
            )
        n_nodes = len(self.slot)
        if len(self.value) != n_nodes or len(self.left) != n_nodes:
            raise ModelError("the trees' arrays differ in length; train the task again")
        if len(self.base) != self.n_groups or not np.all(np.abs(self.base) <= MAX_MARGIN):
            raise ModelError("the trees' base margins do not match the classes; train again")
        if not 0 <= self.n_trees <= n_nodes or self.n_trees % self.n_groups:
            raise ModelError("the trees do not divide into the model's classes; train again")

    @property
    def n_groups(self) -> int:
        """Margins: one for two classes, else one per class."""
        return 1 if self.n_classes <= 2 else self.n_classes

    @property
    def n_nodes(self) -> int:
        """Nodes, leaves included."""
        return len(self.slot)

    def probabilities(self, row: FloatArray) -> NDArray[np.float64]:
        """P(class), (n_classes,), for one row (n_features,). Not finite means missing."""
        return self._probabilities_at(_slots(row))

    def probabilities_of_values(self, values: list[float]) -> NDArray[np.float64]:
        """``probabilities`` of numbers within float32 or NaN; faster where none is missing."""
        if not math.isfinite(sum(values)):
            return self.probabilities(np.array(values, dtype=np.float32))
        slots: FloatArray = np.array([*values, *values, -math.inf], dtype=np.float32)
        return self._probabilities_at(slots)

    def _probabilities_at(self, slots: FloatArray) -> NDArray[np.float64]:
        groups = self.value[self._leaves(slots)].reshape(-1, self.n_groups)
        margins = groups.sum(axis=0, dtype=np.float64) + self.base
        return np.array(_probabilities(margins.tolist(), self.n_classes))

    def margin(self, row: FloatArray) -> float:
        """The sum for one row (n_features,) before any link, which is a regression's answer.

        If there are several classes, it is the first one's. Not finite means missing.
        """
        margins = self.value[self._leaves(_slots(row))]
        return float(margins[:: self.n_groups].sum(dtype=np.float64) + self.base[0])

    def _leaves(self, slots: FloatArray) -> IntArray:
        """Index of the node that each tree ends in for one row, (n_trees,)."""
        slot, value, left = self.slot, self.value, self.left
        at = self._roots
        for _ in range(self.depth):
            at = left[at] + (slots[slot[at]] >= value[at])
        return at


def _slots(row: FloatArray) -> FloatArray:
    """A row (f,) as the trees read it, (2 f + 1,).

    Missing becomes -inf in the first half (less than any threshold: left), +inf in the second.
    The last slot is -inf: a leaf's comparison is always false, and it stays where it is.
    """
    slots = np.full(2 * row.size + 1, -np.inf, dtype=np.float32)
    slots[row.size : -1] = np.inf
    finite = np.isfinite(row)
    np.copyto(slots[: row.size], row, where=finite)
    np.copyto(slots[row.size : -1], row, where=finite)
    return slots


def _probabilities(margins: list[float], n_classes: int) -> list[float]:
    """Softmax, logistic or certainty; a few numbers are added faster without arrays."""
    if n_classes == 1:
        return [1.0]
    if n_classes == 2:
        # The logistic function is the softmax of (0, margin); one formula that cannot overflow.
        margins = [0.0, *margins]
    highest = max(margins)
    powers = [math.exp(margin - highest) for margin in margins]
    total = sum(powers)
    return [power / total for power in powers]
