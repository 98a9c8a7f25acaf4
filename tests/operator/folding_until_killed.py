"""Teaches the experts what happens, and tells each step that is done, until it is killed.

Usage: folding_until_killed.py FOLDER SEED FIRST_STEP. Its state is saved every third step.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.operator.expert_lives import a_life, steps, take


async def main(folder: Path, seed: int, first: int) -> None:
    async with a_life(folder) as life:
        for number, step in enumerate(steps(seed, trainings=False)):
            if number < first:
                continue
            await take(life, [step])
            if number % 3 == 0:
                await life.standings.save()
            print(number, flush=True)
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
