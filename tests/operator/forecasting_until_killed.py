"""Shows forecasts what happens, and tells each step that is done, until it is killed.

Usage: forecasting_until_killed.py FOLDER SEED FIRST_STEP. The state is saved every third step.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.operator.runtime_lives import a_life, steps, take


async def main(folder: Path, seed: int, first: int) -> None:
    async with a_life(folder) as life:
        for number, step in enumerate(steps(seed)):
            if number < first:
                continue
            await take(life, [step])
            if number % 3 == 0:
                await life.runtimes.save()
            print(number, flush=True)
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
