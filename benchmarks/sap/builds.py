"""A company's software builds as one recurring task, and the score of sizes for them.

The trace is not part of this project (docs/sap.md says where it is published); it is read from
TRACES. A build submitted at t counts as known six hours later: the trace has no end times.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.record import Features, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB

FILE_NAME: Final = "sap-builds-april.csv.gz"
FEEDBACK_S: Final = 6 * 3600.0
SCORED_SHARE: Final = 0.7
"""The share of the builds that is scored, the latest ones."""
PENALTY: Final = 5.0
"""One per cent of builds with too little memory counts like this many per cent of overshoot."""
FEATURES: Final = (
    "location",
    "branch",
    "buildProfile",
    "jobs",
    "localJobs",
    "makeType",
    "targets",
    "component",
    "ts_phase",
)
"""Known before a build, and the only such columns. The others are results."""
TASK: Final = TaskId("builds", "build")
MOST_BUILDS: Final = 100_000


class SapTraceError(ValueError):
    """The trace cannot be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Builds:
    """Builds in order of submission; all arrays (n,).

    submitted_s: Unix time, strictly rising. known: how many builds are known when each is
    submitted.
    """

    submitted_s: NDArray[np.float64]
    needs_bytes: NDArray[np.float64]
    requests_bytes: NDArray[np.float64]
    features: Sequence[Features]
    known: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.features)

    @property
    def first_scored(self) -> int:
        """Index of the first build whose size is scored."""
        return int(len(self) * (1 - SCORED_SHARE) + 1e-9)

    def observations(self, known: int) -> list[Observation]:
        """The first ``known`` builds as training data, without runtimes."""
        return [
            Observation(
                attempt_uid=f"build-{place}",
                task=TASK,
                run=f"build-{place}",
                features=self.features[place],
                outcome=Outcome.SUCCEEDED,
                request_bytes=int(self.requests_bytes[place]),
                allocation_bytes=int(self.requests_bytes[place]),
                peak_bytes=int(self.needs_bytes[place]),
                submitted_s=float(self.submitted_s[place]),
            )
            for place in range(known)
        ]


@dataclass(frozen=True, slots=True)
class Score:
    """5 x under_percent + over_percent; less is better.

    under_percent: builds that got less than they needed. over_percent: what all builds got beyond
    their needs, as a share of all needs; a build with too little counts nothing here.
    """

    score: float
    under_percent: float
    over_percent: float


def score(builds: Builds, sizes_bytes: NDArray[np.float64]) -> Score:
    """The score of first sizes (n,); those before ``first_scored`` are ignored.

    Raises ValueError if a scored one is not a finite number above zero.
    """
    given = sizes_bytes[builds.first_scored :]
    needs = builds.needs_bytes[builds.first_scored :]
    if not np.all(np.isfinite(given) & (given > 0)):
        raise ValueError(f"{np.sum(~(given > 0))} of {len(given)} scored builds have no size")
    under = 100 * float(np.mean(given < needs))
    over = 100 * float(np.maximum(given - needs, 0).sum() / needs.sum())
    return Score(PENALTY * under + over, under, over)


def read_builds(path: Path) -> Builds:
    """The builds of a file, in order of submission.

    Raises:
        SapTraceError: if it is missing, lacks a column, has an invalid cell, or more than
            MOST_BUILDS rows.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = [
                _read(row, line, path)
                for line, row in enumerate(csv.DictReader(file, delimiter=";"), 2)
            ]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise SapTraceError(
            f"{path} cannot be read ({error}); set TRACES to the folder that holds it"
        ) from error
    if not rows:
        raise SapTraceError(f"{path} has no builds; set TRACES to the folder that holds the trace")
    return builds_of(rows)


@dataclass(frozen=True, slots=True)
class Build:
    """One row of the trace."""

    submitted_s: float
    need_bytes: float
    request_bytes: float
    features: Features


def builds_of(rows: Sequence[Build]) -> Builds:
    """Make the arrays of at least one build, given in any order."""
    rows = sorted(rows, key=lambda row: row.submitted_s)
    submitted_s = np.array([row.submitted_s for row in rows])
    return Builds(
        submitted_s=submitted_s,
        needs_bytes=np.array([row.need_bytes for row in rows]),
        requests_bytes=np.array([row.request_bytes for row in rows]),
        features=[row.features for row in rows],
        known=np.searchsorted(submitted_s + FEEDBACK_S, submitted_s, side="right").astype(np.int64),
    )


def _read(row: Mapping[str, str | None], line: int, path: Path) -> Build:
    if line > MOST_BUILDS + 1:
        raise SapTraceError(f"{path} has more than {MOST_BUILDS:,} builds; cut it")
    try:
        submitted = datetime.fromisoformat(row["time"] or "").replace(tzinfo=UTC)
        need_bytes, request_mib = float(row["max_rss"] or ""), float(row["memreq"] or "")
        features = {name: text for name in FEATURES if (text := row[name])}
    except KeyError as error:
        raise SapTraceError(f"{path} lacks the column {error}; it is not the trace") from error
    except ValueError as error:
        raise SapTraceError(f"{path}, line {line}: {error}; mend or delete the line") from error
    if not (0 < need_bytes < float("inf") and 0 < request_mib < float("inf")):
        raise SapTraceError(
            f"{path}, line {line}: max_rss and memreq must be above zero; mend or delete the line"
        )
    return Build(submitted.timestamp(), need_bytes, request_mib * MIB, features)
