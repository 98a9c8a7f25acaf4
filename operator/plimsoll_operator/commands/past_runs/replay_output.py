"""How a replay of sizes or of runtimes ends: its figures are written, or what is wrong is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

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
    errors.print(f"[red]plimsoll replay:[/red] {escape(words)}", soft_wrap=True)
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
