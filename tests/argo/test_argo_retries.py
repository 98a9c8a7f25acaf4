"""Killed steps of a real Argo, which makes their next pods without a backoff."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, until
from tests.argo.argos import GROUP, PLURAL, VERSION, a_controller, a_workflow
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, decision_of
from tests.e2e.witnesses import Witness
from tests.rigs.node.container_ends import ContainerEnds

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

WORKFLOWS, RETRIES = 10, 2
# Argo's executor is in the step's container and takes some 20 MiB itself.
MEMORY, COMMAND = "96Mi", "eat 120 1"
LOOKS = {"patiently": "10s", "at-once": "100ms"}
"""How long news of a workflow waits before Argo looks at it: its own value, and almost no time."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A workflow that has ended, and its pods in the order of its attempts."""

    phase: str
    pods: list[Any]


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs workflows of Argo."""

    shop: Shop
    witness: Witness

    async def run(self, name: str) -> Ran:
        """Run one to its end, with any result."""
        custom, place = self.shop.custom, self.shop.namespace
        made = await custom.create_namespaced_custom_object(
            GROUP, VERSION, place, PLURAL,
            a_workflow(name, COMMAND, memory=MEMORY, retries=RETRIES),
        )  # fmt: skip
        workflow = made["metadata"]["name"]

        async def ended() -> str | None:
            found = await custom.get_namespaced_custom_object(
                GROUP, VERSION, place, PLURAL, workflow
            )
            status = found.get("status", {})
            return str(status["phase"]) if status.get("finishedAt") else None

        phase = await until(f"workflow {workflow} ends", ended, 2 * WITHIN_S)
        pods = self.witness.of({"workflows.argoproj.io/workflow": workflow})
        return Ran(phase, sorted(pods, key=_attempt))


def _attempt(pod: Any) -> int:
    """Its number, which Argo appends to its node's name: ``night-x7k2p(1)``."""
    node: str = pod.metadata.annotations["workflows.argoproj.io/node-name"]
    return int(node.removesuffix(")").rpartition("(")[2])


@pytest.fixture(params=LOOKS)
def controller(
    request: pytest.FixtureRequest, shop: Shop, cluster: Cluster, tmp_path: Path
) -> Iterator[str]:
    """Argo's controller; the returned name says how patient it is."""
    name = str(request.param)
    with a_controller(cluster, shop.namespace, tmp_path / "argo.log", LOOKS[name]):
        yield name


def tell(how: str, found: list[Ran], witness: Witness, ends: ContainerEnds) -> None:
    """Print how the runs went, and how soon after a kill the next pod existed."""
    pairs = [pair for ran in found for pair in pairwise(ran.pods)]
    assert pairs, "no step was killed"
    killed = [pod.metadata.uid for pod, _ in pairs]
    made_s = [witness.made_s[after.metadata.uid] for _, after in pairs]
    kill_s = [ends.ended_s[witness.killed[uid]] for uid in killed]
    parts = {
        "kill to its sight in the pod's status": [witness.killed_s[uid] for uid in killed],
        "kill to the pod's end": [witness.ended_s[uid] for uid in killed],
        "kill to the next pod": made_s,
    }
    lifted = sum(decision_of(after).get("reason") == "lifted" for _, after in pairs)
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"Argo, {how}: {len(found)} workflows, {len(pairs)} next pods, {lifted} lifted, load {load}"
    )
    for words, at_s in parts.items():
        _rank(words, [at - kill for at, kill in zip(at_s, kill_s, strict=True)])
    ended_s = [witness.ended_s[uid] for uid in killed]
    _rank("the pod's end to the next pod", [m - e for m, e in zip(made_s, ended_s, strict=True)])


def _rank(words: str, seconds: list[float]) -> None:
    ranked = sorted(seconds)
    print(
        f"  {words}: least {ranked[0]:.2f} s, p50 {median(ranked):.2f} s, most {ranked[-1]:.2f} s"
    )


async def test_the_next_pod_of_a_killed_step_has_the_lifted_size(
    controller: str, shop: Shop, plimsoll: Plimsoll, witness: Witness, ends: ContainerEnds
) -> None:
    name = f"night-{controller}"
    runner = Runner(shop, witness)
    found = await asyncio.gather(*(runner.run(name) for _ in range(WORKFLOWS)))
    tell(controller, found, witness, ends)
    assert [ran.phase for ran in found] == ["Succeeded"] * WORKFLOWS
    assert {pod.metadata.labels[labels.TASK] for ran in found for pod in ran.pods} == {labels.AUTO}
    seconds = [pod for ran in found for pod in ran.pods[1:]]
    assert [decision_of(pod).get("reason") for pod in seconds] == ["lifted"] * len(seconds)
    assert max(len(ran.pods) for ran in found) == 2
    # The template is the task: all workflows of a name teach the same one.
    attempts = sum(len(ran.pods) for ran in found)
    task = shop.task(f"argo.{name}.crunch")

    def known() -> list[Outcome] | None:
        outcomes = [each.outcome for each in plimsoll.observations(task)]
        return outcomes if len(outcomes) == attempts else None

    outcomes = await until(f"{attempts} attempts of {task}", known, WITHIN_S)
    assert outcomes.count(Outcome.SUCCEEDED) == WORKFLOWS
    assert outcomes.count(Outcome.OOM_KILLED) == len(seconds)
