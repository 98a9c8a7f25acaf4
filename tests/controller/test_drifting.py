"""A task whose needs move to another level: its condition and one Event, on the real API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.past_runs.import_file import import_command
from tests.apiserver.controllers import Shop, a_controller, store_url, until
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

HEADER = "namespace,task,run,finished_s,outcome,allocation_bytes,peak_bytes"
MIB = 2**20


async def test_a_shift_of_level_shows_as_a_condition_and_as_one_event(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.pod("now")
    high, low = [6000 + 50 * n for n in range(20)], [2200 + 10 * n for n in range(9)]
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the task is known", lambda: shop.profile("train"))
        _import(shop, tmp_path, high)
        await until("20 runs", lambda: _runs(shop, 20))
        assert (await _drifting(shop))["status"] == "False"
        _import(shop, tmp_path, [*high, *low[:8]])
        await until("the shift shows", lambda: _is_drifting(shop))
        said = (await _drifting(shop))["message"]
        assert "which needed 6.05Gi to 6.79Gi" in said
        assert await until("an Event", lambda: shop.events("Drifting")) == [said]
        _import(shop, tmp_path, [*high, *low])
        await until("one run more", lambda: _runs(shop, 29))
    async with a_controller(cluster.kubeconfig, tmp_path):
        await shop.pod("later")
        await until("the profile goes on", lambda: _is_drifting(shop))
        assert await shop.events("Drifting") == [said], "told once, restarts and more runs or not"


def _import(shop: Shop, folder: Path, needs_mib: Sequence[int]) -> None:
    rows = [
        f"{shop.namespace},train,r{place},{1_700_000_000 + place},succeeded,{2**33},{need * MIB}"
        for place, need in enumerate(needs_mib)
    ]
    path = folder / "history.csv"
    path.write_text("\n".join((HEADER, *rows)))
    assert import_command(path, store_url(folder)) == 0


async def _status(shop: Shop) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (await shop.profile("train")).get("status") or {}
    return found


async def _runs(shop: Shop, number: int) -> bool:
    return (await _status(shop)).get("runs") == number


async def _drifting(shop: Shop) -> Mapping[str, Any]:
    conditions = (await _status(shop)).get("conditions") or []
    return next((each for each in conditions if each["type"] == "Drifting"), {})


async def _is_drifting(shop: Shop) -> bool:
    return (await _drifting(shop)).get("status") == "True"
