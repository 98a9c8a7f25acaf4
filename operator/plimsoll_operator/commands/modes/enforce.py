"""``plimsoll enforce``, ``recommend`` and ``off``: the mode of a task, or of a namespace."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.commands.modes.policy_writing import Target, spec_of, write_spec
from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.printing.tables import plain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.cluster_state import Object, part
from plimsoll_operator.commands.status.tasks import TaskState, task_states
from plimsoll_operator.kube.api_server import ApiServer, custom_path
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.wording.figure_words import words_for_gb_h
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId

SHOWN_OWN: int = 5
NOT_CONFIRMED: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRequest:
    """Which mode, of a task (``namespace/name``) or a namespace. ask: before it is written."""

    mode: Mode
    task: str | None
    namespace: str | None
    installation: Installation
    ask: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChange:
    """A mode that is about to change.

    before: what the object says now; None if it says nothing. states: tasks that follow.
    own: tasks of the namespace whose TaskProfile has a mode of its own, and does not.
    """

    target: Target
    before: str | None
    after: Mode
    states: Sequence[TaskState]
    own: Sequence[TaskState] = ()

    @property
    def words(self) -> str:
        """All that somebody should know before saying yes."""
        now = self.before or "nothing, so the level above decides"
        lines = [f"{self.target}: mode {self.after.value} (now: {now})"]
        changing = [each for each in self.states if each.mode != self.after.value]
        if changing:
            lines.append(f"  {len(changing)} of {len(self.states)} known tasks change")
        if self.after is Mode.ENFORCE:
            lines += _would_have(changing)
        if self.own:
            named = ", ".join(plain(each.name).plain for each in self.own[:SHOWN_OWN])
            more = f" and {len(self.own) - SHOWN_OWN} more" if len(self.own) > SHOWN_OWN else ""
            lines.append(f"  not {named}{more}: the TaskProfile has a mode of its own")
        lines.append("  pods with a plimsoll.dev/mode of their own keep it; running pods stay")
        return "\n".join(lines)


def mode_command(request: ModeRequest) -> int:
    """Say what changes, ask, write; the exit status. NOT_CONFIRMED if nobody said yes."""
    try:
        return asyncio.run(_set(request, _confirmed))
    except (ApiError, ValueError) as error:
        complain(f"plimsoll {request.mode.value}: {error}")
        return 1


async def _set(request: ModeRequest, confirmed: Callable[[], bool]) -> int:
    target = target_of(request)
    async with cluster_objects(request.installation) as objects:
        before = (await spec_of(objects, target)).get("mode")
        if before == request.mode.value:
            print(f"{target} has mode {before} already")
            return 0
        profiles = await _profiles(objects, target)
        change = change_of(target, (before, request.mode), profiles)
        print(change.words)
        if request.ask and not confirmed():
            complain(f"plimsoll {request.mode.value}: nothing was changed; --yes does not ask")
            return NOT_CONFIRMED
        await write_spec(objects, target, {"mode": request.mode.value})
    print(f"done: {target} has mode {request.mode.value}, from the next pod on")
    return 0


def target_of(request: ModeRequest) -> Target:
    """The object that says the mode.

    Raises:
        ValueError: unless just one of task and namespace is named.
    """
    if (request.task is None) == (request.namespace is None):
        raise ValueError("name one task as NAMESPACE/TASK, or a namespace with -n NAMESPACE")
    if request.task is not None:
        return Target.of_task(TaskId.parse(request.task))
    return Target("sizingpolicies", str(request.namespace), "default")


def change_of(target: Target, modes: tuple[Any, Mode], profiles: Sequence[Object]) -> ModeChange:
    """What follows for the tasks. modes: what the object says now, and what it is to say."""
    before, after = modes
    in_namespace = target.task is None
    own = [each for each in profiles if in_namespace and part(each, "spec", "mode")]
    following = [each for each in profiles if each not in own]
    return ModeChange(
        target=target,
        before=None if before is None else str(before),
        after=after,
        states=task_states(following),
        own=task_states(own),
    )


def _would_have(changing: Sequence[TaskState]) -> list[str]:
    statuses = [each.status for each in changing if each.status.would_save_gb_h is not None]
    if not statuses:
        return ["  what it would have saved is not known yet: no run of them was decided"]
    saved = sum(each.would_save_gb_h or 0.0 for each in statuses)
    kills = sum(each.would_kill or 0 for each in statuses)
    runs = sum(each.would_runs for each in statuses)
    return [
        f"  so far it would have saved {words_for_gb_h(saved)}, and killed {kills:,} of"
        f" {runs:,} runs at their first size (each is lifted and retried)"
    ]


async def _profiles(objects: ApiServer, target: Target) -> list[Mapping[str, Any]]:
    if target.task is None:
        return list(await objects.items(custom_path("taskprofiles", target.namespace)))
    try:
        return [await objects.get(target.path)]
    except NotFound:
        return []


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("Go on? [y/N] ").strip().lower() in {"y", "yes"}
