"""What a controller that ends leaves behind: nothing that only a leader may do, and no wait."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from plimsoll_operator.processes.controller import _nothing_outlives

ENDS = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from plimsoll_operator.processes import controller

async def a_life(_):
    begun, readers = Event(), ThreadPoolExecutor(1, "reader")
    readers.submit(lambda: (begun.set(), Event().wait({hangs_s})))
    begun.wait()
    readers.shutdown(wait=False)

controller._serve = a_life
controller.serve(None)
print("at its end")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("hangs_s", "says"), [(0, "at its end"), (600, "calls of its threads")])
def test_a_process_ends_although_a_reader_hangs(hangs_s: int, says: str) -> None:
    """Else the kubelet would kill it. A reader that ends keeps it from nothing."""
    done = subprocess.run(
        [sys.executable, "-c", ENDS.format(hangs_s=hangs_s)],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert says in done.stdout + done.stderr
    assert ("at its end" in done.stdout) is (hangs_s == 0)


async def test_what_the_leader_began_ends_before_the_lead_is_given_up() -> None:
    """Else a change in the cluster could come after another's that leads by then."""
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    older = asyncio.create_task(work("older"))
    async with _nothing_outlives():
        younger = asyncio.create_task(work("younger"))
        saved = asyncio.create_task(asyncio.sleep(0, "saved"))
        await asyncio.sleep(0.01)
    assert ended == ["younger"]
    assert (younger.cancelled(), older.done(), saved.result()) == (True, False, "saved")
    older.cancel()
