"""``plimsoll campaign watch``: a campaign's progress."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
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
            told = ""
            while True:
                status = await _status(objects, campaign)
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


async def _status(objects: ApiServer, campaign: TaskId) -> Mapping[str, Any]:
    """The campaign's status; if the API server is away for a moment, it is asked again."""
    path = custom_path(CAMPAIGNS, campaign.namespace, campaign.name)
    while True:
        try:
            status: Mapping[str, Any] = (await objects.get(path)).get("status") or {}
        except Unreachable:
            await asyncio.sleep(LOOK_EVERY_S)
        else:
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
