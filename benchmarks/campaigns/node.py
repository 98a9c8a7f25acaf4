"""`make bench-campaigns-node`: two tasks learned by campaigns on the real node, whatever is killed.

Three acts, with the programs of `make demo`:

1. a campaign of 60 scenarios of each task, most to learn next, while the controller, the agent and
   the trainer are killed (-9) at random, fifty times in all;
2. the first forty production runs of each task, sized by what the campaigns found;
3. the same scenarios in each order, one campaign at a time, as another one beside it would change
   the runtimes that the estimate weighs: after how many runs does the estimated saving stay at the
   plain order's final one?

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.campaigns.node
        [--kills 50] [--only production|orders]
        [--orders-of train-demand|join-sales]

It builds the demo's image, and takes some forty minutes. The results are in bench-scale.json.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Final

from demo.cluster.place import built_image
from demo.runs.plan import REQUEST_BYTES
from kubernetes_asyncio import client
from rich.console import Console
from rich.table import Table

from benchmarks.campaigns.production import produced
from benchmarks.campaigns.scenarios import TASKS, campaign
from benchmarks.campaigns.simulation import reached
from benchmarks.real_node.stand import Stand, a_stand, node
from benchmarks.scale import results_file
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.saving import learned_of, saving_of
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from tests.apiserver.controllers import Shop, until
from tests.campaigns.campaigns import OVER as PHASES_OVER
from tests.campaigns.campaigns import over, status_of, submit
from tests.conftest import Cluster
from tests.rigs.processes.kills_at_random import killed_at_random

KILLS: Final = 50
BETWEEN_S: Final = 12.0
"""The mean time to a kill is half of this. A controller begins runs when an agent has reported that
it lives, which takes up to ten seconds."""
WITHIN_S: Final = 1_500.0
TRAINING_BUDGET_S: Final = 25
KILLED: Final = "killed"
MOST_TO_LEARN: Final = "most"
PLAIN: Final = "plain"
PARTS: Final = ("production", "orders")
BAR: Final = 0.5
"""Most to learn next must reach the plain order's final estimate with this share of scenarios."""
MOST_KILLED: Final = 1
MOST_ALLOCATED_OVER_PEAK: Final = 1.25

say = Console(stderr=True, highlight=False).print


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The result of one campaign.

    twice: scenarios that succeeded more than once. lost: runs that were not measured. estimates:
    what sizing would save, after each need that became known.
    """

    task: str
    order: str
    scenarios: int
    known: int
    attempts: int
    killed_for_memory: int
    twice: int
    lost: int
    seconds: float
    estimates: tuple[float, ...]


def estimates(runs: Sequence[CampaignRun], reference_bytes: int) -> tuple[float, ...]:
    """Return the campaign's own figure after each need that became known, in that order."""
    learned = learned_of(runs)
    found = []
    for count in range(1, len(learned) + 1):
        saving = saving_of(runs, reference_bytes, newest_left_out=len(learned) - count)
        found.append(0.0 if saving is None else saving.expected)
    return tuple(found)


async def _learn(
    stand: Stand, tasks: Sequence[str], order: str, image: str, kills: int = 0
) -> tuple[list[Learned], Counter[str]]:
    """Run a campaign for each of these tasks in one order, all at once."""
    shop = Shop(stand.core, client.CustomObjectsApi(stand.core.api_client), stand.namespace)
    began_s = time.monotonic()
    plain = order == PLAIN
    made = {
        task: await submit(shop, campaign(task, f"{order}-{task}", image, plain=plain))
        for task in tasks
    }

    async def going() -> bool:
        phases = [(await status_of(shop, f"{order}-{task}")).get("phase") for task in tasks]
        return any(phase not in PHASES_OVER for phase in phases)

    killed, _ = await killed_at_random(stand.plimsoll, kills, BETWEEN_S, going)
    if kills:
        say(f"  killed so far: {dict(killed)}")
    found = []
    for task in tasks:
        status = await over(shop, f"{order}-{task}", WITHIN_S)
        say(f"  {order}-{task}: {status.get('done')} of {status.get('scenarios')} needs are known")
        runs = stand.plimsoll.store.campaigns.runs(made[task]["metadata"]["uid"])
        found.append(_learned(stand, task, order, runs, time.monotonic() - began_s))
    return found, killed


def _learned(
    stand: Stand, task: str, order: str, runs: Sequence[CampaignRun], seconds: float
) -> Learned:
    uids = {run.attempt_uid for run in runs}
    seen = [each for each in stand.observed(task) if each.attempt_uid in uids]
    succeeded = Counter(
        run.scenario for run in runs if run.state in (RunState.LEARNED, RunState.UNMEASURED)
    )
    return Learned(
        task=task,
        order=order,
        scenarios=len({run.scenario for run in runs}),
        known=len(learned_of(runs)),
        attempts=len(runs),
        killed_for_memory=sum(each.outcome is Outcome.OOM_KILLED for each in seen),
        twice=sum(count - 1 for count in succeeded.values()),
        lost=sum(run.state is RunState.UNMEASURED for run in runs),
        seconds=seconds,
        estimates=estimates(runs, REQUEST_BYTES),
    )


async def _play(
    cluster: Cluster, image: str, kills: int, parts: Sequence[str], ordered: Sequence[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with a_stand(cluster, "--training-budget", str(TRAINING_BUDGET_S)) as stand:
        if "production" in parts:
            say(f"campaigns, most to learn next, {kills} kills")
            courses, killed = await _learn(stand, TASKS, KILLED, image, kills)
            found |= {"killed": dict(killed), "campaigns": [asdict(each) for each in courses]}
            await _trained(stand)
            say("production")
            before = {each.attempt_uid for task in TASKS for each in stand.observed(task)}
            found["production"] = [asdict(each) for each in await produced(stand, image, before)]
        if "orders" in parts:
            found["orders"] = []
            for task, order in product(ordered, (PLAIN, MOST_TO_LEARN)):
                say(f"campaign of {task} alone, order {order}")
                courses, _ = await _learn(stand, (task,), order, image)
                found["orders"] += [asdict(each) for each in courses]
    return found


async def _trained(stand: Stand) -> None:
    """Wait until the campaigns' findings are trained, and admission has them."""
    for task in TASKS:
        known = len(stand.succeeded(task))

        def is_trained(task: str = task, known: int = known) -> bool:
            saved = stand.plimsoll.store.models.newest(TaskId(stand.namespace, task))
            return saved is not None and 0.9 * known <= (saved.runs or 0)

        await until(f"{task} is trained", is_trained, WITHIN_S)
    await asyncio.sleep(3)  # a publication takes half a second


def tables(found: Mapping[str, Any]) -> list[Table]:
    """Return the results, act by act; acts that were not played have no rows."""
    first = Table(title=f"Campaigns on the real node; killed in the first: {found.get('killed')}")
    for column in ("task", "order", "scenarios", "known", "attempts", "OOM", "twice", "lost", "s"):
        first.add_column(column, justify="right")
    for each in (*found.get("campaigns", ()), *found.get("orders", ())):
        keys = ("scenarios", "known", "attempts", "killed_for_memory", "twice", "lost")
        cells = (each["task"], each["order"], *(str(each[key]) for key in keys))
        first.add_row(*cells, f"{each['seconds']:.0f}")
    second = Table(title="Runs until the estimated saving stays at the plain order's final one")
    for column in ("task", "plain", "most to learn", "bar", "final", "final of most to learn"):
        second.add_column(column, justify="right")
    for each in orders(found.get("orders", ())):
        second.add_row(*(f"{v:.3f}" if isinstance(v, float) else str(v) for v in each.values()))
    third = Table(title="The first production runs after the campaigns")
    for column in ("task", "runs", "killed", "bar", "allocated ÷ peak", "bar "):
        third.add_column(column, justify="right")
    for each in found.get("production", ()):
        ratio = f"{each['allocated_over_peak']:.2f}"
        bars = (str(MOST_KILLED), ratio, f"{MOST_ALLOCATED_OVER_PEAK:g}")
        third.add_row(each["task"], str(each["runs"]), str(each["killed"]), *bars)
    return [first, second, third]


def orders(campaigns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, per task, how many runs each order takes; a task without both has no row."""
    by_order = {(each["task"], each["order"]): each for each in campaigns}
    found = []
    for task in TASKS:
        plain, most = by_order.get((task, PLAIN)), by_order.get((task, MOST_TO_LEARN))
        if plain is None or most is None:
            continue
        goal = plain["estimates"][-1]
        found.append(
            {
                "task": task,
                "plain": reached(plain["estimates"], goal),
                "most_to_learn": reached(most["estimates"], goal),
                "bar": round(BAR * most["scenarios"]),
                "final": goal,
                "final_of_most_to_learn": most["estimates"][-1],
            }
        )
    return found


def together(before: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new results, with earlier ones for acts not played now; orders by their task."""
    kept = [
        each
        for each in before.get("orders", ())
        if each["task"] not in {new["task"] for new in found.get("orders", ())}
    ]
    return {**before, **found, "orders": [*kept, *found.get("orders", ())]}


def missed(found: Mapping[str, Any], kills: int) -> list[str]:
    """Return the bars that the played acts miss, one line each."""
    lines = []
    if (killed := found.get("killed")) is not None and sum(killed.values()) < kills:
        lines.append(f"{sum(killed.values())} of {kills} kills while campaigns ran")
    for each in (*found.get("campaigns", ()), *found.get("orders", ())):
        if each["twice"] or each["known"] + each["lost"] != each["scenarios"]:
            lines.append(f"{each['order']}-{each['task']}: run twice or not at all")
    lines += [
        f"{each['task']}: most to learn next takes {each['most_to_learn']} runs"
        for each in orders(found.get("orders", ()))
        if each["most_to_learn"] > each["bar"]
    ]
    lines += [
        f"{each['task']}: {each['killed']} killed, {each['allocated_over_peak']:.2f} in production"
        for each in found.get("production", ())
        if each["killed"] > MOST_KILLED or each["allocated_over_peak"] > MOST_ALLOCATED_OVER_PEAK
    ]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Returns 0 if every bar holds."""
    parser = argparse.ArgumentParser(prog="benchmarks.campaigns.node", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--only", choices=PARTS, help="one part; what was found of the other stays")
    parser.add_argument("--orders-of", choices=TASKS, help="compare the orders of one task")
    asked = parser.parse_args(arguments)
    # If it is ended from outside, all that was started here ends as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    image = built_image("demo")  # the node's network has no way out
    parts = (asked.only,) if asked.only else PARTS
    ordered = (asked.orders_of,) if asked.orders_of else TASKS
    with node() as cluster:
        found = asyncio.run(_play(cluster, image, asked.kills, parts, ordered))
    before = results_file.kept().get("campaigns_node", {}) if asked.only else {}
    found = together(before, found)
    results_file.keep({"campaigns_node": found})
    for table in tables(found):
        Console(width=120).print(table)
    lines = missed(found, asked.kills)
    for line in lines:
        print(f"MISSED: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
