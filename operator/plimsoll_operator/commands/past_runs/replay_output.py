"""What replays of sizes and of runtimes share: their progress, their files and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import TaskProgressColumn, TimeElapsedColumn

from plimsoll_operator.commands.printing.printing import progress_bars, refuse
from plimsoll_operator.web.report.writing import write_whole


def exit_status_of(
    replay: Callable[[Console], None],
    console: Console | None,
    refusals: tuple[type[Exception], ...],
) -> int:
    """Run a replay: 0, or 1 where a file cannot be read or written; what to do was said.

    refusals: errors whose words are for people.
    """
    errors = console or Console(stderr=True)
    try:
        replay(console or Console())
        return 0
    except refusals as error:
        words = str(error)
    except OSError as error:
        words = f"{error.filename} cannot be written: {error.strerror}"
    refuse(errors, "replay", words)
    return 1


def check_folders(*files: Path | None) -> None:
    """Refuse before a replay what could only be refused after it.

    Raises:
        ValueError: if a file is to be written where there is no folder.
    """
    for file in files:
        if file is not None and not file.parent.is_dir():
            raise ValueError(f"{file} cannot be written: there is no folder {file.parent}")


def write_figures(file: Path | None, figures: Iterable[dict[str, Any]], console: Console) -> None:
    """Write the figures as JSON, if a file was named."""
    if file is not None:
        write_named("figures", file, json.dumps(list(figures), indent=2) + "\n", console)


def write_named(what: str, file: Path, text: str, console: Console) -> None:
    """Write a file, and say what it is."""
    write_whole(file, text)
    console.print(f"{what}: {file}", markup=False, soft_wrap=True)


class ReplayProgress:
    """A context in which steps show how far they are."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = progress_bars(console, TaskProgressColumn(), TimeElapsedColumn())

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
