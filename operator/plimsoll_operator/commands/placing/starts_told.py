"""Where pods started, compared with Plimsoll's choice, from the controller's metrics.

The command runs in the pod of the leading controller, whose environment names its port. If it
runs elsewhere, as with a store of one's own, it reports nothing.
"""

from __future__ import annotations

import http.client
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

PORT: Final = "PLIMSOLL_LISTEN_PORT"
WITHIN_S: Final = 3.0
MOST_BYTES: Final = 4 * 2**20
_STARTS: Final = "plimsoll_placing_starts_total"
_LOST: Final = "plimsoll_placing_lost_slowdowns_total"


@dataclass(frozen=True, slots=True)
class StartsTold:
    """The starts of one way of placing, since the controller began to lead.

    placing: recommend or enforce. best, worse: starts on the node that Plimsoll would have chosen,
    or an equally good one, and on a worse one; others: starts it cannot judge. lost: by all worse
    starts together, in slowdowns: 1 is the time that one run takes alone.
    """

    placing: str
    best: int
    worse: int
    others: int
    lost: float

    @property
    def words(self) -> str:
        """A sentence.

        >>> StartsTold("recommend", 140, 60, 14, 24.0).words
        "60 of 200 starts were on a worse node than Plimsoll's, by 0.40 of a run's own time each"
        """
        told = self.best + self.worse
        if not told:
            return f"of {self.others} starts none can be compared"
        if not self.worse:
            return f"all of {told} starts were on the node that Plimsoll would have chosen"
        each = self.lost / self.worse
        return (
            f"{self.worse} of {told} starts were on a worse node than Plimsoll's,"
            f" by {each:.2f} of a run's own time each"
        )


def starts_here(environment: Mapping[str, str] = os.environ) -> list[StartsTold]:
    """Read this pod's own metrics; empty if there are none."""
    port = environment.get(PORT, "")
    if not port.isdecimal():
        return []
    connection = http.client.HTTPConnection("localhost", int(port), timeout=WITHIN_S)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read(MOST_BYTES).decode()
        return list(starts_in(text))
    except (OSError, http.client.HTTPException, ValueError):
        return []  # what is learned from runs is still shown
    finally:
        connection.close()


def starts_in(metrics: str) -> Iterator[StartsTold]:
    """Read them from a page of metrics; ValueError if it is none."""
    nodes: dict[str, dict[str, int]] = {}
    lost: dict[str, float] = {}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            placing = sample.labels.get("placing", "")
            if not math.isfinite(sample.value):
                continue
            if sample.name == _STARTS:
                node = sample.labels.get("node", "")
                nodes.setdefault(placing, {})[node] = int(sample.value)
            elif sample.name == _LOST:
                lost[placing] = sample.value
    for placing, counts in sorted(nodes.items()):
        # All are shown from the controller's start, also if nobody places like this.
        if not any(counts.values()):
            continue
        best, worse = counts.pop("best", 0), counts.pop("worse", 0)
        yield StartsTold(placing, best, worse, sum(counts.values()), lost.get(placing, 0.0))
