"""``plimsoll pause`` and ``plimsoll resume``: ``spec.paused`` at the level that was named."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from plimsoll_operator.commands.modes.policy_writing import Target, spec_of, write_spec
from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.leading_pod import NotInstalled, find_namespace
from plimsoll_operator.kube.errors import ApiError
from plimsoll_predictor.core.task import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRequest:
    """What to pause or resume: a task, a namespace or, if neither is named, the cluster."""

    task: str | None
    namespace: str | None
    installation: Installation
    paused: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """The object that says it, and what it covers, in words."""

    target: Target
    covers: str


def pause_command(request: PauseRequest) -> int:
    """Pause or resume; the exit status. Doing it twice is no error."""
    verb = "pause" if request.paused else "resume"
    try:
        print(asyncio.run(_write(request)))
    except (ApiError, NotInstalled, ValueError) as error:
        complain(f"plimsoll {verb}: {error}")
        return 1
    return 0


async def _write(request: PauseRequest) -> str:
    async with cluster_objects(request.installation) as objects:
        own = None
        if request.task is None and request.namespace is None:
            own = await find_namespace(objects, request.installation)
        switch = switch_for(request, own)
        before = (await spec_of(objects, switch.target)).get("paused") is True
        if before is not request.paused:
            await write_spec(objects, switch.target, {"paused": request.paused or None})
        return words_for(switch, before=before, after=request.paused)


def switch_for(request: PauseRequest, installed_in: str | None) -> Switch:
    """Which object says it. installed_in: Plimsoll's namespace, for the whole cluster.

    Raises:
        ValueError: if both a task and a namespace are named.
    """
    if request.task is not None and request.namespace is not None:
        raise ValueError("name a task or a namespace, not both")
    if request.task is not None:
        task = TaskId.parse(request.task)
        return Switch(Target.of_task(task), f"task {task}")
    if request.namespace is not None:
        target = Target("sizingpolicies", request.namespace, "default")
        return Switch(target, f"namespace {request.namespace}")
    return Switch(Target("sizingpolicies", installed_in or "", "cluster"), "the whole cluster")


def words_for(switch: Switch, *, before: bool, after: bool) -> str:
    """What was done, and what follows."""
    if before is after:
        return f"{switch.covers} was {'paused' if after else 'not paused'} before"
    if after:
        return (
            f"paused: {switch.covers}, within seconds: pods start as their authors wrote them,"
            f" learning goes on ({switch.target} has spec.paused: true)"
        )
    return (
        f"resumed: {switch.covers}, within seconds, by its policies"
        f" ({switch.target} has no spec.paused any more)"
    )
