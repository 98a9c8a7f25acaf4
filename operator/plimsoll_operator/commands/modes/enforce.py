"""``plimsoll enforce``, ``recommend`` and ``off``: the mode of a task, or of a namespace."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.commands.modes.cautions import left_alone_words, pauses_of, unknown_words
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
from plimsoll_predictor.core.units import counted

SHOWN_STUBBORN: Final = 5
NOT_CONFIRMED: Final = 2


def mode_command(
    mode: Mode, task: str | None, namespace: str | None, installation: Installation, *, ask: bool
) -> int:
    """Say what changes, ask, write; the exit status. NOT_CONFIRMED without a yes."""
    try:
        target = target_of(task, namespace)
        found = asyncio.run(_look(mode, target, installation))
        print("\n".join(found.lines))
        if not found.changes:
            return 0
        # Asked outside of asyncio, which would swallow the first Ctrl-C.
        if ask and not _confirmed():
            complain(f"plimsoll {mode.value}: nothing was changed; --yes does not ask")
            return NOT_CONFIRMED
        asyncio.run(_write(mode, target, installation))
    except (ApiError, ValueError) as error:
        complain(f"plimsoll {mode.value}: {error}")
        return 1
    print(f"done: {target} has mode {mode.value}{found.but or words_for_reach(mode)}")
    return 0


@dataclass(frozen=True, slots=True)
class _Found:
    """What to know before the mode is set. changes: False if it is set already.

    but: why it has no effect, in words after the mode; empty if it has.
    """

    lines: Sequence[str]
    but: str
    changes: bool


async def _look(mode: Mode, target: Target, installation: Installation) -> _Found:
    async with cluster_objects(installation) as objects:
        before = (await spec_of(objects, target)).get("mode")
        # Nothing sizes what is off, so neither changes anything there.
        sizes = mode is not Mode.OFF
        pauses = await pauses_of(objects, target, installation) if sizes else {}
        left_alone = await left_alone_words(objects, target) if sizes else None
        whys = [*pauses.values(), *([] if left_alone is None else [left_alone])]
        but = "".join(f"; {words}" for words in whys)
        if before == mode.value:
            return _Found([f"{target} has mode {before} already{but}"], but, changes=False)
        change = words_for_change(target, before, mode, await _profiles(objects, target))
        cautions = (left_alone, await unknown_words(objects, target))
        lines = [change, *(f"  {words}" for words in cautions if words is not None)]
        return _Found(lines, but, changes=True)


async def _write(mode: Mode, target: Target, installation: Installation) -> None:
    async with cluster_objects(installation) as objects:
        await write_spec(objects, target, {"mode": mode.value})


def target_of(task: str | None, namespace: str | None) -> Target:
    """The object that sets the mode.

    Raises:
        ValueError: unless exactly one of task and namespace is named.
    """
    if (task is None) == (namespace is None):
        raise ValueError("name one task as NAMESPACE/TASK, or a namespace with -n NAMESPACE")
    return Target.of(task, namespace)


def words_for_change(
    target: Target, before: object, after: Mode, profiles: Sequence[Object]
) -> str:
    """Everything to know before saying yes.

    before: the mode that the object sets now; None if it sets none. profiles: TaskProfiles of the
    tasks that it covers; a task with a mode of its own does not follow its namespace.
    """
    in_namespace = target.task is None
    stubborn = [each for each in profiles if in_namespace and part(each, "spec", "mode")]
    following = task_states([each for each in profiles if each not in stubborn])
    changing = [each for each in following if each.mode != after.value]
    now = before or "nothing, so the level above decides"
    lines = [f"{target}: mode {after.value} (now: {now})"]
    if changing:
        lines.append(f"  {len(changing)} of {len(following)} known tasks change")
    if after is Mode.ENFORCE:
        lines += _would_have(changing) if changing or not following else [_all_enforced(following)]
    if stubborn:
        shown = task_states(stubborn)[:SHOWN_STUBBORN]
        named = ", ".join(plain(each.name).plain for each in shown)
        more = f" and {len(stubborn) - len(shown)} more" if len(stubborn) > len(shown) else ""
        lines.append(f"  not {named}{more}: the TaskProfile has a mode of its own")
    lines.append("  pods with a plimsoll.dev/mode of their own keep it; running pods stay")
    if after is Mode.ENFORCE:
        lines.append("  pods that wait for a node are sized, too (Kubernetes 1.33 or newer)")
    return "\n".join(lines)


def words_for_reach(mode: Mode) -> str:
    """Which pods follow the mode, in words after it."""
    created = ", for pods created from now on"
    if mode is not Mode.ENFORCE:
        return created
    return f"{created}, and for those that wait for a node (Kubernetes 1.33 or newer)"


def _all_enforced(following: Sequence[TaskState]) -> str:
    return f"  {counted(len(following), 'known task')}: enforce is the mode already"


def _would_have(changing: Sequence[TaskState]) -> list[str]:
    statuses = [each.status for each in changing if each.status.would_save_gb_h is not None]
    if not statuses:
        return ["  what it would have saved is not known yet: no run of them was decided"]
    saved = sum(each.would_save_gb_h or 0.0 for each in statuses)
    kills = sum(each.would_kill or 0 for each in statuses)
    runs = sum(each.would_runs for each in statuses)
    return [
        f"  so far it would have {_saved(saved)}, and killed {kills:,} of"
        f" {runs:,} runs at their first size (each is lifted and retried)"
    ]


def _saved(saved_gb_h: float) -> str:
    if saved_gb_h >= 0:
        return f"saved {words_for_gb_h(saved_gb_h)}"
    return f"taken {words_for_gb_h(-saved_gb_h)} more than was asked for"


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
