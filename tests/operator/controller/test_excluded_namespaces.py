"""In an excluded namespace the controller sees, learns, lifts, retries and shows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.controller.attempts.retry_creation import EXCLUDED
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import TRAIN, a_final, a_train, an_inside, decided, killed
from tests.rigs.servers.admission_servers import until_true

SHOP = frozenset({"shop"})
KILLED = killed(decided(a_train()))


@pytest.mark.slow
async def test_a_pod_that_is_killed_there_is_not_observed_lifted_or_retried(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path, excluded=SHOP) as inside:
        await inside.see(KILLED)
        await inside.see(KILLED, gone=True)
        assert TRAIN not in inside.controller.book
        assert inside.store.totals.by_task() == {}
        assert inside.store.retries.waiting() == []
        assert not inside.controller.late_binding._waiting
        assert inside.controller.profiles._due == {}


@pytest.mark.slow
async def test_what_was_known_before_is_neither_served_nor_shown_nor_retried(
    tmp_path: Path,
) -> None:
    """Its TaskProfile stays as it is, and its rows stay in the store."""
    async with an_inside(tmp_path) as inside:
        await inside.report(a_final(need_bytes=127 * MIB))
        await inside.see(KILLED)
        assert len(inside.store.retries.waiting()) == 1
    async with an_inside(tmp_path, excluded=SHOP) as inside:
        controller = inside.controller
        await controller.store_sync.look_for_imports()
        await controller.standings.fold()
        assert TRAIN not in controller.book
        assert controller.profiles._due == {}
        assert b"shop/train" not in controller.board.message(0, None)
        await until_true(lambda: inside.store.retries.waiting() == [])
        await until_true(lambda: not controller.retries._under_way)
        assert controller.retries.results[EXCLUDED.key] == 1
        assert TRAIN in inside.store.totals.by_task()


@pytest.mark.slow
async def test_its_profiles_policies_and_bounds_are_not_read(tmp_path: Path) -> None:
    meta = {"namespace": "shop", "name": "default"}
    policy = {"metadata": meta, "spec": {"max": "1Gi"}}
    quota = {"metadata": meta, "kind": "ResourceQuota", "spec": {"hard": {"memory": "1Gi"}}}
    profile = {"metadata": {**meta, "name": "train"}, "spec": {"task": "train", "max": "1Gi"}}
    async with an_inside(tmp_path, excluded=SHOP) as inside:
        watch, policies = inside.controller.watch, inside.controller.book.policies
        revision = inside.controller.board.revision
        await watch.see_policy(policy, gone=False)
        await watch.see_bounds(quota, gone=False)
        await watch.see_profile(profile, gone=False)
        assert policies.of_task(TRAIN).policy.max_bytes is None
        assert inside.controller.board.revision == revision
        assert watch.policy_statuses._shown == {}


@pytest.mark.slow
async def test_the_policy_of_the_cluster_is_read_in_plimsolls_own_namespace(
    tmp_path: Path,
) -> None:
    policy = {"metadata": {"namespace": "plimsoll", "name": "cluster"}, "spec": {"max": "1Gi"}}
    async with an_inside(tmp_path, excluded=SHOP) as inside:
        await inside.controller.watch.see_policy(policy, gone=False)
        assert inside.controller.book.policies.default.max_bytes == 1024 * MIB
