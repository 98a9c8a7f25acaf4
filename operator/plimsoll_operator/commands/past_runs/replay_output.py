"""The progress, files and endings that replays of sizes and of runtimes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskProgressColumn, TimeElapsedColumn

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import document_text, progress_bars, refuse
from plimsoll_operator.web.report.writing import check_writable, write_whole


def exit_status_of(
    replay: Callable[[Console], None],
    console: Console | None,
    refusals: tuple[type[Exception], ...],
) -> int:
    """Run a replay: 0, or 1 after a message if a file cannot be read or written.

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


def check_files(read: Iterable[Path], written: Iterable[Path | None]) -> None:
    """Refuse files before a replay, which may take hours.

    Raises:
        ValueError: if a file that is to be read is not there.
        OSError: if one could not be written.
    """
    for path in read:
        if not path.exists():
            raise ValueError(f"{path} cannot be read: there is no such file")
    for file in written:
        if file is not None:
            check_writable(file)


def write_figures(file: Path | None, figures: Iterable[dict[str, Any]], console: Console) -> None:
    """Write the figures as JSON, if a file was named."""
    if file is not None:
        write_named("figures", file, document_text(list(figures), OutputForm.JSON), console)


def write_named(title: str, file: Path, text: str, console: Console) -> None:
    """Write a file, and say what it is."""
    write_whole(file, text)
    console.print(f"{title}: {file}", markup=False, soft_wrap=True)


def replay_progress(console: Console) -> Progress:
    """A context in which steps show their progress."""
    return progress_bars(console, TaskProgressColumn(), TimeElapsedColumn())


@contextmanager
def step(progress: Progress, words: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while something is done; yields a function to call with how much is done."""
    bar = progress.add_task(escape(words), total=max(total, 1))
    try:
        yield lambda done: progress.update(bar, completed=done)
    finally:
        progress.remove_task(bar)


def reading(progress: Progress, path: Path) -> AbstractContextManager[Callable[[int], None]]:
    """The step that reads a file."""
    return step(progress, f"reading {path.name}", path.stat().st_size if path.exists() else 1)
