"""The other conditions that a what-if asks about, and which past runs met them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.runtimes.what_if.past_run import PastRun

MOST_NODE_TYPE_CHARACTERS: Final = 253
SAME_SIZE: Final = 1.15
"""Memory sizes within this factor of each other count as the same size."""
EVEN_WITHIN: Final = 0.1
"""A node is evenly loaded while its load is this near to the cluster's."""

Sides: TypeAlias = NDArray[np.int8]
"""(n_runs,): 1 for a run as asked, 0 for one otherwise, -1 for one whose side is unknown."""
UNKNOWN: Final = -1

Side: TypeAlias = bool | None

_WORDS: Final = {
    "node_type": ("on other node types", "the node's type"),
    "limit_equal": ("free to burst", "what they asked for"),
    "even_load": ("under uneven load", "the load"),
    "memory_bytes": ("with another size", "the memory, or that were lifted,"),
}
"""Condition -> what the runs otherwise are called, and what was not recorded of other runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Conditions to imagine, all of them together; at least one is needed.

    node_type: an instance type. limit_equal: limits equal requests, so that nothing bursts.
    even_load: nodes are loaded alike. memory_bytes: the allocation.

    Raises:
        ValueError: if there is no condition, or an impossible one.
    """

    node_type: str | None = None
    limit_equal: bool = False
    even_load: bool = False
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError(
                "a what-if needs a condition: a node type, limits equal to requests, even load "
                "or a memory size"
            )
        if self.memory_bytes is not None and self.memory_bytes <= 0:
            raise ValueError(f"memory of {self.memory_bytes} bytes; write a size above zero")
        if self.node_type is not None and not (
            0 < len(self.node_type) <= MOST_NODE_TYPE_CHARACTERS
        ):
            raise ValueError(
                f"a node type of {len(self.node_type)} characters; write the value of the node's "
                "label node.kubernetes.io/instance-type"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the conditions that are asked for."""
        given = asdict(self).items()
        return tuple(name for name, value in given if value is not None and value is not False)

    @property
    def words(self) -> str:
        """The name of runs as asked: ``on n2-standard-8 with limits equal to requests``."""
        words = []
        if self.node_type is not None:
            words.append(f"on {self.node_type}")
        if self.memory_bytes is not None:
            words.append(f"with {words_for_bytes(self.memory_bytes)}")
        if self.limit_equal:
            words.append("with limits equal to requests")
        if self.even_load:
            words.append("under even load")
        return " ".join(words)

    @property
    def otherwise(self) -> str:
        """The name of the runs that they are compared with."""
        return _WORDS[self.parts[0]][0] if len(self.parts) == 1 else "otherwise"

    @property
    def unrecorded(self) -> str:
        """The name of what was not recorded about runs of an unknown side."""
        return _WORDS[self.parts[0]][1] if len(self.parts) == 1 else "the conditions"

    def sides(self, runs: Sequence[PastRun]) -> Sides:
        """Which runs were as asked. With several conditions, a run as asked meets them all."""
        of_part: dict[str, Callable[[PastRun], Side]] = {
            "node_type": self._on_node_type,
            "limit_equal": lambda run: run.limit_equals_request,
            "even_load": _evenly_loaded(runs),
            "memory_bytes": self._of_size,
        }
        tellers = [of_part[part] for part in self.parts]
        return np.array([_all_of([tell(run) for tell in tellers]) for run in runs], dtype=np.int8)

    def _on_node_type(self, run: PastRun) -> Side:
        return None if run.node_type is None else run.node_type == self.node_type

    def _of_size(self, run: PastRun) -> Side:
        if self.memory_bytes is None or not run.allocation_bytes or run.attempt > 1:
            # A lifted attempt has more memory because its run needed more: no fair comparison.
            return None
        factor = run.allocation_bytes / self.memory_bytes
        return 1 / SAME_SIZE <= factor <= SAME_SIZE


def _all_of(sides: Sequence[Side]) -> int:
    """The side by all conditions together; unknown if one of them is."""
    if any(side is None for side in sides):
        return UNKNOWN
    return int(all(sides))


def _evenly_loaded(runs: Sequence[PastRun]) -> Callable[[PastRun], Side]:
    """Say whether a run was under even load: its node was as loaded as the cluster was then.

    If the nodes' loads were not recorded, load is compared over time: it is even if the cluster was
    about as loaded as at the median of these runs.
    """
    if any(run.node_load is not None and run.cluster_load is not None for run in runs):
        return lambda run: _near(run.node_load, run.cluster_load)
    loads = [run.cluster_load for run in runs if run.cluster_load is not None]
    usual = float(np.median(loads)) if loads else None
    return lambda run: _near(run.cluster_load, usual)


def _near(load: float | None, other: float | None) -> Side:
    return None if load is None or other is None else abs(load - other) <= EVEN_WITHIN
