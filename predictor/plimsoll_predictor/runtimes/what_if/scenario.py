"""What is asked: under what other conditions a task's runs should be imagined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
UNTOLD: Final = -1

Side: TypeAlias = bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Conditions to imagine. Several at once mean all of them together; one at least is needed.

    node_type: all runs on nodes of this instance type.
    limit_equal: no spare allocation: limits equal requests, so that nothing bursts.
    even_load: nodes loaded alike.
    memory_bytes: this allocation of memory.

    Raises:
        ValueError: if nothing is asked for, or something that cannot be.
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
        asked = {
            "node_type": self.node_type is not None,
            "limit_equal": self.limit_equal,
            "even_load": self.even_load,
            "memory_bytes": self.memory_bytes is not None,
        }
        return tuple(name for name, is_asked in asked.items() if is_asked)

    @property
    def words(self) -> str:
        """How runs as asked are called: ``on n2-standard-8 with limits equal to requests``."""
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
        """How the runs they are compared with are called."""
        other = {
            "node_type": "on other node types",
            "limit_equal": "free to burst",
            "even_load": "under uneven load",
            "memory_bytes": "with another size",
        }
        return other[self.parts[0]] if len(self.parts) == 1 else "otherwise"

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
    """One side from those of each condition: where one is unknown, so are all together."""
    if any(side is None for side in sides):
        return UNTOLD
    return int(all(sides))


def _evenly_loaded(runs: Sequence[PastRun]) -> Callable[[PastRun], Side]:
    """Tells runs under even load: their node as loaded as the cluster then was.

    Where nobody recorded the nodes' loads, loads were even over time if not over nodes: runs that
    started while the cluster was about as loaded as in the middle of these runs.
    """
    if any(run.node_load is not None and run.cluster_load is not None for run in runs):
        return lambda run: _near(run.node_load, run.cluster_load)
    loads = [run.cluster_load for run in runs if run.cluster_load is not None]
    usual = float(np.median(loads)) if loads else None
    return lambda run: _near(run.cluster_load, usual)


def _near(load: float | None, other: float | None) -> Side:
    return None if load is None or other is None else abs(load - other) <= EVEN_WITHIN
