"""A real Spark on the real node, as written and with given properties: `make bench-spark-node`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.spark
        [--only join|sort|adaptive|written|configured|killed]

join, sort: without adaptive execution, at 200 partitions, which nobody chose; two runs, then four
more with the lesson of the second's log. adaptive: the same join with adaptive execution, in turns
in a namespace that is left alone and in one where drivers are given what logs teach. written: the
same join without adaptive execution, at 2,000 partitions that its user wrote. configured: the join
and the sort at 2,000 partitions in the configuration, which the policy lets Plimsoll replace; runs
as for join and sort. killed: a job whose executors their cgroup kills at the default memory;
it runs again until it succeeds. Seconds are the job's, without the start of Spark.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.real_node.stand import node
from plimsoll_operator.names import labels
from plimsoll_predictor.splitting.spark.settings import ADAPTIVE, PARTITIONS
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.opted_in import recognised
from tests.e2e.plimsolls import a_plimsoll
from tests.e2e.seeing import WITHIN_S, sizes_in_mode
from tests.rigs.processes.command_lines import run_here
from tests.rigs.spark.spark_applications import (
    Application,
    Ran,
    let_drivers_in,
    load_spark,
    run_application,
)

OUTPUT: Final = Path("bench-spark-node.json")
OFF: Final = {ADAPTIVE: "false"}
AT_2000: Final = {**OFF, PARTITIONS: "2000"}
JOBS: Final = {"join": "200000", "sort": "1000000"}
KILLED_ROWS: Final = "500000"
BEFORE, AFTER, TURNS, WRITTEN = 2, 4, 2, 2
ENDED_WITHIN_S: Final = 900.0
LEAST_GAIN: Final = 0.25
MOST_LOSS: Final = 0.10


@dataclass(frozen=True, slots=True)
class Measured:
    """One job. first_s, then_s: of each run as written, and with what its driver was given.

    said: the log's lesson, in words. aim: the least gain. given: the properties of the last run.
    """

    job: str
    first_s: Sequence[float]
    then_s: Sequence[float]
    said: str
    aim: float
    given: str

    @property
    def gain(self) -> float:
        """The share of time that is saved, by medians."""
        return 1 - median(self.then_s) / median(self.first_s)


@dataclass(slots=True)
class Stand:
    """Two namespaces: one in which drivers are given properties, one that is left alone."""

    cluster: Cluster
    shop: Shop
    alone: Shop
    logs: Path
    killed: list[tuple[str, str, str]] = field(default_factory=list)

    async def run(self, job: Application, *, alone: bool = False) -> Ran:
        """Run an application to its end."""
        ran = await run_application(self.alone if alone else self.shop, job, ENDED_WITHIN_S)
        print(f"  {job.name}: {ran.phase}, {ran.said[-200:]}, {given_to(ran)}", file=sys.stderr)
        return ran

    def replaces(self, job: Application) -> None:
        """Declare for a job that the configuration's number of partitions counts as nobody's."""
        name = f"spark.{job.name}.driver"
        self.cluster.apply(
            {
                "apiVersion": "plimsoll.dev/v1alpha1",
                "kind": "TaskProfile",
                "metadata": {"name": name, "namespace": self.shop.namespace},
                "spec": {"spark": {"replaces": [PARTITIONS]}},
            }
        )

    async def teach(self, job: Application) -> str:
        """Let the newest log teach, and wait until admission knows it; return the lesson."""
        log = max(self.logs.iterdir(), key=lambda each: each.stat().st_mtime)
        words = ["spark", str(log), "--teach", f"{self.shop.namespace}/spark.{job.name}.driver"]
        kubeconfig = ("--kubeconfig", str(self.cluster.kubeconfig))
        done = await asyncio.to_thread(run_here, *words, *kubeconfig)
        if done.returncode:
            raise AssertionError(done.stderr)
        if "spec.spark" in done.stderr:
            await asyncio.sleep(3)  # until the feed has it
        return done.stderr.strip().splitlines()[-1].partition(": ")[2]


def given_to(ran: Ran) -> str:
    """The properties that a driver was given, in short; "nothing" without any."""
    text = (ran.driver.metadata.annotations or {}).get(labels.SPARK)
    if text is None:
        return "nothing"
    return ", ".join(f"{key}={value}" for key, value in json.loads(text)["properties"].items())


async def tuned(stand: Stand, name: str) -> list[Measured]:
    """A job whose number of partitions nobody chose."""
    words = (name, JOBS[name])
    job = Application(name=f"{name}s", words=words, properties=OFF, logs=stand.logs)
    return [await _learned(stand, job, f"{name}, adaptive execution off")]


async def configured(stand: Stand) -> list[Measured]:
    """Jobs at 2,000 partitions of the submitter's properties, which their policy has replaced."""
    rows = []
    for name, size in JOBS.items():
        job = Application(
            name=f"configured-{name}", words=(name, size), properties=AT_2000, logs=stand.logs
        )
        stand.replaces(job)
        what = f"{name}, off, 2,000 partitions in configuration, replaced"
        rows.append(await _learned(stand, job, what))
    return rows


async def _learned(stand: Stand, job: Application, what: str) -> Measured:
    first = [await stand.run(job) for _ in range(BEFORE)]
    said = await stand.teach(job)
    then = [await stand.run(job) for _ in range(AFTER)]
    return _measured(what, first, then, said, LEAST_GAIN)


async def adaptive(stand: Stand) -> list[Measured]:
    """A join with adaptive execution, without and with Plimsoll in turns."""
    job = Application(name="adapts", words=("join", JOBS["join"]), logs=stand.logs)
    await stand.run(job)
    said = await stand.teach(job)
    apart, beside = [], []
    for _ in range(TURNS):
        apart.append(await stand.run(replace(job, logs=None), alone=True))
        beside.append(await stand.run(replace(job, logs=None)))
    return [_measured("join, adaptive execution on", apart, beside, said, -MOST_LOSS)]


async def written(stand: Stand) -> list[Measured]:
    """A join at 2,000 partitions that its user wrote."""
    words = ("join", JOBS["join"])
    job = Application(name="writes", words=words, properties=AT_2000, logs=stand.logs)
    first = [await stand.run(job) for _ in range(WRITTEN)]
    said = await stand.teach(job)
    then = [await stand.run(job) for _ in range(WRITTEN)]
    return [_measured("join, off, 2,000 partitions written", first, then, said, -MOST_LOSS)]


async def killed(stand: Stand) -> list[Measured]:
    """A job whose executors are killed; its runs until it finishes are in ``killed``."""
    job = Application(name="holds", words=("whole", KILLED_ROWS))
    ends = stand.killed
    while len(ends) <= TURNS and (not ends or ends[-1][0] != "Succeeded"):
        ran = await stand.run(job)
        ends.append((ran.phase, given_to(ran), ran.said[-100:]))
        await asyncio.sleep(3)  # until the feed has it
    return []


PARTS: Final[Mapping[str, Callable[[Stand], Awaitable[list[Measured]]]]] = {
    **{name: partial(tuned, name=name) for name in JOBS},
    "adaptive": adaptive,
    "written": written,
    "configured": configured,
    "killed": killed,
}


def _measured(
    job: str, first: Sequence[Ran], then: Sequence[Ran], said: str, aim: float
) -> Measured:
    first_s, then_s = ([each.took_s for each in runs] for runs in (first, then))
    return Measured(job, first_s, then_s, said, aim, given_to(then[-1]))


@asynccontextmanager
async def a_stand(cluster: Cluster, folder: Path) -> AsyncIterator[Stand]:
    """Plimsoll on the node, and the namespaces; all are removed at the end of the block."""
    load_spark(cluster)
    logs = folder / "logs"
    logs.mkdir(mode=0o777)
    with a_plimsoll(cluster, folder):
        async with a_shop(cluster.kubeconfig) as shop, a_shop(cluster.kubeconfig) as alone:
            opted_in = {"metadata": {"labels": {labels.ENABLED: "true"}}}
            await shop.core.patch_namespace(shop.namespace, opted_in)
            await shop.enforce(mode="recommend", attempts=3, spark={"mode": "enforce"})
            await sizes_in_mode(shop, "recommend")
            await until("the label at the API server", lambda: recognised(shop), WITHIN_S)
            for each in (shop, alone):
                let_drivers_in(cluster, each.namespace)
            yield Stand(cluster, shop, alone, logs)


async def _all(parts: Sequence[str]) -> tuple[list[Measured], list[tuple[str, str, str]]]:
    with node() as cluster, tempfile.TemporaryDirectory(prefix="plimsoll-spark-") as folder:
        Path(folder).chmod(0o755)
        async with a_stand(cluster, Path(folder)) as stand:
            rows = [row for part in parts for row in await PARTS[part](stand)]
            return rows, stand.killed


def main() -> int:
    """Measure, print, and write the file; the exit status says whether the aims are met."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", choices=PARTS, action="append", help="a part, or several")
    parts = options.parse_args().only or list(PARTS)
    rows, killed_runs = asyncio.run(_all(parts))
    for row in rows:
        first, then = (" ".join(f"{s:.1f}" for s in part) for part in (row.first_s, row.then_s))
        print(f"{row.job}: {first} s, then {then} s: {row.gain:.0%} less; given {row.given}")
        print(f"  {row.said}")
    for phase, given, said in killed_runs:
        print(f"holds, given {given}: {phase}, {said}")
    jobs = [{**asdict(row), "gain": row.gain} for row in rows]
    OUTPUT.write_text(json.dumps({"jobs": jobs, "killed": killed_runs}, indent=1) + "\n")
    return 1 if any(row.gain < row.aim for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
