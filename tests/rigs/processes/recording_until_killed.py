"""Records observations in children that are killed -9 at random moments; prints what happened.

Usage: recording_until_killed.py STORE ROUNDS SEED NAME; the uids begin with NAME. A child tells
each acknowledged uid, one a line, through a pipe. The last line printed is JSON: the acknowledged
uids of all rounds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import sys
import time

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, Writer

CALLERS = 16


async def record_for_ever(path: str, prefix: str, pipe: int) -> None:
    writer = Writer(Store.open(path))

    async def one_caller(caller: int) -> None:
        number = 0
        while True:
            uid = f"{prefix}-{caller}-{number}"
            await writer.record(
                Observation(
                    attempt_uid=uid,
                    task=TaskId("shop", "train-demand"),
                    run=uid,
                    outcome=Outcome.SUCCEEDED,
                    peak_bytes=number,
                    finished_s=float(number),
                )
            )
            os.write(pipe, f"{uid}\n".encode())
            number += 1

    await asyncio.gather(*(one_caller(caller) for caller in range(CALLERS)))


def one_round(path: str, prefix: str, life_s: float) -> list[str]:
    """Acknowledged uids of a child that lived for life_s after its first acknowledgement."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        asyncio.run(record_for_ever(path, prefix, writing))
    os.close(writing)
    said = b""
    kill_at_s: float | None = None
    while kill_at_s is None or time.monotonic() < kill_at_s:
        wait_s = 120.0 if kill_at_s is None else max(0.0, kill_at_s - time.monotonic())
        if select.select([reading], [], [], wait_s)[0]:
            said += os.read(reading, 65536)
        if kill_at_s is None:
            kill_at_s = time.monotonic() + life_s
    os.kill(child, signal.SIGKILL)
    while part := os.read(reading, 65536):
        said += part
    os.close(reading)
    os.waitpid(child, 0)
    # A line cut by the kill was not acknowledged whole.
    return said.decode().split("\n")[:-1]


def main(path: str, rounds: int, seed: int, name: str) -> None:
    chance = random.Random(seed)
    acknowledged: list[str] = []
    for round_number in range(rounds):
        acknowledged += one_round(path, f"{name}-{round_number}", chance.uniform(0, 0.25))
    print(json.dumps(acknowledged))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
