"""The parts of all commands' tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Final

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text, TextType

from plimsoll_operator.commands.printing.printing import printable

BAR: Final = 20
"""Columns of the longest bar."""
_ALWAYS_SHOWN: Final = 2
_WIDE: Final = 10_000
_BLOCKS: Final = " ▏▎▍▌▋▊▉█"


class FittedTable(Table):
    """A table without its last columns, where the terminal is too narrow for them.

    Rich would shorten all columns, names and figures to a letter. The first two always stay; a name
    breaks where it must.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render what fits; the caption names the rest."""
        kept, widths = len(self.columns), self._least_widths(console, options)
        while kept > _ALWAYS_SHOWN and sum(widths[:kept]) + 1 > options.max_width:
            kept -= 1
        if kept == len(self.columns):
            return super().__rich_console__(console, options)
        narrow = copy(self)
        name = replace(self.columns[0], no_wrap=False, overflow="fold")
        narrow.columns = [name, *self.columns[1:kept]]
        # A column without a name is of bars or signs.
        left_out = [str(each.header) for each in self.columns[kept:] if each.header]
        lines = [_as_text(self.caption)] if self.caption else []
        lines += [Text(f"too narrow for {', '.join(left_out)}")] if left_out else []
        narrow.caption = Text("\n").join(lines)
        return narrow.__rich_console__(console, options)

    def _least_widths(self, console: Console, options: ConsoleOptions) -> list[int]:
        """The width of each column with what separates it, all lines broken that may break."""
        wide = options.update(width=_WIDE)
        _, right, _, left = self.padding
        return [
            left
            + right
            + 1
            + max(
                sizes.maximum if column.no_wrap else sizes.minimum
                for each in (column.header, *column.cells)
                for sizes in [Measurement.get(console, wide, each)]
            )
            for column in self.columns
        ]


def _as_text(words: TextType | None) -> Text:
    return Text.from_markup(words) if isinstance(words, str) else words or Text()


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
    table = FittedTable(
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
