"""Why a mode or a pause does not do, or not yet, what its writer expects."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from plimsoll_operator.commands.modes.policy_writing import Target, spec_of
from plimsoll_operator.commands.printing.printing import printable
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.leading_pod import NotInstalled, find_namespace
from plimsoll_operator.commands.reaching.product_objects import product_objects
from plimsoll_operator.commands.status.asked import excluded_by
from plimsoll_operator.commands.status.cluster_state import part
from plimsoll_operator.commands.status.tasks import task_states
from plimsoll_operator.kube.api_server import ApiServer, custom_path
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME

NEAREST: Final = 3


async def pauses_of(
    objects: ApiServer, target: Target, installation: Installation
) -> dict[Target, str]:
    """The objects that pause what the target covers, and in words what ends that.

    What may not be read counts as not paused: who sets a task may not see the whole cluster.
    """
    found = {}
    try:
        installed_in = await find_namespace(objects, installation)
    except (ApiError, NotInstalled):
        installed_in = None
    for level, resume in _levels(target, installed_in):
        try:
            paused = (await spec_of(objects, level)).get("paused") is True
        except ApiError:
            paused = False
        if paused:
            found[level] = f"it is paused by {level}; `{resume}` ends that"
    return found


async def left_alone_words(objects: ApiServer, target: Target) -> str | None:
    """Say that Plimsoll leaves the target's namespace alone; None if not, or if it is not known.

    Nothing else tells: in such a namespace no pod gets an Event, and no policy a status.
    """
    try:
        configurations = await product_objects(objects, WEBHOOKS)
    except ApiError:
        return None
    excluded = [excluded_by(each) or frozenset() for each in configurations]
    if not excluded or not all(target.namespace in each for each in excluded):
        return None
    return (
        f"Plimsoll leaves namespace {target.namespace} alone, like kube-system, its own and all of"
        " the chart's webhook.excludedNamespaces"
    )


async def unknown_words(objects: ApiServer, target: Target) -> str | None:
    """Say that the target's task is not known, and what is near; None if it is, or there is none.

    A profile without a status was made by people: no pod of such a task was seen.
    """
    if target.task is None:
        return None
    try:
        if part(await objects.get(target.path), "status"):
            return None
    except NotFound:
        pass
    try:
        profiles = await objects.items(custom_path("taskprofiles", target.namespace))
    except ApiError:
        profiles = []
    names = [each.name for each in task_states([each for each in profiles if part(each, "status")])]
    near = ", ".join(map(printable, get_close_matches(target.task.name, names, n=NEAREST)))
    words = f"no task of the name {target.task} is known yet"
    return f"{words}; near: {near}" if near else f"{words}; it holds from its first pod on"


def _levels(target: Target, installed_in: str | None) -> Iterator[tuple[Target, str]]:
    """Everything whose pause holds for the target, and the command that ends it."""
    if installed_in is not None:
        cluster = Target("sizingpolicies", installed_in, CLUSTER_POLICY_NAME)
        yield cluster, "plimsoll resume"
        if target == cluster:
            return
    yield Target.of(None, target.namespace), f"plimsoll resume -n {target.namespace}"
    if target.task is not None:
        yield target, f"plimsoll resume {target.task}"
