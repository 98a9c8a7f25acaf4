"""Lives that are killed -9 at any moment, one after another, until one comes to its end.

Usage: killed_lives.py {standings|runtimes} FOLDER SEED. It prints how many were killed. A life
tells each step that is done through a pipe, and its state is saved every third step. The lives are
children of one process: imports take longer than all that a life does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from tests.builders.experts import expert_lives
from tests.builders.runtimes import runtime_lives

STEPS_A_LIFE: Final = 18
_DONE: Final = "done"

Tell = Callable[[object], None]


def kills_until_the_end(what: str, folder: Path, seed: int) -> int:
    """Live in that folder until the end; the number of lives that were killed before."""
    program = [sys.executable, "-m", __name__, what, str(folder), str(seed)]
    return int(subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout)


async def _standings(folder: Path, seed: int, first: int, tell: Tell) -> None:
    async with expert_lives.a_life(folder) as life:
        for number, step in enumerate(expert_lives.steps(seed, trainings=False)):
            if number < first:
                continue
            await expert_lives.take(life, [step])
            if number % 3 == 0:
                await life.standings.save()
            tell(number)


async def _runtimes(folder: Path, seed: int, first: int, tell: Tell) -> None:
    async with runtime_lives.a_life(folder) as life:
        for number, step in enumerate(runtime_lives.steps(seed)):
            if number < first:
                continue
            await runtime_lives.take(life, [step])
            if number % 3 == 0:
                await life.runtimes.save()
            tell(number)


_LIVES: Final[dict[str, Callable[[Path, int, int, Tell], Coroutine[Any, Any, None]]]] = {
    "standings": _standings,
    "runtimes": _runtimes,
}


def _live(what: str, folder: Path, seed: int, first: int) -> int | None:
    """The last step a life acknowledged before it was killed; None if it came to the end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def tell(said: object) -> None:
            os.write(writing, f"{said}\n".encode())

        asyncio.run(_LIVES[what](folder, seed, first, tell))
        tell(_DONE)
        os._exit(0)
    os.close(writing)
    said, status = _said_until_killed(child, reading, kill_at=first + STEPS_A_LIFE - 2)
    if _DONE in said:
        return None
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    return max(map(int, said))


def _said_until_killed(child: int, reading: int, kill_at: int) -> tuple[list[str], int]:
    """What a life printed, and how it ended; it is killed after one step, at any point."""
    said = []
    with os.fdopen(reading) as lines:
        for line in lines:
            said.append(line.strip())
            if said[-1] == str(kill_at):
                os.kill(child, signal.SIGKILL)
    return said, os.waitpid(child, 0)[1]


def main(what: str, folder: Path, seed: int) -> None:
    """Live again and again, each life from where the one before was killed."""
    done, kills = -1, 0
    while (reached := _live(what, folder, seed, done + 1)) is not None:
        assert reached > done, "a life must get somewhere"
        done, kills = reached, kills + 1
    print(kills)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
