"""The chart's admission pods are replaced one after another, under load."""

from __future__ import annotations

import asyncio

import pytest

from tests.apiserver.controllers import until
from tests.ha.figures import FIGURES
from tests.ha.replicas.load import a_load, kept, labelled, per_s, unlabelled
from tests.ha.replicas.replicated import SHOP, UNTOUCHED, Replicated

pytestmark = [pytest.mark.node, pytest.mark.alone]

BASELINE_S = 6.0
LEAST_SHARE = 0.8
LONGEST_S = 1.0


async def test_a_rolling_restart_under_load_fails_no_creation_and_delays_none(
    replicated: Replicated,
) -> None:
    async with a_load(replicated.cluster, SHOP) as load:
        await until("decided", load.decides)
        before = await load.for_s(BASELINE_S, unlabelled())
        async with load.going_on(labelled()) as counted:
            await asyncio.sleep(2)
            await replicated.rolled("admission")
            await asyncio.sleep(2)
        after = await load.for_s(BASELINE_S, unlabelled())
    share = counted.per_s / per_s((before, after))
    FIGURES.note(
        "ha.rolling_creations", f"{counted.creations}, of them failed {len(counted.refused)}"
    )
    FIGURES.note("ha.rolling_creations_without_a_decision", f"{counted.undecided}")
    FIGURES.note(
        "ha.rolling_creations_per_s",
        f"{counted.per_s:.0f} with, {per_s((before, after)):.0f} without the webhook:"
        f" {share:.0%} (>= {LEAST_SHARE:.0%})",
    )
    FIGURES.note("ha.rolling_slowest_creation_s", f"{counted.slowest_s:.2f} (<= {LONGEST_S:.0f})")
    assert counted.refused == []
    assert counted.undecided == 0
    assert counted.slowest_s <= LONGEST_S
    assert share >= LEAST_SHARE


async def test_pods_created_as_fast_as_the_cluster_takes_them_are_all_decided_in_a_rolling_restart(
    replicated: Replicated,
) -> None:
    async with (
        a_load(replicated.cluster, SHOP) as dry,
        a_load(replicated.cluster, SHOP, dry_run=False) as load,
        a_load(replicated.cluster, UNTOUCHED, dry_run=False) as untouched,
    ):
        await until("decided", dry.decides)
        before = await untouched.for_s(BASELINE_S, kept(), 0.0)
        async with load.going_on(kept(), 0.0) as counted:
            await asyncio.sleep(2)
            await replicated.rolled("admission")
            await asyncio.sleep(2)
        after = await untouched.for_s(BASELINE_S, kept(), 0.0)
        for name in (SHOP, UNTOUCHED):
            await replicated.kubectl("delete", "--raw", f"/api/v1/namespaces/{name}/pods")
    without_per_s = per_s((before, after))
    share = counted.per_s / without_per_s
    FIGURES.note("ha.kept_creations", f"{counted.creations}, of them failed {len(counted.refused)}")
    FIGURES.note(
        "ha.kept_creations_per_s",
        f"{counted.per_s:.0f} with, {without_per_s:.0f} without the webhook:"
        f" {share:.0%} (no bound)",
    )
    # With both processors busy, waiting times depend on other programs.
    FIGURES.note("ha.kept_slowest_creation_s", f"{counted.slowest_s:.2f} (no bound)")
    assert counted.refused == before.refused == after.refused == []
    assert counted.undecided == 0
