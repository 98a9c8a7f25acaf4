"""Keeps the status of every SizingPolicy: whether it is in force, and what of it is ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import REFUSED_PAUSE_S, ApiError, NotFound
from plimsoll_operator.policy.policy_levels import SIZING_POLICY_NAME, is_cluster_policy
from plimsoll_operator.policy.policy_status import PolicyFacts, policy_status_of
from plimsoll_operator.profile.status import changed

log = structlog.get_logger()

QUIET_S = 1.0
"""Changes that come within it are written as one."""

Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the API server has."""

    status: Mapping[str, Any]
    generation: int | None
    paused: bool


class PolicyStatuses:
    """Writes statuses one after another, each only if it changed."""

    def __init__(self, kube: Kube, policies: TaskPolicies, now_s: Callable[[], float]) -> None:
        self._kube = kube
        self._policies = policies
        self._now_s = now_s
        self._shown: dict[Key, _Shown] = {}
        self._due: dict[Key, None] = {}
        self._news = asyncio.Event()

    def see(self, policy: Mapping[str, Any], *, gone: bool) -> None:
        """A SizingPolicy appeared, changed or went; the policies know of it already."""
        meta = policy["metadata"]
        key = (str(meta["namespace"]), str(meta["name"]))
        if gone:
            self._shown.pop(key, None)
            return
        self._shown[key] = _Shown(
            policy.get("status") or {},
            meta.get("generation"),
            (policy.get("spec") or {}).get("paused") is True,
        )
        self._due[key] = None
        self._news.set()

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await asyncio.sleep(QUIET_S)
            due, self._due = self._due, {}
            failed = [key for key in due if not await self._written(key)]
            if failed:
                await asyncio.sleep(REFUSED_PAUSE_S)
                self._due.update(dict.fromkeys(failed))
                self._news.set()

    async def _written(self, key: Key) -> bool:
        """Return whether the status is as it should be; False to try again."""
        shown = self._shown.get(key)
        if shown is None:
            return True
        namespace, name = key
        status = policy_status_of(
            self._facts(namespace, name, shown),
            previous=shown.status,
            generation=shown.generation,
            now_s=self._now_s(),
        )
        if not changed(shown.status, status):
            return True
        try:
            await self._kube.patch_status("sizingpolicies", namespace, name, status)
        except NotFound:
            self._shown.pop(key, None)
        except ApiError as error:
            log.warning("policy status not written", policy=f"{namespace}/{name}", error=str(error))
            return False
        return True

    def _facts(self, namespace: str, name: str, shown: _Shown) -> PolicyFacts:
        problems: tuple[str, ...] = ()
        own_namespace = self._policies.own_namespace
        if is_cluster_policy(namespace, name, own_namespace):
            problems = self._policies.default_problems
        elif name == SIZING_POLICY_NAME:
            problems = self._policies.in_namespace(namespace).problems
        return PolicyFacts(namespace, name, own_namespace, problems, shown.paused)
