"""Both runs of every scenario: first all of them on a bare node, then with Plimsoll on it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kubernetes_asyncio import client, config

from plimsoll_operator.names import labels
from plimsoll_operator.processes.run_webhook import NAME
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll, a_plimsoll
from tests.harm.manifests import a_pod
from tests.harm.scenario import ASKED_MIB, Ending, Scenario, history
from tests.harm.stage import Stage
from tests.harm.watching import MARK, Seen, Watched, watched
from tests.rigs.processes.command_lines import PLIMSOLL
from tests.rigs.processes.forked_trainers import forked_trainers

AT_ONCE: Final = 16
"""Scenarios that run side by side: more would wait for the node longer than they run."""
SIZES_WITHIN_S: Final = 120.0
MEASURED_WITHIN_S: Final = 120.0
USUAL_RUN_S: Final = 60


@dataclass(frozen=True, slots=True)
class Pair:
    """Results of a scenario's two runs. pods: of the run with Plimsoll."""

    scenario: Scenario
    without: Ending
    with_plimsoll: Ending
    pods: tuple[Seen, ...]
    peaks_bytes: dict[str, int]
    """Peaks of the run's pods, as the agent measured them, by UID."""

    @property
    def kills(self) -> int:
        """Attempts with Plimsoll that ended for lack of memory."""
        return sum(seen.kills(self.scenario.ends_itself_with) for seen in self.pods)

    @property
    def allocated_over_peak(self) -> float | None:
        """The figure of attempts that succeeded and were measured; None if there is none."""
        both = [
            (seen.given_bytes, self.peaks_bytes[seen.uid])
            for seen in self.pods
            if seen.succeeded and seen.given_bytes and seen.uid in self.peaks_bytes
        ]
        if not both:
            return None
        return sum(given for given, _ in both) / sum(peak for _, peak in both)


@dataclass(frozen=True, slots=True)
class _Night:
    """One of the two phases: the same scenarios on the same node."""

    api: client.ApiClient
    watched: Watched
    plimsoll: Plimsoll | None

    def stage(self, scenario: Scenario, namespace: str) -> Stage:
        run = f"harm-{uuid.uuid4().hex[:8]}" if scenario.namespace else namespace
        return Stage(self.api, namespace, run, self.watched, self.plimsoll)

    async def play(self, stages: dict[str, Stage], scenarios: Sequence[Scenario]) -> list[Ending]:
        """Run all side by side, then those that need a Plimsoll for themselves."""
        by_itself = [each for each in scenarios if each.alone and self.plimsoll is not None]

        began_s = time.monotonic()
        room = asyncio.Semaphore(AT_ONCE)
        print(f"\n{len(scenarios)} scenarios {'with' if self.plimsoll else 'without'} Plimsoll:")

        async def played(scenario: Scenario) -> tuple[str, Ending]:
            async with room:
                try:
                    ending = await scenario.plays(stages[scenario.name])
                except client.ApiException as error:
                    if error.status != 403:
                        raise
                    ending = Ending.REFUSED
            print(f"{time.monotonic() - began_s:5.0f} s  {ending:<10}  {scenario.name}", flush=True)
            return scenario.name, ending

        # The last ones of the catalogue take the longest, so they begin first.
        together = [each for each in reversed(scenarios) if each not in by_itself]
        together.sort(key=lambda each: each.past is None or each.past.ran_s <= USUAL_RUN_S)
        ends = dict(await asyncio.gather(*map(played, together)))
        for each in by_itself:
            if each.lowers:
                # The previous one may have sent the controller away, and then nothing is lowered.
                await _sizes(stages[each.name], each.task, lowered=True)
            ends |= dict([await played(each)])
        return [ends[each.name] for each in scenarios]


async def rehearse(cluster: Cluster, scenarios: Sequence[Scenario], folder: Path) -> list[Pair]:
    """Run each scenario without Plimsoll, then with it. folder: for Plimsoll's state."""
    refuse_plimsoll(cluster)
    settings = client.Configuration()
    await config.load_kube_config(
        config_file=str(cluster.kubeconfig), client_configuration=settings
    )
    async with client.ApiClient(settings) as api, watched(client.CoreV1Api(api)) as seen:
        async with _stages(_Night(api, seen, None), scenarios) as stages:
            without = await _Night(api, seen, None).play(stages, scenarios)
        spaces = {each.name: each.namespace or _new_name() for each in scenarios}
        _import(scenarios, spaces, folder)
        with (
            forked_trainers() as python,
            a_plimsoll(cluster, folder, "--mode", "enforce", interpreter=python) as plimsoll,
        ):
            night = _Night(api, seen, plimsoll)
            told = [each for each in scenarios if each.is_told]
            async with _stages(night, scenarios, spaces) as stages:
                for each in told:
                    await _sizes(stages[each.name], each.task)
                ends = await night.play(stages, scenarios)
                return await asyncio.gather(
                    *(
                        _pair(scenario, stages[scenario.name], before, after)
                        for scenario, before, after in zip(scenarios, without, ends, strict=True)
                    )
                )


def refuse_plimsoll(cluster: Cluster) -> None:
    """Make sure that the runs without Plimsoll are without it."""
    found = cluster.get("mutatingwebhookconfigurations")["items"]
    assert NAME not in [each["metadata"]["name"] for each in found], (
        f"a Plimsoll serves this cluster, or one that was killed left its webhook: kubectl delete "
        f"mutatingwebhookconfiguration {NAME}"
    )


def _new_name() -> str:
    return f"harm-{uuid.uuid4().hex[:8]}"


def _import(scenarios: Sequence[Scenario], spaces: dict[str, str], folder: Path) -> None:
    """Import the tasks' pasts for a Plimsoll that is not yet there, as people would."""
    pasts = {
        TaskId(spaces[each.name], each.task): each.past
        for each in scenarios
        if each.past is not None
    }
    if not pasts:
        return
    done = subprocess.run(
        [*PLIMSOLL, "import", "--store", f"sqlite:///{folder}/plimsoll.db", "--strict", "-"],
        input=history(pasts, time.time()), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.asynccontextmanager
async def _stages(
    night: _Night, scenarios: Sequence[Scenario], spaces: dict[str, str] | None = None
) -> AsyncIterator[dict[str, Stage]]:
    """The namespaces of all scenarios; the block's end removes them."""
    names = spaces or {each.name: each.namespace or _new_name() for each in scenarios}
    stages = {each.name: night.stage(each, names[each.name]) for each in scenarios}
    try:
        await asyncio.gather(*(_open(stages[each.name], each) for each in scenarios))
        yield stages
    finally:
        await asyncio.gather(*(_close(stages[each.name], each) for each in scenarios))


async def _open(stage: Stage, scenario: Scenario) -> None:
    if scenario.namespace is None:
        wants = {labels.ENABLED: "true"} if scenario.opted_in else {}
        meta = {"name": stage.namespace, "labels": wants}
        await stage.core.create_namespace({"metadata": meta})
    accounts = stage.core.list_namespaced_service_account
    deadline_s = time.monotonic() + SIZES_WITHIN_S
    while not (await accounts(stage.namespace)).items:
        assert time.monotonic() < deadline_s, f"{stage.namespace} has no service account"
        await asyncio.sleep(0.2)
    for manifest in scenario.around:
        await stage.create(manifest)


async def _close(stage: Stage, scenario: Scenario) -> None:
    marked = f"{MARK}={stage.run}"
    for objects in (stage.batch.delete_collection_namespaced_job,
                    stage.core.delete_collection_namespaced_pod):  # fmt: skip
        await objects(
            stage.namespace,
            label_selector=marked,
            grace_period_seconds=0,
            propagation_policy="Background",
        )
    if scenario.namespace is None:
        await stage.core.delete_namespace(stage.namespace)


async def _sizes(stage: Stage, task: str, *, lowered: bool = False) -> None:
    """Wait until admission knows the task, or lowers its pods; the check has no side effect."""
    asking = a_pod("probe")
    asking["metadata"]["labels"][labels.TASK] = task
    deadline_s = time.monotonic() + SIZES_WITHIN_S
    while True:
        made = await stage.core.create_namespaced_pod(stage.namespace, asking, dry_run="All")
        probe = Seen(made.to_dict())
        given_bytes = probe.given_bytes or ASKED_MIB * MIB
        if probe.decision.get("reason") not in {None, "cold-start"} and (
            not lowered or given_bytes < ASKED_MIB * MIB
        ):
            return
        assert time.monotonic() < deadline_s, f"admission never sized {stage.namespace}/{task}"
        await asyncio.sleep(0.5)


async def _pair(scenario: Scenario, stage: Stage, without: Ending, ended: Ending) -> Pair:
    """Wait for the agent's measurements of the pods that succeeded."""
    plimsoll = stage.plimsoll
    assert plimsoll is not None
    task = TaskId(stage.namespace, scenario.task)

    def measured() -> dict[str, int]:
        found: list[Observation] = plimsoll.observations(task)
        return {each.attempt_uid: each.peak_bytes for each in found if each.peak_bytes}

    pods = tuple(replace(seen) for seen in stage.pods)  # before their namespace goes
    wanted = {seen.uid for seen in pods if seen.succeeded and seen.decision}
    await stage.until(lambda: wanted <= measured().keys(), MEASURED_WITHIN_S)
    return Pair(scenario, without, ended, pods, measured())
