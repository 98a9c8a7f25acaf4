"""The parts of all commands' tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rich import box
from rich.console import JustifyMethod
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from plimsoll_operator.commands.printing.printing import printable

BAR: Final = 20
"""Columns of the longest bar."""
_BLOCKS: Final = " ▏▎▍▌▋▊▉█"


def plain(words: str, style: str = "") -> Text:
    """Text as it is: no markup, and nothing that moves the cursor or colours what follows."""
    return Text(printable(words), style=style)


def titled_table(
    title: str,
    columns: Sequence[str],
    *,
    right: Collection[str] = (),
    folding: Collection[str] = (),
    caption: str | None = None,
) -> Table:
    """A table without rows. right: columns of figures. folding: columns that may break lines."""
    table = Table(
        title=plain(title, style="bold"),
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for name in columns:
        justify: JustifyMethod = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=name not in folding)
    return table


def bare_table(title: str) -> Table:
    """A table without rows, frame and headings."""
    return Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False)


def panel(title: str, rows: Mapping[str, str | Text]) -> Panel:
    """Named lines in a frame."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, words in rows.items():
        grid.add_row(name, words if isinstance(words, Text) else plain(words))
    return Panel(grid, title=plain(title), title_align="left", expand=False)


def bar(times: float | None, most: float) -> str:
    """A bar of up to BAR columns; ``most`` is as long as it gets."""
    eighths = round(8 * BAR * (times or 0.0) / most) if most > 0 else 0
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()
