"""``plimsoll status`` reads, judges and prints; shells complete the names of tasks.

A shell waits for the names, so the rest is imported where it is used.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.tasks import task_states
from plimsoll_operator.kube.api_server import custom_path
from plimsoll_operator.kube.errors import ApiError

if TYPE_CHECKING:
    from plimsoll_operator.commands.status.cluster_state import ClusterState

COMPLETED_WITHIN_S: Final = 2.0
MOST_NAMES: Final = 200


def status_command(
    installation: Installation, namespace: str | None, limit: int, output: OutputForm
) -> int:
    """Print whether Plimsoll is healthy; 0 if it is, 1 if not or if it is unknown.

    namespace: whose tasks are shown; None for all. limit: most tasks in the table.
    """
    from plimsoll_operator.commands.status.summary import summary_of
    from plimsoll_operator.commands.status.tables import status_tables

    try:
        cluster = asyncio.run(_read(installation, namespace))
    except ApiError as error:
        complain(f"plimsoll status: {error}")
        return 1
    summary = summary_of(cluster, time.time() + cluster.ahead_s)
    print_output(summary.to_dict(), status_tables(summary, limit), output)
    return 0 if summary.healthy else 1


async def _read(installation: Installation, namespace: str | None) -> ClusterState:
    from plimsoll_operator.commands.status.cluster_reader import ClusterReader

    async with cluster_objects(installation) as objects:
        return await ClusterReader(objects, installation, namespace).read()


def task_names(incomplete: str) -> list[str]:
    """The visible tasks, as ``namespace/name``, that begin so; none after an error."""
    try:
        names = asyncio.run(_names(incomplete))
    except (ApiError, TimeoutError):
        return []
    fitting = [name for name in sorted(names) if name.startswith(incomplete)]
    # A completed name must be one printable word.
    return [name for name in fitting if name.isprintable() and " " not in name][:MOST_NAMES]


async def _names(incomplete: str) -> list[str]:
    namespace, slash, _ = incomplete.partition("/")
    async with asyncio.timeout(COMPLETED_WITHIN_S), cluster_objects(Installation()) as objects:
        profiles = await objects.items(custom_path("taskprofiles", namespace if slash else None))
        return [state.task for state in task_states(profiles)]
