"""The policy and the bounds that hold for a task now, read from the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.cluster_state import part
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.api_server import CORE, ApiServer, custom_path, path_of
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME, SIZING_POLICY_NAME
from plimsoll_operator.policy.policy_resolution import resolve
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_for
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.bounds.node_groups import NodeGroups, read_seen
from plimsoll_predictor.core.decision import Ask, Bounds
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId

WITHIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class InForce:
    """The policy and bounds that hold. assumed: in words what could not be read, or None.

    lift_bounds: after a kill at the request, or above it.
    reached_bytes: what running attempts have reached above all ended ones; 0 if nothing.
    """

    policy: Policy
    bounds: Bounds = field(default_factory=Bounds)
    lift_bounds: Bounds = field(default_factory=Bounds)
    assumed: str | None = None
    reached_bytes: int = 0


async def policy_in_force(task: TaskId, ask: Ask, installation: Installation) -> InForce:
    """Read what holds for a task's pod; defaults if the cluster does not say. Never raises."""
    settings = ControllerSettings()
    chart = Policy(mode=settings.mode)
    try:
        async with asyncio.timeout(WITHIN_S), cluster_objects(installation) as objects:
            where = (chart, installation.installed_in or settings.namespace)
            policy, reached_bytes = await policy_and_reached(objects, task, where)
            bounds, lift_bounds, unread = await _bounds(objects, task.namespace, ask)
    except (ApiError, TimeoutError) as error:
        why = str(error) or f"no answer within {WITHIN_S:g} s"
        words = f"its policy could not be read, so the defaults are assumed: {why}"
        return InForce(chart, assumed=words)
    unseen = f"{' and '.join(unread)} may not be read and count as none" if unread else None
    return InForce(policy, bounds, lift_bounds, unseen, reached_bytes)


async def policy_and_reached(
    objects: ApiServer, task: TaskId, where: tuple[Policy, str]
) -> tuple[Policy, int]:
    """Read a task's policy, and the controller's record of what running attempts have reached.

    where: the chart's policy, and Plimsoll's own namespace.

    Raises:
        ApiError: if a level of it may not be read.
    """
    chart, own_namespace = where
    cluster, namespace, profile = await asyncio.gather(
        _object(objects, custom_path("sizingpolicies", own_namespace, CLUSTER_POLICY_NAME)),
        _object(objects, custom_path("sizingpolicies", task.namespace, SIZING_POLICY_NAME)),
        _object(objects, custom_path("taskprofiles", task.namespace, profile_name(task))),
    )
    default = resolve(chart, part(cluster, "spec"), None).policy
    policy = resolve(default, part(namespace, "spec"), part(profile, "spec")).policy
    mode = part(profile, "status", "mode")
    # The controller knows the chart's mode, which may differ from ours.
    if mode in {each.value for each in Mode}:
        policy = replace(policy, mode=Mode(mode))
    return policy, _reached_bytes(part(profile, "status", "reached"))


def _reached_bytes(written: object) -> int:
    try:
        return parse_bytes(written) if isinstance(written, str) else 0
    except BadQuantity:
        return 0


async def _bounds(objects: ApiServer, namespace: str, ask: Ask) -> tuple[Bounds, Bounds, list[str]]:
    """The bounds of a plain pod there, those of its lift, and what may not be read."""
    unread: list[str] = []

    async def items(path: str, kind: str) -> list[dict[str, Any]]:
        try:
            return await objects.items(path)
        except ApiError:
            unread.append(kind)
            return []

    limit_ranges, quotas, nodes = await asyncio.gather(
        items(path_of(CORE, "limitranges", namespace), "LimitRanges"),
        items(path_of(CORE, "resourcequotas", namespace), "ResourceQuotas"),
        items(path_of(CORE, "nodes"), "nodes"),
    )
    return *bounds_from(limit_ranges, quotas, nodes, ask), unread


def bounds_from(
    limit_ranges: Sequence[Mapping[str, Any]],
    quotas: Sequence[Mapping[str, Any]],
    nodes: Sequence[Mapping[str, Any]],
    ask: Ask,
) -> tuple[Bounds, Bounds]:
    """The bounds of a pod that selects no nodes and has no priority, and those of its lift."""
    groups, namespace = NodeGroups(), read_namespace(limit_ranges, quotas)
    for node in nodes:
        groups.see(str(part(node, "metadata", "name")), read_seen(node))
    limit_bytes = ask.limit_bytes or ask.request_bytes
    first = PodAmounts(request=ask.request_bytes, limit=limit_bytes)
    lifted = replace(first, killed=limit_bytes or 0)
    return (
        bounds_for({}, first, namespace, groups.nodes),
        bounds_for({}, lifted, namespace, groups.nodes),
    )


async def _object(objects: ApiServer, path: str) -> dict[str, Any]:
    try:
        return await objects.get(path)
    except NotFound:
        return {}
