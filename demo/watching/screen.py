"""What people see: a live table while pods run, and the figures at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from demo.watching.figures import Figures, Learned
from demo.watching.watch import RunState, RunView
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from plimsoll_operator.wording.saving_words import words_for_saved_share
from plimsoll_predictor.core.units import words_for_bytes

NUMBERS_SHOWN = (
    *("runs", "fit at once", "kills", "retries"),
    *("asked", "allocated", "peaked", "saved"),
)
STATES_SHOWN = (RunState.WAITING, RunState.RUNNING, RunState.LIFTING, RunState.SUCCEEDED)


class Screen:
    """The terminal. Lines about events scroll by; below them is the progress of the runs."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._started_s = time.monotonic()
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Screen:
        """Begin."""
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was; lines that scrolled by stay."""
        self._live.__exit__(None, None, None)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the demo began."""
        return time.monotonic() - self._started_s

    def step(self, words: str) -> None:
        """Show that a new step begins."""
        self.console.rule(f"[bold]{words}[/bold] · {self.elapsed_s:.0f} s", align="left")

    def tell(self, lines: Sequence[str]) -> None:
        """Show events, one line each."""
        for line in lines:
            if self.console.is_terminal:
                self.console.print(f"  {line}", overflow="ellipsis", no_wrap=True, highlight=False)
            else:  # in a log file nothing is cut off
                self.console.print(f"  {line}", soft_wrap=True, highlight=False)

    def show(self, title: str, views: Sequence[RunView], planned: int) -> None:
        """Show the progress of the runs."""
        self._live.update(Group(_progress(views), self._foot(title, views, planned)))

    def wait(self, words: str) -> None:
        """Show what the demo waits for."""
        self._live.update(Text(f"{words} · {self.elapsed_s:.0f} s", style="dim"))

    def _foot(self, title: str, views: Sequence[RunView], planned: int) -> Text:
        over = sum(view.is_over for view in views)
        return Text(f"{title}: {over} of {planned} runs ended · {self.elapsed_s:.0f} s", "dim")

    def figures(
        self, total: Figures, tasks: Mapping[str, Figures], known: Mapping[str, Learned]
    ) -> None:
        """The table at the end, a row per task."""
        self.console.print(_figures_table(total, tasks, known))
        if total.unmeasured:
            self.console.print(
                f"[yellow]{total.unmeasured} runs were not measured: is the agent on their node?"
                " They are missing in the column Peaked.[/yellow]"
            )


def _progress(views: Sequence[RunView]) -> Table:
    table = Table(title=None, box=None, pad_edge=False)
    table.add_column("task", min_width=20)
    for state in STATES_SHOWN:
        table.add_column(state.value, justify="right")
    table.add_column("killed", justify="right", style="red")
    table.add_column("retried", justify="right")
    table.add_column("running now", overflow="ellipsis", no_wrap=True)
    for task in sorted({view.run.task for view in views}, reverse=True):
        mine = [view for view in views if view.run.task == task]
        count = Counter(view.state for view in mine)
        table.add_row(
            task,
            *(str(count[state]) for state in STATES_SHOWN),
            str(sum(view.kills for view in mine)),
            str(sum(max(0, len(view.attempts) - 1) for view in mine)),
            ", ".join(_running(view) for view in mine if view.state is RunState.RUNNING),
        )
    return table


def _running(view: RunView) -> str:
    last = view.attempts[-1]
    return f"{view.run.name} {words_for_bytes(last.allocation_bytes)}"


def _figures_table(
    total: Figures, tasks: Mapping[str, Figures], known: Mapping[str, Learned]
) -> Table:
    table = Table(
        title="Memory-time in GB·h (1 GB = 1e9 bytes)", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("task")
    for name in NUMBERS_SHOWN:
        table.add_column(name, justify="right")
    table.add_column("champion")
    for task, figures in tasks.items():
        champion = known[task].champion if task in known else "request"
        table.add_row(task, *_cells(figures), champion)
    table.add_section()
    table.add_row("all", *_cells(total), "", style="bold")
    return table


def _cells(figures: Figures) -> list[str]:
    asked = figures.requested_gb_h
    return [
        str(figures.runs),
        f"{figures.first_attempts_fit}/{figures.runs}",
        str(figures.oom_kills),
        str(figures.retries),
        f"{figures.requested_gb_h:.3f}",
        f"{figures.allocated_gb_h:.3f}",
        f"{figures.peak_gb_h:.3f}",
        words_for_saved_share(asked - figures.allocated_gb_h, asked),
    ]
