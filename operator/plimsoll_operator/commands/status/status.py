"""``plimsoll status``: read, judge, print."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.cluster_reader import ClusterReader
from plimsoll_operator.commands.status.cluster_state import ClusterState
from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.commands.status.tables import status_tables
from plimsoll_operator.kube.errors import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    """namespace: whose tasks are shown; None for all. limit: most tasks in the table."""

    installation: Installation
    namespace: str | None = None
    limit: int = 40


def status_command(request: StatusRequest, output: OutputForm) -> int:
    """Print how Plimsoll is; 0 if it is healthy, 1 if not or if nobody can tell."""
    try:
        cluster = asyncio.run(_look(request))
    except ApiError as error:
        complain(f"plimsoll status: {error}")
        return 1
    summary = summary_of(cluster, time.time())
    print_output(summary.to_dict(), status_tables(summary, request.limit), output)
    return 0 if summary.healthy else 1


async def _look(request: StatusRequest) -> ClusterState:
    async with cluster_objects(request.installation) as objects:
        return await ClusterReader(objects, request.installation, request.namespace).read()
