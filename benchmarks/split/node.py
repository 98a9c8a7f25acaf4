"""Jobs over items on the real node, cut as written and by Plimsoll: `make bench-split-node`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.node
        [--quick] [--leased] [--times] [--weighed]

Two workers do items of 10 ms, 200 ms and 5 s in the mean, lognormal with σ .5 and 1.5. Each kind
runs in four ways: in shares, which teaches the times of its chunks; by pods that lease items of an
unknown task; with a pod for each item; and in shares again, which Plimsoll cuts into even chunks,
or into ones that become smaller, as their program reads where its items begin. Items only wait, so
that the pods cause the cost. Pods that lease run Python, which takes longer to start and to end
than the few kilobytes of the others. So their bound has its own start, measured on pods of the same
program that do shares. --leased leaves out the cut Jobs and the pods for each item.

One rule sets the number of items of a kind (``node_kinds.fair_items``). A pod each for more than
MOST_SINGLE items would take half an hour: its time is computed from pods without work. Kinds of
long items run side by side, in shares and by leases at once, as they only wait; the longest Job
takes four minutes. All six kinds take some eleven minutes (--times: these alone).

Then Jobs whose memory grows with the chunk, in shares, and leased in half of what a share needs,
and Jobs of one task where memory counts as much as time (--weighed: these alone).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.real_node.jobs import ran
from benchmarks.real_node.stand import Stand, a_stand, node
from benchmarks.split.node_kinds import KINDS, MOST_RATIO, WORKERS, Kind
from benchmarks.split.node_memory import MOST_SHARE, InHalf, in_half, shown_memory
from benchmarks.split.node_weighed import JOBS, Weighed, shown_weighed, weighed
from plimsoll_operator.names import labels
from plimsoll_predictor.splitting.makespans import played_s
from tests.rigs.images.eater import IMAGE
from tests.split.leased_work import Work

OUTPUT: Final = Path("bench-split-node.json")
WIDTH: Final = 120
"""The width of the table if it is not printed to a terminal."""
MOST_SINGLE: Final = 64
"""So many items are run with a pod each; for more, the time is computed."""
EMPTY_PODS: Final = 16
LONG_S: Final = 1.0
"""Kinds with longer items run side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One kind. Seconds from the Job's creation until its last pod was seen to have succeeded.

    bound_s: the work divided by the workers, plus a pod's start and end; leased_bound_s: the same
    with a pod that leases. one_each_s, cut_s: None if left out; reckoned: whether the first was
    computed, not run.
    """

    kind: str
    items: int
    bound_s: float
    share_s: float
    one_each_s: float | None
    reckoned: bool
    cut_s: float | None
    pods: int
    leased_bound_s: float
    leased_s: float

    @property
    def ratios(self) -> dict[str, float | None]:
        """The way it was run -> its makespan over its bound."""
        one, cut, bound = self.one_each_s, self.cut_s, self.bound_s
        return {
            "one each": None if one is None else one / bound,
            "shares": self.share_s / bound,
            "cut": None if cut is None else cut / bound,
            "leased": self.leased_s / self.leased_bound_s,
        }


@dataclass(frozen=True, slots=True)
class Starts:
    """Seconds of a Job without work, for the pods of some kilobytes and for those that lease.

    next_s: what one more pod of a worker takes, of the first kind.
    """

    small_s: float
    leasing_s: float
    next_s: float


async def measure(stand: Stand, kinds: Sequence[Kind], *, cut: bool = True) -> list[Measured]:
    """Run all kinds. cut: also with a pod each, and as Plimsoll cuts them."""
    starts = await _starts(stand)
    print(
        f"a pod's start and end: {starts.small_s:.2f} s, {starts.next_s:.2f} s for one more;"
        f" of one that leases {starts.leasing_s:.2f}",
        file=sys.stderr,
    )
    short = [kind for kind in kinds if kind.mean_s < LONG_S]
    found = [await _measured(stand, kind, starts, cut=cut) for kind in short]
    long = (_measured(stand, kind, starts, cut=cut) for kind in kinds if kind.mean_s >= LONG_S)
    return [*found, *await asyncio.gather(*long)]


async def _starts(stand: Stand) -> Starts:
    empty = Kind(WORKERS, 0.0, 0.5)
    small = [(await _run(stand, empty, "empty", WORKERS, at))[0] for at in range(3)]
    python = [await _by_python(stand, empty, f"empty-python-{at}", leased=False) for at in range(3)]
    many = Kind(EMPTY_PODS, 0.0, 0.5)
    many_s, _ = await _run(stand, many, "empty-single", EMPTY_PODS, 0)
    small_s = median(small)
    return Starts(small_s, median(python), (many_s - small_s) / (EMPTY_PODS / WORKERS - 1))


async def _measured(stand: Stand, kind: Kind, starts: Starts, *, cut: bool) -> Measured:
    shares, others = _shares(stand, kind, cut=cut), _others(stand, kind, starts, cut=cut)
    if kind.mean_s >= LONG_S:
        (share_s, cut_s, pods), (leased_s, one_s) = await asyncio.gather(shares, others)
    else:
        (share_s, cut_s, pods), (leased_s, one_s) = await shares, await others
    found = Measured(
        kind=kind.name,
        items=kind.items,
        bound_s=kind.work_s / WORKERS + starts.small_s,
        share_s=share_s,
        one_each_s=one_s,
        reckoned=kind.items > MOST_SINGLE,
        cut_s=cut_s,
        pods=pods,
        leased_bound_s=kind.work_s / WORKERS + starts.leasing_s,
        leased_s=leased_s,
    )
    print(found, file=sys.stderr)
    return found


async def _shares(stand: Stand, kind: Kind, *, cut: bool) -> tuple[float, float | None, int]:
    """Return the seconds in shares, and again as Plimsoll cuts them, with the number of pods."""
    share_s, _ = await _run(stand, kind, kind.name, WORKERS, 0)
    if not cut:
        return share_s, None, WORKERS
    task = stand.observed
    await stand.until("its chunks are known", lambda: len(task(kind.name)) >= WORKERS)
    await asyncio.sleep(5)  # until the feed has them
    return share_s, *await _run(stand, kind, kind.name, WORKERS, 1)


async def _others(
    stand: Stand, kind: Kind, starts: Starts, *, cut: bool
) -> tuple[float, float | None]:
    """Return the seconds by leases, and with a pod for each item."""
    leased_s = await _by_python(stand, kind, f"{kind.name}-leased")
    if not cut:
        return leased_s, None
    if kind.items > MOST_SINGLE:
        each_s = [starts.next_s + item_s for item_s in kind.each_s]
        return leased_s, played_s(each_s, WORKERS, starts.small_s - starts.next_s)
    one_s, _ = await _run(stand, kind, f"{kind.name}-single", kind.items, 0)
    return leased_s, one_s


async def _by_python(stand: Stand, kind: Kind, name: str, *, leased: bool = True) -> float:
    """Return the makespan by Python's pods; AssertionError unless each item is done once.

    leased: whether they lease their items; else each does its share.
    """
    with tempfile.TemporaryDirectory(prefix="plimsoll-leased-") as folder:
        work = Work(
            name=name,
            task=name,
            folder=Path(folder),
            items=kind.items,
            workers=WORKERS,
            times_us=tuple(kind.times_us),
            leased=leased,
        )
        took_s, _ = await ran(stand, work.manifest())
        assert sorted(work.done().elements()) == list(range(kind.items))
    return took_s


async def _run(stand: Stand, kind: Kind, task: str, pods: int, at: int) -> tuple[float, int]:
    """Run one Job. Return its makespan, and how many pods it had."""
    took_s, there = await ran(stand, _job(kind, f"{task}-{at}", task, pods))
    return took_s, len(there)


def _job(kind: Kind, name: str, task: str, pods: int) -> dict[str, Any]:
    words = ["/task", "share", "4", *map(str, kind.times_us)]
    memory = {"memory": "64Mi"}
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": words,
        "resources": {"requests": memory, "limits": memory},
        "env": [
            {"name": "PLIMSOLL_ITEMS", "value": str(kind.items)},
            {"name": "PLIMSOLL_SHARES", "value": str(pods)},
            {"name": "PLIMSOLL_STARTS", "value": ""},
        ],
    }
    template = {
        "metadata": {"labels": {labels.TASK: task}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [container],
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": {labels.ITEMS: str(kind.items)}},
        "spec": {
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": WORKERS,
            "backoffLimitPerIndex": 3,
            "template": template,
        },
    }


def shown(found: Sequence[Measured]) -> Table:
    """The table for people; next to each number of seconds is its ratio to the bound."""
    title = "Seconds of a Job with two workers, and its bound's multiple"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    names = ("bound", "shares", "one each", "cut", "pods", "its bound", "leased")
    for name in ("items", *names):
        table.add_column(name, justify="left" if name == "items" else "right")
    for each in found:
        ratios = each.ratios
        about = "≈ " if each.reckoned else ""
        table.add_row(
            f"{each.items:,} × {each.kind[6:]}",
            f"{each.bound_s:.1f}",
            _told(each.share_s, ratios["shares"]),
            f"{about}{_told(each.one_each_s, ratios['one each'])}",
            _told(each.cut_s, ratios["cut"]),
            str(each.pods),
            f"{each.leased_bound_s:.1f}",
            _told(each.leased_s, ratios["leased"]),
        )
    return table


def _told(seconds: float | None, ratio: float | None) -> str:
    return "-" if seconds is None or ratio is None else f"{seconds:.1f} ({ratio:.2f})"


@dataclass(frozen=True, slots=True)
class Found:
    """All measurements."""

    jobs: Sequence[Measured]
    in_half: Sequence[InHalf]
    weighed: Sequence[Weighed]


class Part(StrEnum):
    """The parts of the measurement; each can be run alone."""

    TIMES = "times"
    HALF = "half"
    WEIGHED = "weighed"


async def _all(kinds: Sequence[Kind], parts: Sequence[Part], *, cut: bool) -> Found:
    with node() as cluster:
        async with a_stand(cluster) as stand:
            return Found(
                await measure(stand, kinds, cut=cut) if Part.TIMES in parts else [],
                await in_half(stand) if Part.HALF in parts else [],
                await weighed(stand) if Part.WEIGHED in parts else [],
            )


def main() -> int:
    """Measure, print, and write the file; the exit status says whether the aim is met."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="one kind alone")
    options.add_argument("--leased", action="store_true", help="shares and leases alone")
    options.add_argument("--times", action="store_true", help="the kinds of items alone")
    options.add_argument("--weighed", action="store_true", help="where memory counts, alone")
    given = options.parse_args()
    alone = [part for part in (Part.TIMES, Part.WEIGHED) if vars(given)[part.value]]
    kinds = KINDS[-1:] if given.quick else KINDS
    found = asyncio.run(_all(kinds, alone or list(Part), cut=not given.leased))
    if found.jobs:
        Console(width=None if sys.stdout.isatty() else WIDTH).print(shown(found.jobs))
    if found.in_half:
        Console().print(shown_memory(found.in_half))
    if found.weighed:
        Console().print(shown_weighed(found.weighed))
    worst = _worst(found.jobs)
    for name, ratio in worst.items():
        print(f"worst {name} over its bound: {ratio:.2f} (aimed at {MOST_RATIO})")
    last = [each for each in found.weighed if each.number == JOBS]
    shares = [each.share for each in found.in_half] + [each.share for each in last]
    most = max(shares, default=0.0)
    fails = [each.failed for each in found.in_half] + [each.failed for each in found.weighed]
    failed = sum(fails)
    if found.in_half or found.weighed:
        print(f"most memory × time, of the share's: {most:.2f} (aimed at {MOST_SHARE})")
        print(f"pods that failed in less memory: {failed} (aimed at 0)")
    written = {
        "jobs": [{**asdict(each), "ratios": each.ratios} for each in found.jobs],
        "worst": worst,
        "in_half": [{**asdict(each), "share": each.share} for each in found.in_half],
        "weighed": [asdict(each) for each in found.weighed],
    }
    OUTPUT.write_text(json.dumps(written, indent=1) + "\n")
    held = max(worst.values(), default=0.0) <= MOST_RATIO and most <= MOST_SHARE and not failed
    return 0 if held else 1


def _worst(jobs: Sequence[Measured]) -> dict[str, float]:
    """Return the largest makespans over their bounds, by the way Plimsoll ran a Job."""
    ran_so = {name: [each.ratios[name] for each in jobs] for name in ("leased", "cut")}
    known = {name: [each for each in found if each] for name, found in ran_so.items()}
    return {name: max(found) for name, found in known.items() if found}


if __name__ == "__main__":
    sys.exit(main())
