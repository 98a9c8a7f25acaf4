"""A campaign that cannot run says why in a sentence, and runs nothing meanwhile."""

from __future__ import annotations

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop
from tests.campaigns.campaigns import (
    GROUP,
    PLURAL,
    a_campaign,
    condition,
    jobs,
    over,
    status_of,
    submit,
    when,
    with_image,
)
from tests.e2e.plimsolls import Plimsoll

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

QUOTA = {"metadata": {"name": "memory"}, "spec": {"hard": {"limits.memory": "1Gi"}}}
OFF = {
    "apiVersion": "plimsoll.dev/v1alpha1",
    "kind": "TaskProfile",
    "metadata": {"name": "quiet"},
    "spec": {"task": "quiet", "mode": "off"},
}
MANY = "mib\n" + "".join(f"{n}\n" for n in range(100_000))
"""More than half of what a ConfigMap may hold."""
FILE = {
    "metadata": {"name": "scenarios"},
    "data": {"bad.csv": "mib\n10\nmany\n", "many.csv": MANY},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def submitted(plimsoll: Plimsoll, shop: Shop) -> None:
    """All of this file's campaigns, begun at once."""
    core = client.CoreV1Api(shop.core.api_client)
    await core.create_namespaced_resource_quota(shop.namespace, QUOTA)
    await core.create_namespaced_config_map(shop.namespace, FILE)
    await shop.custom.create_namespaced_custom_object(*GROUP, shop.namespace, "taskprofiles", OFF)
    file = {"configMap": {"name": "scenarios", "key": "bad.csv"}}
    many = {"configMap": {"name": "scenarios", "key": "many.csv"}}
    nowhere = {"configMap": {"name": "scenarios", "key": "good.csv"}}
    image = with_image(
        a_campaign(
            "never",
            task="never",
            startWithinSeconds=30,
            parallelism=2,
            scenarios={"rows": [{"mib": n} for n in range(20)]},
        ),
        "localhost/no-such-image:1",
    )
    failing = a_campaign(
        "failing",
        task="failing",
        parallelism=5,
        scenarios={"rows": [{"mib": n} for n in range(10)]},
        memory="32Mi",
    )
    command = failing["spec"]["podTemplate"]["spec"]["containers"][0]
    command["command"] = ["/task", "heap", "64"]
    late = a_campaign("late", task="late", activeDeadlineSeconds=3, scenarios={"csv": "mib\n4\n"})
    late["spec"]["podTemplate"]["spec"]["containers"][0]["command"][-1] = "120"
    for campaign in (
        image,
        failing,
        late,
        a_campaign("large", task="large", memory="2Gi"),
        a_campaign("quiet", task="quiet"),
        a_campaign("wrong", task="wrong", scenarios=file),
        a_campaign("absent", task="absent", scenarios=nowhere),
        a_campaign("many", task="many", scenarios=many),
    ):
        await submit(shop, campaign)
    # Both run the same task; the older one runs it first.
    await submit(shop, a_campaign("older", task="both", scenarios={"csv": "mib\n4\n4\n6\n"}))
    await submit(shop, a_campaign("younger", task="both", budget={"runs": 1}))


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        (
            "large",
            "QuotaTooSmall",
            "each run asks for 2Gi, and a quota of the namespace allows 1Gi",
        ),
        ("quiet", "ModeOff", "/quiet is off, so that nothing would be learned"),
        ("wrong", "InvalidScenarios", "scenario 2: 'mib' is 'many', which is no number"),
        ("absent", "InvalidScenarios", "ConfigMap scenarios has no data under 'good.csv'"),
        ("many", "InvalidScenarios", "there are 100,000 scenarios, and a campaign takes 5,000"),
    ],
)
async def test_what_cannot_run_says_why_and_runs_nothing(
    submitted: None, shop: Shop, name: str, reason: str, words: str
) -> None:
    status = await when(shop, name, "is refused", lambda one: one.get("phase") == "Refused")
    accepted = condition(status, "Accepted")
    assert accepted[:2] == ("False", reason)
    assert words in accepted[2]
    made = [job.metadata.labels[labels.CAMPAIGN] for job in (await jobs(shop)).values()]
    assert name not in made


async def test_the_younger_of_two_campaigns_of_a_task_waits_and_then_runs_within_its_budget(
    submitted: None, shop: Shop, plimsoll: Plimsoll
) -> None:
    older = await over(shop, "older")
    assert condition(older, "Accepted")[1] == "DuplicatesLeftOut"
    assert (older["scenarios"], older["done"]) == (2, 2)
    younger = await over(shop, "younger")
    assert condition(younger, "Progressing")[1] == "BudgetSpent"
    assert (younger["done"], younger["waiting"]) == (1, 1)
    first = plimsoll.store.campaigns.named(shop.namespace, "older")
    second = plimsoll.store.campaigns.named(shop.namespace, "younger")
    assert first is not None
    assert second is not None
    assert second.began_s >= (first.ended_s or second.began_s + 1)


async def test_a_program_that_always_fails_ends_its_campaign(submitted: None, shop: Shop) -> None:
    status = await over(shop, "failing")
    told = condition(status, "Progressing")
    assert told[:2] == ("False", "ProgramFails")
    assert "its program fails every time" in told[2]
    assert status["killed"] == 0


async def test_a_run_that_takes_longer_than_its_campaign_allows_says_so(
    submitted: None, shop: Shop
) -> None:
    status = await over(shop, "late")
    assert status["failed"] == 1
    words = "scenario 0: it took longer than its activeDeadlineSeconds"
    assert words in condition(status, "Progressing")[2]


async def test_a_template_that_never_starts_ends_its_campaign_and_leaves_no_job(
    submitted: None, shop: Shop
) -> None:
    status = await over(shop, "never")
    told = condition(status, "Progressing")
    assert told[:2] == ("False", "NeverStarts")
    assert "nothing started within 30 s: ErrImage" in told[2] or "ImagePullBackOff" in told[2]
    assert status["scenarios"] == 20
    assert status["waiting"] == 18
    left = [job.metadata.labels[labels.CAMPAIGN] for job in (await jobs(shop)).values()]
    assert "never" not in left


async def test_one_that_is_refused_runs_once_its_cause_is_mended_and_stops_when_asked(
    submitted: None, shop: Shop
) -> None:
    spec = {"spec": {"mode": "recommend"}}
    await shop.custom.patch_namespaced_custom_object(
        *GROUP,
        shop.namespace,
        "taskprofiles",
        "quiet",
        spec,
        _content_type="application/merge-patch+json",
    )
    await when(shop, "quiet", "runs", lambda one: one.get("phase") in ("Running", "Finished"))
    await shop.custom.patch_namespaced_custom_object(
        *GROUP,
        shop.namespace,
        PLURAL,
        "large",
        {"spec": {"memory": "64Mi", "stopped": True}},
        _content_type="application/merge-patch+json",
    )
    status = await over(shop, "large")
    assert condition(status, "Progressing")[1] == "Stopped"
    assert (await status_of(shop, "large"))["done"] == 0
