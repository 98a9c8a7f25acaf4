"""A Job over items at the real server, fed by a real feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.feed.wire import ChangeKind
from plimsoll_operator.names import labels
from plimsoll_operator.splitting import cut_job
from tests.builders.kubernetes.webhooks import AS_A_JOB
from tests.builders.pods import APod
from tests.builders.splitting.items_jobs import ITEMS, SHARES, a_job, env_of, one_each
from tests.rigs.servers.admission_servers import (
    TRAIN,
    Caller,
    a_server,
    knowledge_of,
    patch_in,
    until_true,
)

Json = dict[str, Any]
CROWD = 24


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Caller, Any]]:
    """A server that knows the task's chunks."""
    async with a_server(folder, knowledge_of()) as (caller, server, board):
        board.set_learned(ChangeKind.CHUNKS, TRAIN, one_each())
        await until_true(lambda: TRAIN in server.state.chunks)
        yield replace(caller, url=caller.url.replace("/size", "/job")), server


def counted(server: Any, result: str) -> float:
    found = server.metrics.registry.get_sample_value(
        "plimsoll_split_jobs_total", {"result": result}
    )
    assert found is not None
    return float(found)


async def test_it_is_cut_by_what_the_controller_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as (jobs, server):
        job = a_job()
        made = APod(job).patched(patch_in(await jobs.review(job, **AS_A_JOB))).built()
        assert (made["spec"]["completions"], env_of(made)["PLIMSOLL_SHARES"]) == (20, "20")
        assert counted(server, "cut") == 1


async def test_a_dry_run_is_cut_alike_and_not_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as (jobs, server):
        job = a_job()
        response = await jobs.review(job, dry_run=True, **AS_A_JOB)
        made = APod(job).patched(patch_in(response)).built()
        assert made["spec"]["completions"] == 20
        assert counted(server, "cut") == 0


async def test_who_writes_it_wrongly_is_warned_and_it_is_made(tmp_path: Path) -> None:
    async with serving(tmp_path) as (jobs, server):
        job = a_job(completions=SHARES + 1)
        response = await jobs.review(job, **AS_A_JOB)
        assert response["allowed"] is True
        (warning,) = response["warnings"]
        assert "PLIMSOLL_SHARES" in warning
        made = APod(job).patched(patch_in(response)).built()
        assert made["spec"]["completions"] == SHARES + 1
        assert labels.JOB_ATTEMPTS in made["spec"]["template"]["metadata"]["annotations"]
        assert counted(server, "unreadable") == 1


async def test_who_asks_for_leases_and_says_no_items_is_warned(tmp_path: Path) -> None:
    async with serving(tmp_path) as (jobs, server):
        job = a_job()
        job["metadata"]["annotations"] = {labels.LEASES: "true"}
        response = await jobs.review(job, **AS_A_JOB)
        (warning,) = response["warnings"]
        assert labels.ITEMS in warning
        assert counted(server, "unreadable") == 1


async def test_an_error_leaves_it_as_it_was_written(tmp_path: Path, monkeypatch: Any) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("a defect")

    async with serving(tmp_path) as (jobs, server):
        monkeypatch.setattr(cut_job, "cut", fails)
        job = a_job()
        made = APod(job).patched(patch_in(await jobs.review(job, **AS_A_JOB))).built()
        assert made["spec"]["completions"] == SHARES
        assert labels.JOB_ATTEMPTS in made["spec"]["template"]["metadata"]["annotations"]
        assert counted(server, "error") == 1


@pytest.mark.slow
async def test_of_a_crowd_all_are_answered_and_the_last_as_they_were_written(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as (jobs, server):
        answers = await asyncio.gather(*(jobs.review(a_job(), **AS_A_JOB) for _ in range(CROWD)))
        made = [APod(a_job()).patched(patch_in(each)).built() for each in answers]
        assert {each["spec"]["completions"] for each in made} <= {20, SHARES}
        cut = sum(each["spec"]["completions"] == 20 for each in made)
        assert cut >= 1
        assert counted(server, "cut") == cut
        assert all(env_of(each)["PLIMSOLL_ITEMS"] == str(ITEMS) for each in made)


async def test_what_is_no_longer_told_is_no_longer_used(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (_, server, board):
        board.set_learned(ChangeKind.CHUNKS, TRAIN, one_each())
        await until_true(lambda: TRAIN in server.state.chunks)
        board.set_learned(ChangeKind.CHUNKS, TRAIN, None)
        await until_true(lambda: TRAIN not in server.state.chunks)
