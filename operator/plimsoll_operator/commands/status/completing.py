"""Names of tasks for shells to complete; quick, and silent about whatever goes wrong."""

from __future__ import annotations

import asyncio
from typing import Final

from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.tasks import task_states
from plimsoll_operator.kube.api_server import custom_path
from plimsoll_operator.kube.errors import ApiError

WITHIN_S: Final = 2.0
MOST_NAMES: Final = 200


def task_names(incomplete: str) -> list[str]:
    """The tasks that one may see, as ``namespace/name``, that begin so."""
    try:
        names = asyncio.run(_names(incomplete))
    except (ApiError, TimeoutError):
        return []
    fitting = [name for name in sorted(names) if name.startswith(incomplete)]
    # What a shell puts into the line must be one printable word.
    return [name for name in fitting if name.isprintable() and " " not in name][:MOST_NAMES]


async def _names(incomplete: str) -> list[str]:
    namespace, slash, _ = incomplete.partition("/")
    async with asyncio.timeout(WITHIN_S), cluster_objects(Installation()) as objects:
        found = await objects.items(custom_path("taskprofiles", namespace if slash else None))
        return [state.task for state in task_states(found)]
