"""What is told again: what happens again, and nothing that happened before a restart."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.sizing.decision_note import CpuNote, read_note
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.cpu import CpuReason
from tests.builders.controller.ledgers import (
    NOW_S,
    TRAIN,
    Inside,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
    made,
)
from tests.builders.kubernetes.pod_servers import PodServer, a_pod_server
from tests.builders.pods import APod

A_DAY_S = 86400.0
HALF_AN_HOUR_S = 1800.0
CPU_BACK = "CPU request 600m → 250m, as its author wrote it"


@asynccontextmanager
async def telling(folder: Path, server: PodServer, now_s: float = NOW_S) -> AsyncIterator[Inside]:
    """A controller that has told all that it will tell when the block ends."""
    async with an_inside(folder, host=server.url, now_s=now_s) as inside:
        sender = asyncio.create_task(inside.controller.announcer.run())
        yield inside
        last = f"last-at-{now_s:.0f}"
        inside.controller.announcer.announce(event_words.held(), a_train(last).built())
        async with asyncio.timeout(60):
            while told(server, last) != ["Held"]:
                await asyncio.sleep(0.01)
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sender


def told(server: PodServer, pod: str = "train-1") -> list[str]:
    return [one["reason"] for one in server.events.values() if one["regarding"]["name"] == pod]


def living() -> APod:
    pod = made(decided(a_train()).owned_by_job(), "2026-01-01T00:00:30Z")
    return pod.with_status(phase="Running")


def dead() -> APod:
    return killed(living())


async def test_what_happened_yesterday_is_not_told_again_by_the_next_controller(
    tmp_path: Path,
) -> None:
    async with a_pod_server() as server:
        async with telling(tmp_path, server) as inside:
            await inside.see(living())
            await inside.see(dead())
        assert told(server) == ["Sized", "Lifted"]
        lifts = dict(inside.known.lifts)
        server.events.clear()
        async with telling(tmp_path, server, NOW_S + A_DAY_S) as inside:
            await inside.see(living())
            await inside.see(dead())
            assert inside.known.lifts == lifts
        assert told(server) == []


async def test_a_kill_that_no_controller_saw_is_told_by_the_next_with_its_time(
    tmp_path: Path,
) -> None:
    async with a_pod_server() as server:
        async with telling(tmp_path, server, NOW_S + HALF_AN_HOUR_S) as inside:
            await inside.see(dead())
        (event,) = (one for one in server.events.values() if one["reason"] == "Lifted")
        assert event["eventTime"] == "2026-01-01T00:01:00.000000Z"


async def test_an_old_kill_is_lifted_though_nobody_is_told(tmp_path: Path) -> None:
    async with a_pod_server() as server:
        async with telling(tmp_path, server, NOW_S + A_DAY_S / 2) as inside:
            await inside.see(dead())
            assert len(inside.known.lifts) == 1
        assert told(server) == []


async def test_an_old_corpse_that_says_only_when_it_changed_is_not_told_of(tmp_path: Path) -> None:
    changed = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:01:00Z"}
    corpse = ended(living(), "Error", 1, at=None).with_status(conditions=[changed])
    for later_s, reasons in ((0.0, ["Lifted"]), (A_DAY_S, [])):
        async with a_pod_server() as server:
            async with telling(tmp_path, server, NOW_S + later_s) as inside:
                await inside.see(lowered(corpse))
            assert told(server) == reasons


def lowered(pod: APod) -> APod:
    return decided(pod, was_bytes=2**30)


async def test_what_a_running_pod_takes_back_twice_is_told_twice_and_its_size_once(
    tmp_path: Path,
) -> None:
    async with a_pod_server() as server:
        for later_s in (0.0, 60.0):
            async with telling(tmp_path, server, NOW_S + later_s) as inside:
                announce, pod = inside.controller.announcer.announce, living().built()
                announce(event_words.sized(MIB, GIB, "it is enough"), pod)
                announce(event_words.resized(MIB, GIB, "it has learned"), pod)
                announce(event_words.lent(GIB, MIB, MIB), pod)
                announce(event_words.taken_back(MIB, GIB, "it grew"), pod)
        repeated = ["Resized", "Lent", "TakenBack"]
        assert told(server) == ["Sized", *repeated, *repeated]


@pytest.mark.parametrize(
    ("mode", "before_mib", "words"),
    [
        pytest.param(Mode.ENFORCE, 128, [f"{CPU_BACK}: no room"], id="its CPU alone"),
        pytest.param(Mode.RECOMMEND, None, [f"{CPU_BACK}: no room"], id="memory is recommended"),
        pytest.param(
            Mode.ENFORCE,
            96,
            [f"{CPU_BACK}: no room", "memory 96Mi → 128Mi: a test says so"],
            id="and its memory",
        ),
    ],
)
async def test_cpu_that_is_given_back_is_told_as_such(
    tmp_path: Path, mode: Mode, before_mib: int | None, words: list[str]
) -> None:
    cpu = CpuNote(
        request_millicores=600,
        was_millicores=250,
        mode=Mode.ENFORCE,
        reason=CpuReason.USED,
        why="a test says so",
    )
    pod = decided(a_train()).built()
    note = read_note(pod)
    assert note is not None
    before_bytes = None if before_mib is None else before_mib * MIB
    note = replace(note, cpu=cpu, mode=mode, before_bytes=before_bytes)
    async with a_pod_server() as server:
        async with telling(tmp_path, server, NOW_S) as inside:
            await inside.controller.announcer.resized(pod, TRAIN, note, "no room")
        told_of = [one for one in server.events.values() if one["reason"] == "Resized"]
        assert [event["note"] for event in told_of] == words
