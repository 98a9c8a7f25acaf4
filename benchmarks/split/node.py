"""Jobs over items on the real node, cut as written and by Plimsoll: `make bench-split-node`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.node [--quick] [--leased] [--weighed]

Two workers; items of 10 ms, 200 ms and 5 s, lognormal with σ .5 and 1.5. Each kind is run in
shares, which teaches what its chunks take, then with a pod for each item where these are not too
many, then in shares again, which Plimsoll cuts, then by pods that lease their items, of a task that
nobody knows. Items wait, so that it is the pods that cost. Pods that lease are Python's, which take
longer to start and to end than the others' few kilobytes; so their bound has their own start, taken
from pods of the same program that do their shares. --leased leaves out what is cut.

Then Jobs whose memory grows with the chunk, in shares, and leased in half of what a share needs,
and Jobs of one task where memory counts as much as time (--weighed: these alone).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist, median
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.real_node.jobs import ran
from benchmarks.real_node.stand import Stand, a_stand, node
from benchmarks.split.node_memory import MOST_SHARE, InHalf, in_half, shown_memory
from benchmarks.split.node_weighed import JOBS, Weighed, shown_weighed, weighed
from plimsoll_operator.names import labels
from tests.rigs.images.eater import IMAGE
from tests.split.leased_work import Work

OUTPUT: Final = Path("bench-split-node.json")
WORKERS: Final = 2
MOST_SINGLE: Final = 150
"""Items of a kind that is run with a pod for each, too."""
LEAST_RATIO: Final = 1.10
"""Aimed at: a makespan over what no cut can beat."""
_QUANTILES: Final = 16


@dataclass(frozen=True, slots=True)
class Kind:
    """Items of one kind. mean_s: of an item; sigma: of its logarithm."""

    items: int
    mean_s: float
    sigma: float

    @property
    def name(self) -> str:
        """As it is shown, and as its task is called."""
        return f"items-{self.mean_s * 1000:.0f}ms-s{self.sigma * 10:.0f}"

    @property
    def times_us(self) -> list[int]:
        """Middles of equal parts of the distribution, in microseconds, with the mean."""
        parts = (NormalDist().inv_cdf((at + 0.5) / _QUANTILES) for at in range(_QUANTILES))
        times = [math.exp(self.sigma * each) for each in parts]
        scale = self.mean_s * 1e6 * _QUANTILES / sum(times)
        return [round(each * scale) for each in times]

    @property
    def work_s(self) -> float:
        """Of all items, one after the other, by the hash of tests/rigs/images/eater.py."""
        times = self.times_us
        return sum(times[(item * 2654435761 >> 7) % _QUANTILES] for item in range(self.items)) / 1e6


KINDS: Final = tuple(
    Kind(items, mean_s, sigma)
    for items, mean_s in ((2000, 0.01), (150, 0.2), (12, 5.0))
    for sigma in (0.5, 1.5)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One kind. Seconds from the Job's creation until its last pod was seen to have succeeded.

    bound_s: the work by the workers, and a pod's start and end; leased_bound_s: that of a pod that
    leases. one_each_s: None where there are too many items. cut_s: None where it was left out.
    """

    kind: str
    items: int
    bound_s: float
    share_s: float
    one_each_s: float | None
    cut_s: float | None
    pods: int
    leased_bound_s: float
    leased_s: float


@dataclass(frozen=True, slots=True)
class Starts:
    """Seconds of a Job without work, of the pods of some kilobytes and of those that lease."""

    small_s: float
    leasing_s: float


async def measure(stand: Stand, kinds: Sequence[Kind], *, cut: bool = True) -> list[Measured]:
    """Run all kinds, one after the other. cut: also with a pod each, and as Plimsoll cuts them."""
    empty = Kind(WORKERS, 0.0, 0.5)
    small = [(await _run(stand, empty, "empty", WORKERS, at))[0] for at in range(3)]
    leasing = [
        await _by_python(stand, empty, f"empty-python-{at}", leased=False) for at in range(3)
    ]
    starts = Starts(median(small), median(leasing))
    print(
        f"a pod's start and end: {starts.small_s:.2f} s; of one that leases {starts.leasing_s:.2f}",
        file=sys.stderr,
    )
    return [await _measured(stand, kind, starts, cut=cut) for kind in kinds]


async def _measured(stand: Stand, kind: Kind, starts: Starts, *, cut: bool) -> Measured:
    share_s, _ = await _run(stand, kind, kind.name, WORKERS, 0)
    one_s, cut_s, pods = None, None, WORKERS
    if cut:
        one_s, cut_s, pods = await _cut(stand, kind)
    found = Measured(
        kind=kind.name,
        items=kind.items,
        bound_s=kind.work_s / WORKERS + starts.small_s,
        share_s=share_s,
        one_each_s=one_s,
        cut_s=cut_s,
        pods=pods,
        leased_bound_s=kind.work_s / WORKERS + starts.leasing_s,
        leased_s=await _by_python(stand, kind, f"{kind.name}-leased"),
    )
    print(found, file=sys.stderr)
    return found


async def _cut(stand: Stand, kind: Kind) -> tuple[float | None, float, int]:
    """Return the seconds with a pod each and as Plimsoll cuts it, and how many pods that were."""
    one_s: float | None = None
    if kind.items <= MOST_SINGLE:
        one_s, _ = await _run(stand, kind, f"{kind.name}-single", kind.items, 0)
    task = stand.observed
    await stand.until("its chunks are known", lambda: len(task(kind.name)) >= WORKERS)
    await asyncio.sleep(5)  # until the feed has them
    cut_s, pods = await _run(stand, kind, kind.name, WORKERS, 1)
    return one_s, cut_s, pods


async def _by_python(stand: Stand, kind: Kind, name: str, *, leased: bool = True) -> float:
    """Return the makespan by Python's pods; AssertionError if an item is not done once.

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
    """The table for people."""
    table = Table(title="Seconds of a Job, two workers", title_justify="left", box=SIMPLE_HEAD)
    names = ("bound", "one each", "shares", "cut", "pods", "cut ÷ bound", "its bound", "leased")
    for name in ("items", *names, "leased ÷ its bound"):
        table.add_column(name, justify="left" if name == "items" else "right")
    for each in found:
        one = "-" if each.one_each_s is None else f"{each.one_each_s:.1f}"
        cut = "-" if each.cut_s is None else f"{each.cut_s:.1f}"
        ratio = "-" if each.cut_s is None else f"{each.cut_s / each.bound_s:.2f}"
        table.add_row(
            f"{each.items} × {each.kind[6:]}",
            *(f"{each.bound_s:.1f}", one, f"{each.share_s:.1f}", cut, str(each.pods), ratio),
            *(f"{each.leased_bound_s:.1f}", f"{each.leased_s:.1f}"),
            f"{each.leased_s / each.leased_bound_s:.2f}",
        )
    return table


@dataclass(frozen=True, slots=True)
class Found:
    """All that was measured."""

    jobs: Sequence[Measured]
    in_half: Sequence[InHalf]
    weighed: Sequence[Weighed]


async def _all(kinds: Sequence[Kind], *, cut: bool) -> Found:
    with node() as cluster:
        async with a_stand(cluster) as stand:
            jobs = await measure(stand, kinds, cut=cut) if kinds else []
            half = await in_half(stand) if kinds else []
            return Found(jobs, half, await weighed(stand))


def main() -> int:
    """Measure, print, and write the file; the exit status says whether the aim is met."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="one kind alone")
    options.add_argument("--leased", action="store_true", help="shares and leases alone")
    options.add_argument("--weighed", action="store_true", help="where memory counts, alone")
    given = options.parse_args()
    kinds = () if given.weighed else KINDS[-1:] if given.quick else KINDS
    found = asyncio.run(_all(kinds, cut=not given.leased))
    if found.jobs:
        Console().print(shown(found.jobs), shown_memory(found.in_half))
    Console().print(shown_weighed(found.weighed))
    worst = _worst(found.jobs)
    for name, ratio in worst.items():
        print(f"worst {name} over its bound: {ratio:.2f} (aimed at {LEAST_RATIO})")
    last = [each for each in found.weighed if each.number == JOBS]
    shares = [each.share for each in found.in_half] + [each.share for each in last]
    most = max(shares)
    fails = [each.failed for each in found.in_half] + [each.failed for each in found.weighed]
    failed = sum(fails)
    print(f"most memory × time, of the share's: {most:.2f} (aimed at {MOST_SHARE})")
    print(f"pods that failed in less memory: {failed} (aimed at 0)")
    written = {
        "jobs": [asdict(each) for each in found.jobs],
        "worst": worst,
        "in_half": [{**asdict(each), "share": each.share} for each in found.in_half],
        "weighed": [asdict(each) for each in found.weighed],
    }
    OUTPUT.write_text(json.dumps(written, indent=1) + "\n")
    held = max(worst.values(), default=0.0) <= LEAST_RATIO and most <= MOST_SHARE and not failed
    return 0 if held else 1


def _worst(jobs: Sequence[Measured]) -> dict[str, float]:
    """Return the largest makespans over their bounds, by how a Job was run."""
    if not jobs:
        return {}
    worst = {"leased": max(each.leased_s / each.leased_bound_s for each in jobs)}
    cuts = [each.cut_s / each.bound_s for each in jobs if each.cut_s is not None]
    return worst | ({"cut": max(cuts)} if cuts else {})


if __name__ == "__main__":
    sys.exit(main())
