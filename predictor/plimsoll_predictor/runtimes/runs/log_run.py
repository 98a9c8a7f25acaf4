"""One run of a log, and a log of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from plimsoll_predictor.runtimes.features.asked import AskedRun
from plimsoll_predictor.tables.table_reading import LeftOut

SHORTEST_S: Final = 0.5
"""A runtime below counts as this long wherever its logarithm is taken: a clock of whole seconds
gives 0 for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRun:
    """One past run. Times are seconds on the log's own clock.

    line: in the file, where the header is line 1; orders runs submitted at the same moment.
    owner: a user, a workflow or a namespace.
    runtime_s: from start to finish; 0 where the log's clock counts whole seconds.
    finished_s: when it was over, so when its runtime was known.
    busy: share of the processors in use at submission. queued: runs that waited then.
    features: the run's own numbers, by name.
    All except started_s, runtime_s, finished_s and status are known at submission. Fields that the
    log does not have are None or empty.
    """

    line: int
    task: str
    owner: str
    submitted_s: float
    started_s: float
    runtime_s: float
    finished_s: float
    processors: float | None = None
    requested_s: float | None = None
    requested_bytes: float | None = None
    input_bytes: float | None = None
    queue: str = ""
    partition: str = ""
    status: str = ""
    busy: float | None = None
    queued: float | None = None
    features: Mapping[str, float] = field(default_factory=dict)

    @property
    def asked(self) -> AskedRun:
        """What is known about it at its submission, apart from all pasts."""
        features = dict(self.features)
        if self.input_bytes is not None:
            features["input_bytes"] = self.input_bytes
        return AskedRun(
            requested_s=self.requested_s,
            processors=self.processors,
            requested_bytes=self.requested_bytes,
            busy=self.busy,
            queued=self.queued,
            features=features,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeLog:
    """The runs of a log in the order of their submission.

    left_out: reason -> how many rows it excluded.
    shifted: runs that started more than a second before they were submitted, since two clocks
        differ: they count as started when submitted.
    disordered: rows submitted before an earlier row: they were sorted.
    zeros: runs of 0 s, from clocks of whole seconds; they count as the shortest runtime.
    """

    name: str
    runs: Sequence[LogRun]
    left_out: Mapping[str, LeftOut]
    shifted: int = 0
    disordered: int = 0
    zeros: int = 0
