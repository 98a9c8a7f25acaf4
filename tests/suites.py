"""All suites, as CI runs them: side by side.

``make test`` runs ``python -m tests.suites``; ``down`` takes away what a killed run left. Tests on
a cluster mostly wait: for kubelets, leases, timers. So lanes run beside each other, each with a
cluster of its own, and the suites of a lane one after the other. It needs Python alone: the
virtual environment is made while the clusters come up. A cluster whose lane is done takes
targets that no lane has begun; lanes with clusters follow a lane that had none. Tests that only
measure speed (pytest's marker ``alone``) are left to `make bench-alone`. Every suite runs to its
end, even if others fail. When a run ends, even by a kill, all its processes end.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local import lifecycle
from deploy.local.layout import CHECKOUT, Layout, layout_from
from deploy.local.trouble import Trouble

from tests.plan import EVERYTHING, Lane, Plan
from tests.rigs.processes.run_remains import end_marked, guard

HEAVY = "10"
"""Niceness of suites without a cluster: they use all they get, and waiting suites come in time."""
INTERRUPTED_WITHIN_S = 20.0
THRIFTY = "GOGC=400 GOMEMLIMIT=1GiB GOMAXPROCS=1"
"""Settings of Kubernetes' programs in the lanes' clusters, which share few processors: collect
garbage a fourth as often while that takes no gigabyte, and keep one thread busy. They save 13% of
the programs' processor time, and cost 0.5 GB more memory for each cluster, most of it in the API
server.
"""
MAKE = ("make", "--no-print-directory")
NO_CLUSTER = 2
NOT_RUN = "NOT RUN: "
"""The one line of a target that has nothing to run on begins with this."""
SHORT_LIVED = {"GOGC": "400"}
"""Settings of Helm, kubectl and promtool, which tests run hundreds of times: they end before it
would pay to collect garbage. The lanes' clusters have their own.
"""
TIMED = ("bash", "-c", """TIMEFORMAT='processor seconds: %U %S'; time "$@" """, "timed")
"""Prints in its last line the processor time of a command and all that it waited for: so not of
what runs in a cluster.
"""
_TIME = re.compile(r"processor seconds: ([\d.,]+) ([\d.,]+)\n\Z")
MAKES_OWN = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
"""Variables of the make that started this run, for makes below it. Ours are not such makes."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A target that has run. status: its exit status. not_run: why it had nothing to run on.

    processor_s: time of its own processes, without those of its cluster.
    """

    target: str
    status: int
    took_s: float
    not_run: str | None = None
    processor_s: float = 0.0

    def __str__(self) -> str:
        how = self.not_run or ("passed" if self.status == 0 else f"FAILED ({self.status})")
        return f"{self.target:<20} {clock(self.took_s)} {self.processor_s:5.0f} s CPU  {how}"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60:3d}:{int(seconds) % 60:02d}"


@dataclass(slots=True)
class Run:
    """One run of all suites.

    folder: with the Makefile. home: of the checkout's cluster; the lanes' are beside it.
    """

    plan: Plan
    folder: Path
    home: Path
    shared: list[str] = field(init=False)
    began_s: float = field(default_factory=time.monotonic)
    ended: list[Ended] = field(default_factory=list)
    later: list[asyncio.Future[None]] = field(default_factory=list)
    """Clusters that come up, or came up, for lanes that began later."""

    def __post_init__(self) -> None:
        self.shared = list(self.plan.shared)

    @property
    def mark(self) -> str:
        """Name of a variable in the environment of all that runs of this checkout start."""
        return f"PLIMSOLL_RUN_{Layout(self.home).key}"

    @property
    def logs(self) -> Path:
        """Where each target's output is while it runs."""
        return self.home.parent / "test-logs"

    @contextlib.contextmanager
    def guarded(self, lock: int) -> Iterator[None]:
        """End all that has been started, at the end of the block or of this process.

        lock: a descriptor that stands for the run, and is held until all has ended.
        """
        homes = [self.cluster(name).layout.home for name in self.plan.clusters]
        with guard(self.mark, homes, lock):
            yield

    def cluster(self, lane: str) -> lifecycle.Cluster:
        """The cluster of a lane."""
        home = self.home.with_name(f"{self.home.name}-{lane}")
        return lifecycle.Cluster(Layout(home), {lifecycle.GO_SETTINGS: THRIFTY, **os.environ})

    def say(self, text: str) -> None:
        """Tell how far it is."""
        print(f"[{clock(time.monotonic() - self.began_s)}] {text}", flush=True)

    async def everything(self) -> int:
        """Run all suites; 0 if all passed."""
        async with self.clusters() as up:
            if await self.before():
                async with asyncio.TaskGroup() as group:
                    for lane in self.plan.side_by_side:
                        group.create_task(self.lane(lane, up.get(lane.name)))
                self.lose(self.shared)
            else:
                self.lose(self.plan.beside)
        return self.verdict()

    async def before(self) -> bool:
        """Run what all others need; say whether it passed."""
        for target in self.plan.before:
            await self.target([*MAKE, target], self.environment())
        return not any(each.status for each in self.ended)

    def verdict(self) -> int:
        """Say how each ended, and return the exit status of all."""
        print("\n".join(map(str, self.ended)))
        failed = [each.target for each in self.ended if each.status]
        not_run = [each.target for each in self.ended if each.not_run]
        passed = f"all but {', '.join(not_run)} passed" if not_run else "all passed"
        self.say(f"FAILED: {', '.join(failed)}" if failed else passed)
        return 1 if failed else 0

    @contextlib.asynccontextmanager
    async def clusters(self) -> AsyncIterator[dict[str, asyncio.Future[None]]]:
        """New clusters, one after the other; each one's future tells that it is up, or why not.

        They are taken away at the block's end, however it ends.
        """
        loop = asyncio.get_running_loop()
        up: dict[str, asyncio.Future[None]] = {
            n: loop.create_future() for n in self.plan.first_clusters
        }
        ending = asyncio.Event()
        bringing = asyncio.create_task(self._bring_up(up, ending))
        try:
            yield up
        finally:
            # A thread cannot be interrupted: wait for the cluster that it brings up, and take it
            # away.
            ending.set()
            await asyncio.wait([bringing, *self.later])
            self.down(self.plan.clusters)

    async def _bring_up(
        self, up: Mapping[str, asyncio.Future[None]], ending: asyncio.Event
    ) -> None:
        for name, is_up in up.items():
            if ending.is_set():
                return
            try:
                await asyncio.to_thread(self._up, name)
            except Trouble as trouble:
                is_up.set_exception(trouble)
            else:
                is_up.set_result(None)

    def _up(self, name: str) -> None:
        lifecycle.down(self.cluster(name))  # left by a run that was killed
        lifecycle.up(self.cluster(name), self.say)

    def down(self, names: Sequence[str]) -> None:
        """Take clusters away, with all that runs in their networks."""
        for name in names:
            lifecycle.down(self.cluster(name))

    def lose(self, targets: Sequence[str]) -> None:
        """Count targets as failed that have no cluster to run on."""
        self.ended += [Ended(target, NO_CLUSTER, 0.0) for target in targets]

    async def lane(self, lane: Lane, up: asyncio.Future[None] | None = None) -> None:
        """Run the targets of a lane, once its cluster is up, and then take that away."""
        try:
            if up is not None:
                await asyncio.shield(up)
        except Trouble as trouble:
            self.say(f"{lane.name}: {trouble}")
            self.lose(lane.targets)
            return
        environment = self.environment()
        environment["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} {lane.options}"
        if lane.on_cluster:
            home = self.cluster(lane.name).layout.home
            environment["PLIMSOLL_CLUSTER_HOME"] = str(home)
            # Tests that stop one of its programs start it again.
            environment.setdefault(lifecycle.GO_SETTINGS, THRIFTY)
            # All clusters share an address, by which kubectl would take another cluster's kinds for
            # ours.
            environment["KUBECACHEDIR"] = str(home / "kubectl-cache")
        command = MAKE if lane.on_cluster else ("nice", "-n", HEAVY, *MAKE)
        for target in lane.targets:
            await self.target([*command, target], environment)
        while up is not None and self.shared:
            await self.target([*command, self.shared.pop(0)], environment)
        if up is not None:
            # An idle cluster takes a tenth of a processor.
            await asyncio.to_thread(self.down, [lane.name])
        async with asyncio.TaskGroup() as group:
            for after in lane.then if self.shared else ():
                self.later.append(asyncio.ensure_future(asyncio.to_thread(self._up, after.name)))
                group.create_task(self.lane(after, self.later[-1]))

    def environment(self) -> dict[str, str]:
        """Return what all targets get."""
        ours = {name: text for name, text in os.environ.items() if name not in MAKES_OWN}
        return {**SHORT_LIVED, **ours, self.mark: "1"}

    async def target(self, command: Sequence[str], environment: dict[str, str]) -> None:
        """Run one; print its output in one piece when it has ended."""
        target, began_s = command[-1], time.monotonic()
        log = self.logs / f"{target}.log"
        self.say(f"{target} begins")
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *TIMED, *command, cwd=self.folder, env=environment, start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
            try:
                status = await process.wait()
            finally:
                await _end(process)
        said, processor_s = without_time(log.read_text(errors="replace"))
        not_run = next((line for line in said.splitlines() if line.startswith(NOT_RUN)), None)
        ended = Ended(target, status, time.monotonic() - began_s, not_run, processor_s)
        self.ended.append(ended)
        print(f"\n===== {target}\n{said}=====", flush=True)
        self.say(str(ended))


def without_time(said: str) -> tuple[str, float]:
    """What a target printed, and the processor seconds that TIMED says in its last line.

    They are 0 if it was killed before that line, or if a process that it left printed after it.
    """
    found = _TIME.search(said)
    if found is None:
        return said, 0.0
    # Some languages write a comma in numbers.
    return said[: found.start()], sum(float(each.replace(",", ".")) for each in found.groups())


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it with all that it has started, if it has not ended by itself."""
    if process.returncode is not None:
        return
    for how in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), INTERRUPTED_WITHIN_S)
            return


@contextlib.contextmanager
def only_one(logs: Path) -> Iterator[int]:
    """Refuse a second run of one checkout: it would take the first one's clusters away.

    Returns a descriptor that stands for the run: a process that inherits it blocks the next run.

    Raises:
        Trouble: if there is another.

    """
    logs.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(logs, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    except BlockingIOError:
        raise Trouble("`make test` runs in this checkout already; wait for its end") from None
    finally:
        os.close(descriptor)


async def _interruptible(run: Run) -> int:
    whole = asyncio.ensure_future(run.everything())

    def interrupt() -> None:
        # Once: a second cancellation would interrupt its clean-up.
        if not whole.cancelling():
            whole.cancel()

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, interrupt)
    return await whole


def main(words: Sequence[str], plan: Plan = EVERYTHING, folder: Path = CHECKOUT) -> int:
    """Run all, or take away what a killed run left. words: ``down``, or none."""
    run = Run(plan, folder, layout_from(os.environ).home)
    if list(words) not in ([], ["down"]):
        run.say(f"python -m tests.suites [down]: knows no {' '.join(words)}")
        return 2
    try:
        with only_one(run.logs) as lock:
            end_marked(run.mark)  # left by a run that was killed with its guard
            if list(words) == ["down"]:
                run.down(plan.clusters)
                return 0
            with run.guarded(lock):
                return asyncio.run(_interruptible(run))
    except asyncio.CancelledError:
        run.say("interrupted; the clusters are taken away")
        return 130
    except Trouble as trouble:
        run.say(f"make test: {trouble}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
