"""``plimsoll pause`` and ``plimsoll resume``: ``spec.paused`` at the named level."""

from __future__ import annotations

import asyncio

from plimsoll_operator.commands.modes.cautions import pauses_of, unknown_words
from plimsoll_operator.commands.modes.policy_writing import Target, spec_of, write_spec
from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.leading_pod import NotInstalled, find_namespace
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME


def pause_command(
    task: str | None, namespace: str | None, installation: Installation, *, paused: bool
) -> int:
    """Pause or resume a task, a namespace or else the cluster; the exit status.

    Doing it twice is no error.
    """
    try:
        print(asyncio.run(_write(task, namespace, installation, paused)))
    except (ApiError, NotInstalled, ValueError) as error:
        complain(f"plimsoll {'pause' if paused else 'resume'}: {error}")
        return 1
    return 0


async def _write(
    task: str | None, namespace: str | None, installation: Installation, paused: bool
) -> str:
    async with cluster_objects(installation) as objects:
        installed_in = None
        if task is None and namespace is None:
            installed_in = await find_namespace(objects, installation)
        target = target_of(task, namespace, installed_in)
        before = (await spec_of(objects, target)).get("paused") is True
        # Before it is written: a task that nobody knows has a profile after that.
        words = [words_for(target, before=before, after=paused)]
        words += [each for each in [await unknown_words(objects, target)] if each is not None]
        if not paused:
            pauses = await pauses_of(objects, target, installation)
            words += [why for level, why in pauses.items() if level != target]
        if before is not paused:
            await _write_paused(objects, target, paused, whole=installed_in is not None)
        return "\n".join(words)


async def _write_paused(objects: ApiServer, target: Target, paused: bool, *, whole: bool) -> None:
    """whole: whether it is for the whole cluster."""
    try:
        await write_spec(objects, target, {"paused": paused or None})
    except NotFound as error:
        # A `plimsoll run` needs its own namespace for nothing else. Any other one that is missing
        # is a slip of the pen.
        if not whole or f'namespaces "{target.namespace}"' not in str(error):
            raise
        make = f"kubectl create namespace {target.namespace}"
        raise NotFound(f"{error}: make it with `{make}`, and run this command again") from error


def target_of(task: str | None, namespace: str | None, installed_in: str | None) -> Target:
    """The object whose spec pauses. installed_in: Plimsoll's namespace, for the whole cluster.

    Raises:
        ValueError: if both a task and a namespace are named.
    """
    if task is None and namespace is None:
        return Target("sizingpolicies", installed_in or "", CLUSTER_POLICY_NAME)
    if task is not None and namespace is not None:
        raise ValueError("name a task or a namespace, not both")
    return Target.of(task, namespace)


def words_for(target: Target, *, before: bool, after: bool) -> str:
    """Say what was done, and what follows."""
    if before is after:
        return f"{target.covers} was {'paused' if after else 'not paused'} before"
    if after:
        return (
            f"paused: {target.covers}, within seconds: pods start as their authors wrote them,"
            f" learning goes on ({target} has spec.paused: true)"
        )
    return (
        f"resumed: {target.covers}, within seconds, by its policies"
        f" ({target} has no spec.paused any more)"
    )
