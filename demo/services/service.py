"""The demo's interface to Plimsoll, which runs as local processes or as the chart's pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

TRAINING_BUDGET_S: Final = 25
"""Most seconds per training; the demo's few hundred runs take about half on an idle core."""


class ServiceError(Exception):
    """Plimsoll did not do its part; the message says what and where to look."""


class Service(Protocol):
    """Plimsoll, ready to be started."""

    @property
    def words(self) -> str:
        """What is started, for people."""

    @property
    def logs(self) -> str:
        """Where to look if something is wrong."""

    @property
    def afterwards(self) -> Sequence[str]:
        """What is left when the demo has ended, and how to look at it, line by line."""

    def running(self, history: Path | None) -> AbstractContextManager[None]:
        """From ready, with the recorded runs imported as training data, to the demo's end.

        history: None imports nothing.

        Raises:
            ServiceError: if it is not ready in time.

        """

    def answer(self, *arguments: str) -> Sequence[str]:
        """The output of `plimsoll` with these arguments, line by line."""

    def write_report(self, out: Path) -> None:
        """Write the report page as one file."""

    def measured_peaks(self, tasks: Iterable[str]) -> Mapping[str, int]:
        """Pod UID -> peak in bytes, of all attempts of these tasks that were measured."""
