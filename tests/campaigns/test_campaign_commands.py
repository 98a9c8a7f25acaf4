"""`plimsoll campaign` as people type it, against a real cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver.controllers import Shop
from tests.campaigns.campaigns import a_campaign, condition, over, status_of
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.rigs.processes.command_lines import Ended, run_here

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


async def said(cluster: Cluster, *words: str) -> Ended:
    """A command's output, while this loop continues."""
    where = ("--kubeconfig", str(cluster.kubeconfig))
    return await asyncio.to_thread(run_here, "campaign", *words, *where)


def written(folder: Path, campaign: dict[str, Any]) -> str:
    file = folder / "campaign.yaml"
    file.write_text(yaml.safe_dump(campaign))
    return str(file)


async def test_a_campaign_is_created_watched_and_reported(
    cluster: Cluster, shop: Shop, plimsoll: Plimsoll, tmp_path: Path
) -> None:
    grid = [{"name": "mib", "values": [10, 20, 30, 40, 50]}]
    campaign = a_campaign("typed", scenarios={"grid": grid}, parallelism=3, order="MostToLearn")
    file = written(tmp_path, campaign)
    done = await said(cluster, "create", file, "-n", shop.namespace, "--watch")
    assert done.returncode == 0, done
    assert f"created: {shop.namespace}/typed, 5 scenarios" in done.stdout
    assert "Finished: every scenario has been run; 5 of 5 scenarios done" in done.stdout
    again = await said(cluster, "create", file, "-n", shop.namespace)
    assert again.returncode == 1
    assert "already exists" in again.stderr
    store = f"sqlite:///{plimsoll.state}/plimsoll.db"
    words = ("campaign", "report", f"{shop.namespace}/typed", "--store", store)
    told = run_here(*words).stdout
    assert "5: 5 done, 0 without a need" in told
    assert "need by mib, correlation +1.00" in told
    page = tmp_path / "found.html"
    written_to = ("--store", store, "--out", str(page))
    assert run_here("campaign", "page", f"{shop.namespace}/typed", *written_to).returncode == 0
    assert "Need by mib" in page.read_text()
    assert "of what 96Mi a run request today" in told
    document = json.loads(run_here(*words, "--output", "json").stdout)
    assert document["ending"] == "AllRun"
    assert [run["state"] for run in document["runs"]] == ["learned"] * 5
    assert document["improvement"] is not None


async def test_a_campaign_is_stopped(cluster: Cluster, shop: Shop, tmp_path: Path) -> None:
    rows = [{"mib": n} for n in range(5, 40)]
    file = written(tmp_path, a_campaign("long", task="long", scenarios={"rows": rows}))
    assert (await said(cluster, "create", file, "-n", shop.namespace)).returncode == 0
    named = f"{shop.namespace}/long"
    for _ in range(2):
        done = await said(cluster, "stop", named)
        assert done.returncode == 0, done
    status = await over(shop, "long")
    assert condition(status, "Progressing")[1] == "Stopped"
    assert (await status_of(shop, "long"))["done"] < 35
    watched = await said(cluster, "watch", named)
    assert f"{named}: Stopped: it was stopped" in watched.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scenarios": {"rows": [{"mib": "many"}]}}, "'mib' is 'many', which is no number"),
        ({"memory": "lots"}, "spec.memory 'lots' is not a quantity"),
        ({"scenarios": {"csv": "mib\n" + "1\n" * 9000}}, "there are 9,000 scenarios"),
    ],
    ids=["no number", "no quantity", "too many"],
)
async def test_what_cannot_run_is_not_created(
    cluster: Cluster, shop: Shop, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    file = written(tmp_path, a_campaign("bad", task="bad", **change))
    done = await said(cluster, "create", file, "-n", shop.namespace)
    assert done.returncode == 1
    assert words in " ".join(done.stderr.split())


async def test_what_is_not_there_is_said(cluster: Cluster, shop: Shop, plimsoll: Plimsoll) -> None:
    named = f"{shop.namespace}/nobody"
    for command in ("watch", "stop"):
        done = await said(cluster, command, named)
        assert done.returncode == 1
        assert "not found" in done.stderr
    store = f"sqlite:///{plimsoll.state}/plimsoll.db"
    done = run_here("campaign", "report", named, "--store", store)
    assert done.returncode == 1
    assert "no campaign of this name has begun" in " ".join(done.stderr.split())
