"""How commands print: tables for people, JSON or YAML for programs, complaints on stderr."""

from __future__ import annotations

import codecs
import json
import math
import sys
from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

from plimsoll_operator.commands.printing.output_forms import OutputForm

PIPED_WIDTH: Final = 200
"""Columns without a terminal: wide enough that no row breaks."""


def print_output(document: Any, table: RenderableType, form: OutputForm) -> None:
    """Print one thing in the wanted form.

    document: plain JSON types. table: the same for people.
    """
    if form is OutputForm.TABLE:
        people_console().print(table)
    else:
        print(document_text(document, form), end="")


def document_text(document: Any, form: OutputForm) -> str:
    """Plain JSON types as JSON or YAML, with a newline at the end.

    A figure that is no number, or infinite, becomes null: JSON has no word for it.
    """
    document = _finite(document)
    if form is OutputForm.YAML:
        import yaml

        # Through JSON first: an object that occurs twice would become an anchor and an alias.
        text: str = yaml.safe_dump(
            json.loads(json.dumps(document)),
            sort_keys=False,
            allow_unicode=_prints_unicode(),
            width=100,
        )
        return text
    # Everything but ASCII is escaped, so that text from outside cannot colour a terminal.
    return json.dumps(document, indent=2) + "\n"


def _prints_unicode() -> bool:
    """Whether all characters can be printed as UTF-8, which readers of YAML expect."""
    return codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


def people_console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for whole rows without one."""
    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    return console


def complain(words: str) -> None:
    """Print on stderr one sentence without markup that says what is wrong and what to do."""
    Console(stderr=True).print(
        printable(words, but="\n"),
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def refuse(console: Console, command: str, words: str) -> None:
    """Print why a command stops."""
    console.print(f"[red]plimsoll {command}:[/red] {escape(words)}", soft_wrap=True)


def progress_bars(console: Console, *columns: ProgressColumn) -> Progress:
    """Bars that only a terminal shows, until they are done. columns: beside the bar."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def printable(words: str, but: str = "") -> str:
    """Text from outside, made safe for a terminal. but: characters that may stay."""
    return "".join(each if each.isprintable() or each in but else "�" for each in words)
