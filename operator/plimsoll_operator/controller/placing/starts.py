"""Compares the node on which a pod started with the one that Plimsoll would have chosen.

For tasks whose policy only recommends, it says what the scheduler's own choice costs more; for
tasks with hints or scores, what is left to gain. It counts, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.hub.habits import SEEN_AT_ONCE_S, FirstTimes
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.metrics.placing import PlacingMetrics
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_operator.sizing.node_hint import says_where, without_hint
from plimsoll_predictor.core.policy import Placing
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.placing.hinting import LEAST_GAIN, Neighbourhoods, NoHint
from plimsoll_predictor.placing.loads import Expected, Need


class Chosen(StrEnum):
    """How the node of one start compares with all nodes that any pod may go to."""

    BEST = "best"
    """No node is better by LEAST_GAIN or more."""
    WORSE = "worse"
    UNKNOWN = "unknown"
    """It is not known what the task costs beside those that run."""
    ELSEWHERE = "elsewhere"
    """Its node is one that not every pod may go to."""
    NO_CHOICE = "no-choice"
    """Plimsoll chooses no node for it: it says itself where it runs, is a later attempt, or
    Karpenter makes the nodes."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start. lost: slowdowns that its node cost more than the best; 0 if unknown."""

    chosen: Chosen
    lost: float = 0.0


def judged(kind: str, host: str | None, nodes: Neighbourhoods, now_s: float, need: Need) -> Start:
    """Compare one start. now_s: on a clock that cannot jump. O(nodes × kinds), in numpy."""
    hosts = nodes.hosts
    if host is None or host not in hosts:
        return Start(Chosen.ELSEWHERE)
    costs = nodes.costs_on(kind, hosts, now_s, need)
    if isinstance(costs, NoHint):
        return Start(Chosen.UNKNOWN)
    lost = float(costs[hosts.index(host)] - costs.min())
    if not lost >= LEAST_GAIN:
        return Start(Chosen.BEST if lost >= 0 else Chosen.UNKNOWN)
    return Start(Chosen.WORSE, lost)


@dataclass(slots=True)
class Starts:
    """Counts the starts of pods, each once. On one event loop."""

    here: Neighbourhoods
    nodes: ClusterNodes
    metrics: PlacingMetrics
    now_s: Callable[[], float]
    monotonic_s: Callable[[], float]
    _seen: FirstTimes = field(init=False, default_factory=FirstTimes)

    def __post_init__(self) -> None:
        """Show all that may be counted."""
        self.metrics.show_starts((Placing.RECOMMEND.value, Placing.ENFORCE.value), list(Chosen))

    def living(
        self, pod: Pod, watched: WatchedPod, status: AttemptStatus, expected: Expected
    ) -> None:
        """Look at an attempt that waits or runs, before it counts among its node's attempts."""
        placing = watched.policy.placing
        if placing is Placing.NEVER or status.started_s is None or status.node is None:
            return
        if status.restarts:  # on the same node: nobody chose it
            return
        if not self._seen.add(status.attempt_uid):
            return
        if self.now_s() - status.started_s > SEEN_AT_ONCE_S:
            return
        start = self._judged(pod, watched, status.node, expected)
        self.metrics.started(placing.value, start.chosen.value, start.lost)

    def _judged(self, pod: Pod, watched: WatchedPod, node: str, expected: Expected) -> Start:
        if watched.attempt.number > 1 or self.nodes.has_karpenter or says_where(without_hint(pod)):
            return Start(Chosen.NO_CHOICE)
        memory_bytes, cores = expected.memory_bytes, expected.cores
        need = Need(
            None if memory_bytes is None else memory_bytes / MIB,
            None if cores is None else 1000 * cores,
        )
        host = self.nodes.host_of(node)
        return judged(str(watched.task), host, self.here, self.monotonic_s(), need)
