"""Strange pods at the real API server: always admitted, and sized where possible.

Dry runs: the API server validates, sets defaults and asks admission as usual, but stores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop
from tests.e2e.seeing import create, decision_of, memory_of
from tests.e2e.workloads import Manifest, a_pod, features

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize(
    "annotated",
    [
        pytest.param(features(rows="NaN", columns="not a number", x=""), id="no numbers"),
        pytest.param(features(rows="1e308", columns="-1e999"), id="enormous numbers"),
        pytest.param({f"{labels.FEATURE_PREFIX}f{n}": "1" for n in range(8_000)}, id="thousands"),
        pytest.param(features(rows="9" * 250_000), id="an endless value"),
        pytest.param(features(**{"Rows_1.of-2": "1", "r" * 63: "ü\n\t\u202e"}), id="odd names"),
        pytest.param({labels.MODE: "reckless", labels.RETRY: "perhaps"}, id="unknown mode"),
        pytest.param({labels.DECISION: '{"attempt": 9, "allocation": "1Ti"}'}, id="a forged note"),
        pytest.param({labels.RUN_OF: "", labels.RETRY_OF: "nobody"}, id="a forged retry"),
    ],
)
async def test_whatever_a_pod_declares_it_is_admitted_as_it_asked(
    annotated: Mapping[str, str], shop: Shop
) -> None:
    pod = await create(shop, a_pod("odd", "eat 8", annotated=annotated), dry_run=True)
    assert memory_of(pod) == ("64Mi", "64Mi")
    assert set(pod.metadata.annotations) >= set(annotated)
    assert decision_of(pod)["task"] == str(shop.task())


async def test_a_pod_whose_annotations_leave_no_room_for_ours_is_admitted_without_it(
    shop: Shop,
) -> None:
    full = a_pod("full", "eat 8", annotated=features(rows="9" * 262_000))
    assert decision_of(await create(shop, full, dry_run=True)) == {}


async def test_an_unknown_mode_is_said_and_the_namespaces_mode_is_used(shop: Shop) -> None:
    odd = a_pod("odd", "eat 8", annotated={labels.MODE: "reckless"})
    decision = decision_of(await create(shop, odd, dry_run=True))
    assert decision["mode"] == "enforce"
    assert "reckless" in decision["why"]


async def test_a_pod_beyond_the_api_servers_own_bounds_is_refused_by_it_alone(shop: Shop) -> None:
    huge = a_pod("huge", "eat 8", annotated=features(rows="9" * 300_000))
    with pytest.raises(Exception, match="Too long: may not be more than 262144 bytes"):
        await create(shop, huge, dry_run=True)


async def test_only_the_chosen_container_is_sized_never_an_init_container_or_sidecar(
    shop: Shop,
) -> None:
    asks = {"requests": {"memory": "40Mi"}, "limits": {"memory": "48Mi"}}
    pod = with_company(a_pod("several", "eat 8", annotated={labels.CONTAINER: "main"}), asks)
    made = await create(shop, pod, dry_run=True)
    decision = decision_of(made)
    assert (decision["container"], decision["was"]["request"]) == ("main", "64Mi")
    assert memory_of(made, container=1) == ("40Mi", "48Mi")
    for each in made.spec.init_containers:
        assert (each.resources.requests, each.resources.limits) == (
            {"memory": "40Mi"},
            {"memory": "48Mi"},
        )


def with_company(pod: Manifest, resources: Mapping[str, Any]) -> Manifest:
    main = pod["spec"]["containers"][0]
    pod["spec"]["containers"].append({**main, "name": "beside", "resources": resources})
    pod["spec"]["initContainers"] = [
        {**main, "name": "before", "resources": resources},
        {**main, "name": "sidecar", "resources": resources, "restartPolicy": "Always"},
    ]
    return pod


async def test_a_request_without_a_limit_and_a_limit_without_a_request_are_admitted(
    shop: Shop,
) -> None:
    for resources, written in (
        ({"requests": {"memory": "64Mi"}}, ("64Mi", None)),
        ({"limits": {"memory": "64Mi"}}, ("64Mi", "64Mi")),
    ):
        pod = a_pod("half", "eat 8", memory=None)
        pod["spec"]["containers"][0]["resources"] = resources
        made = await create(shop, pod, dry_run=True)
        assert memory_of(made) == written
        assert decision_of(made)["reason"] == "cold-start"
