"""``plimsoll campaign watch``: a campaign's progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn

from plimsoll_operator.campaigns.job_manifest import CAMPAIGNS
from plimsoll_operator.commands.printing.printing import (
    complain,
    people_console,
    printable,
    progress_bars,
)
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import ApiServer, custom_path
from plimsoll_operator.kube.errors import ApiError, Unreachable
from plimsoll_operator.names.conditions import ConditionType, read_conditions
from plimsoll_predictor.core.task import TaskId

LOOK_EVERY_S: Final = 1.0
AWAY_S: Final = 300.0
"""An API server that answered before and is away for so long is given up."""
OVER: Final = frozenset({"Finished", "Stopped", "Refused"})


def watch_command(named: str, installation: Installation) -> int:
    """Show a campaign until it is over; the exit status."""
    try:
        status = asyncio.run(_watch(TaskId.parse(named), installation))
    except (ApiError, ValueError) as error:
        complain(f"plimsoll campaign watch: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    refused = status.get("phase") == "Refused"
    print(printable(f"{named}: {words_for(status)}"))
    return 1 if refused or not status.get("done") else 0


async def _watch(campaign: TaskId, installation: Installation) -> Mapping[str, Any]:
    """Show it until it is over; its last status."""
    console = people_console(stderr=True)
    columns = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[words]}"))
    async with cluster_objects(installation) as objects:
        with progress_bars(console, *columns) as progress:
            bar = progress.add_task(campaign.name, total=None, words="")
            told, asking = "", _Asking(objects, campaign, time.monotonic)
            while True:
                status = await asking.status()
                words = words_for(status)
                progress.update(
                    bar,
                    total=status.get("scenarios") or None,
                    completed=int(status.get("done") or 0) + int(status.get("failed") or 0),
                    words=short_words_for(status),
                )
                if words != told and not console.is_terminal:
                    console.print(printable(words), markup=False, highlight=False)
                told = words
                if status.get("phase") in OVER:
                    return status
                await asyncio.sleep(LOOK_EVERY_S)


class _Asking:
    """Asks for a campaign's status; an API server that goes away for a while is asked again."""

    def __init__(self, objects: ApiServer, campaign: TaskId, clock_s: Callable[[], float]) -> None:
        self._objects = objects
        self._path = custom_path(CAMPAIGNS, campaign.namespace, campaign.name)
        self._clock_s = clock_s
        self._answered_s: float | None = None

    async def status(self) -> Mapping[str, Any]:
        """The campaign's status.

        Raises:
            Unreachable: if the API server never answered, or not for AWAY_S.
        """
        is_told = False
        while True:
            try:
                document = await self._objects.get(self._path)
            except Unreachable as error:
                if self._answered_s is None or self._clock_s() - self._answered_s > AWAY_S:
                    raise
                if not is_told:
                    complain(f"plimsoll campaign watch: {error}; it is asked again")
                is_told = True
                await asyncio.sleep(LOOK_EVERY_S)
            else:
                self._answered_s = self._clock_s()
                status: Mapping[str, Any] = document.get("status") or {}
                return status


def words_for(status: Mapping[str, Any]) -> str:
    """What a campaign is doing, in a sentence."""
    by_type = {each.get("type"): each for each in read_conditions(status.get("conditions"))}
    phase = status.get("phase")
    if phase is None:
        return "no controller has looked at it yet; does one run?"
    kind = ConditionType.ACCEPTED if phase == "Refused" else ConditionType.PROGRESSING
    return f"{phase}: {(by_type.get(kind) or {}).get('message', '')}"


def short_words_for(status: Mapping[str, Any]) -> str:
    """What is known so far: bins, and the estimated saving."""
    parts = [
        f"{status['killed']} killed" if status.get("killed") else "",
        f"bins {status['binCeilings']}" if status.get("binCeilings") else "",
        f"would save {status['estSaved']}" if status.get("estSaved") else "",
    ]
    return printable(", ".join(part for part in parts if part))
