"""``plimsoll status``: read, judge, print."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.places import Place
from plimsoll_operator.commands.status.reading import Reading
from plimsoll_operator.commands.status.seen import Seen
from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.commands.status.tables import status_tables
from plimsoll_operator.kube.errors import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """namespace: whose tasks are shown; None for all. limit: most tasks in the table."""

    place: Place
    namespace: str | None = None
    limit: int = 40


def status_command(request: StatusRequest, output: OutputForm) -> int:
    """Print how Plimsoll is; 0 if it is healthy, 1 if not or if nobody can tell."""
    try:
        seen = asyncio.run(_look(request))
    except ApiError as error:
        complain(f"plimsoll status: {error}")
        return 1
    summary = summary_of(seen, time.time())
    print_output(summary.to_dict(), status_tables(summary, request.limit), output)
    return 0 if summary.healthy else 1


async def _look(request: StatusRequest) -> Seen:
    async with cluster_objects(request.place) as objects:
        return await Reading(objects, request.place, request.namespace).seen()
