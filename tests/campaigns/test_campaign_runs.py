"""A small campaign on the real node: scenarios run, are lifted and learned, whatever is killed."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from plimsoll_operator.names import labels
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, until
from tests.campaigns.campaigns import (
    GROUP,
    OVER,
    PLURAL,
    SMALL,
    Manifest,
    a_campaign,
    condition,
    jobs,
    over,
    pods,
    status_of,
    submit,
    when,
)
from tests.e2e.plimsolls import Plimsoll
from tests.rigs.processes.kills_at_random import TRAINER_PROCESS, always, killed_at_random

MANY_BETWEEN_S = 15.0
"""A controller begins runs when an agent has reported, which takes up to ten seconds."""
WITHIN_S = 900.0
"""Many scenarios may be left when the last kill is over."""
NOTICED_WITHIN_S = 5.0
"""From a container's end, in whole seconds, until an agent that misses its cgroup reports it."""

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


async def test_a_campaign_runs_its_scenarios_lifts_what_is_killed_and_learns_all(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    rows = [{"mib": mib} for mib in (10, 30, 60, 150)]
    made = await submit(shop, a_campaign(scenarios={"rows": rows}, parallelism=2))
    status = await over(shop, "learn")
    assert condition(status, "Progressing")[:2] == ("False", "AllRun"), status
    assert (status["scenarios"], status["done"], status["failed"]) == (4, 4, 0), status
    assert status["killed"] == 1
    seen = plimsoll.observations(shop.task())
    assert Counter(each.outcome for each in seen) == {
        Outcome.SUCCEEDED: 4,
        Outcome.OOM_KILLED: 1,
    }
    assert sorted(float(each.features["mib"]) for each in seen) == [10, 30, 60, 150, 150]
    succeeded = [each.run for each in seen if each.outcome is Outcome.SUCCEEDED]
    assert len(set(succeeded)) == 4
    runs = plimsoll.store.campaigns.runs(made["metadata"]["uid"])
    assert [run.memory_bytes >> 20 for run in runs] == [128, 128, 128, 128, 256]
    assert len(await jobs(shop)) == 5
    assert Counter(run.state for run in runs) == {RunState.LEARNED: 4, RunState.KILLED: 1}


async def test_a_campaign_outlives_kills_at_random_and_repeats_no_success(
    shop: Shop, plimsoll: Plimsoll, rounds: int
) -> None:
    """By default it is small; with more rounds it has 60 scenarios, and a kill for each round.

    A kill after the campaign's end tests nothing, so the many kills end with it.
    """
    many = rounds > SMALL
    pairs, seconds = (12, (1, 2, 3, 4, 5)) if many else (3, (1,))
    made = await submit(shop, that_outlives(pairs, seconds))

    async def going() -> bool:
        return (await status_of(shop, "outlives")).get("phase") not in OVER

    planned = rounds if many else max(2, rounds // 4)
    kills, without_agent = await killed_at_random(
        plimsoll, planned, MANY_BETWEEN_S if many else 1.5, going if many else always
    )
    status = await over(shop, "outlives", WITHIN_S)
    count = pairs * len(seconds)
    task = shop.task("outlives")
    seen = plimsoll.observations(task)
    succeeded = Counter(each.run for each in seen if each.outcome is Outcome.SUCCEEDED)
    assert len(succeeded) == count
    assert set(succeeded.values()) == {1}
    runs = plimsoll.store.campaigns.runs(made["metadata"]["uid"])
    assert len({run.attempt_uid for run in runs}) == len(runs) == len(seen)
    # Only runs during which no agent lived may have no peak: few, because then no more runs begin.
    lost = [run for run in runs if run.state is RunState.UNMEASURED]
    assert all(any(map(partial(ran_within, run), without_agent)) for run in lost), lost
    unmeasured = len(lost)
    expected = (count, count - unmeasured, unmeasured)
    assert (status["scenarios"], status["done"], status["failed"]) == expected, status
    print(
        f"{count} scenarios, {len(seen)} attempts, {unmeasured} unmeasured;"
        f" {kills.total()} of {planned} kills while it ran: {dict(kills)}"
    )
    if many:
        assert kills[TRAINER_PROCESS], "no trainer was there to be killed"
        known = status["done"]

        def trained() -> bool:
            saved = plimsoll.store.models.newest(task)
            return saved is not None and 0.9 * known <= (saved.runs or 0)

        await until("its task is trained", trained)


def that_outlives(pairs: int, seconds: tuple[int, ...]) -> Manifest:
    """A campaign with a scenario for each of that many sizes, and for each time."""
    campaign = a_campaign(
        "outlives",
        task="outlives",
        memory="32Mi",
        parallelism=3,
        order="MostToLearn",
        features=[
            {"name": "mib", "numeric": True, "env": "MIB"},
            {"name": "seconds", "numeric": True, "env": "SECONDS"},
        ],
        scenarios={
            "grid": [
                {"name": "mib", "values": [5 * n for n in range(1, pairs + 1)]},
                {"name": "seconds", "values": list(seconds)},
            ]
        },
    )
    container = campaign["spec"]["podTemplate"]["spec"]["containers"][0]
    container["command"] = ["/task", "eat", "$(MIB)", "$(SECONDS)"]
    return campaign


def ran_within(run: CampaignRun, seconds: tuple[float, float]) -> bool:
    """Whether any part of a run falls between two moments, in Unix seconds."""
    began_s, ended_s = run.created_s, run.ended_s
    assert began_s is not None
    assert ended_s is not None
    return began_s <= seconds[1] and ended_s + NOTICED_WITHIN_S >= seconds[0]


async def test_a_deleted_campaign_takes_its_jobs_and_pods_and_leaves_what_was_learned(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    rows = [{"mib": mib} for mib in (12, 14, 16, 18)]
    slow = a_campaign("slow", task="slow", scenarios={"rows": rows})
    slow["spec"]["podTemplate"]["spec"]["containers"][0]["command"] = [
        "/task",
        "eat",
        "$(MIB)",
        "2",
    ]
    await submit(shop, slow)
    await when(shop, "slow", "learned one", lambda status: status.get("done"))
    assert await pods(shop, "slow")
    await shop.custom.delete_namespaced_custom_object(*GROUP, shop.namespace, PLURAL, "slow")

    async def gone() -> bool:
        left = (await jobs(shop)).values()
        of_it = [job for job in left if job.metadata.labels[labels.CAMPAIGN] == "slow"]
        return not of_it and not await pods(shop, "slow")

    await until("its Jobs and their pods are gone", gone)
    await until(
        "it has ended in the store",
        lambda: (found := plimsoll.store.campaigns.named(shop.namespace, "slow")) and found.ending,
    )
    assert plimsoll.observations(shop.task("slow"))
