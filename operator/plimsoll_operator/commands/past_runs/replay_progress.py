"""Progress of a replay: one bar at a time, in a terminal only, gone when done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)


class ReplayProgress:
    """A context in which steps show how far they are."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    @contextmanager
    def step(self, words: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a bar while something is done; yields what to tell how much is done of total."""
        bar = self._progress.add_task(escape(words), total=max(total, 1))
        try:
            yield lambda done: self._progress.update(bar, completed=done)
        finally:
            self._progress.remove_task(bar)

    def print(self, what: RenderableType) -> None:
        """Print above the bar."""
        self._console.print(what)
