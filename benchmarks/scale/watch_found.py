"""The results of a controller that watches many pods, and their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.table import Table

from benchmarks.scale.watch_seen import Lag


@dataclass(frozen=True, slots=True)
class Process:
    """The cost of the controller's process.

    known_s: until the one that started knew all pods as running. rss_bytes: at that time, at most
    and at last. cpu_s_of_1000: processor time for a thousand ends. alone_per_s: observed a second
    after the SIGSTOP; alone_cpu_s_of_1000: the processor time for these alone. processors: how many
    each process on the machine used while pods ended. 0 means not measured.
    """

    known_s: float
    rss_bytes: tuple[int, int, int]
    cpu_s_of_1000: float
    alone_per_s: float = 0.0
    alone_cpu_s_of_1000: float = 0.0
    processors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The measurements for one number of pods.

    counted: by the tasks' totals. twice: UIDs with more than one row. ended_per_s: the rate that
    kwok reached, of the rate wanted. lag: of these pods, not of the backlog.
    """

    pods: int
    backlog: int
    observed: int
    counted: int
    twice: int
    wanted_per_s: float
    ended_per_s: float
    observed_per_s: float
    lag: Lag
    process: Process

    @property
    def once(self) -> bool:
        """Say whether every end was observed and counted once."""
        return self.observed == self.counted == self.pods + self.backlog and not self.twice


def table(found: Sequence[Watched]) -> Table:
    """Show each number of pods in a column of its own."""
    shown = Table(title="A controller that watches pods which end")
    shown.add_column("")
    for each in found:
        shown.add_column(f"{each.pods:,} pods", justify="right")
    for name, words in _LINES.items():
        shown.add_row(name, *(words(each) for each in found))
    shown.caption = _growth(found)
    return shown


_LINES: Final[dict[str, Callable[[Watched], str]]] = {
    "ends, of them in the backlog": lambda each: f"{each.pods + each.backlog:,}, {each.backlog:,}",
    "observed, counted, twice": lambda each: f"{each.observed:,}, {each.counted:,}, {each.twice}",
    "ends a second: wanted, written": lambda each: (
        f"{each.wanted_per_s:.0f}, {each.ended_per_s:.0f}"
    ),
    "observed a second meanwhile": lambda each: f"{each.observed_per_s:.0f}",
    "lag p50, p99, most, s": lambda each: (
        f"{each.lag.p50_s:.2f}, {each.lag.p99_s:.2f}, {each.lag.most_s:.2f}"
    ),
    "CPU of 1,000 ends, s": lambda each: f"{each.process.cpu_s_of_1000:.2f}",
    "backlog: observed a second": lambda each: f"{each.process.alone_per_s:.0f}",
    "backlog: CPU of 1,000 ends, s": lambda each: f"{each.process.alone_cpu_s_of_1000:.2f}",
    "processors used while they ended": lambda each: "\n".join(
        f"{name} {share:.2f}" for name, share in each.process.processors.items()
    ),
    "started and knew them running, s": lambda each: f"{each.process.known_s:.0f}",
    "RSS then, at most, after, MB": lambda each: ", ".join(
        f"{size / 1e6:.0f}" for size in each.process.rss_bytes
    ),
}


def _growth(found: Sequence[Watched]) -> str:
    if len(found) < 2:
        return ""
    least, most = found[0], found[-1]
    more = most.pods + most.backlog - least.pods - least.backlog
    kb = (most.process.rss_bytes[1] - least.process.rss_bytes[1]) / more / 1e3
    return (
        f"{most.pods:,} pods over {least.pods:,}: {growth(found):.2f} times the CPU of an end; "
        f"{kb:.1f} kB of RSS a pod"
    )


def growth(found: Sequence[Watched]) -> float:
    """Return an end's cost among the most pods, over its cost among the fewest."""
    return found[-1].process.cpu_s_of_1000 / found[0].process.cpu_s_of_1000
