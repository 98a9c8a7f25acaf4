"""Keeps the status of every SizingPolicy: whether it is in force, and which fields are ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
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
"""Changes within this time are written as one."""

Key = tuple[str, str]
"""Namespace and name."""


class PolicyStatuses:
    """Writes statuses one after another, each only if it changed."""

    def __init__(self, kube: Kube, policies: TaskPolicies, now_s: Callable[[], float]) -> None:
        self._kube = kube
        self._policies = policies
        self._now_s = now_s
        self._shown: dict[Key, Mapping[str, Any]] = {}
        """The SizingPolicies as the API server has them."""
        self._due: dict[Key, None] = {}
        self._news = asyncio.Event()

    def see(self, policy: Mapping[str, Any], *, gone: bool) -> None:
        """A SizingPolicy appeared, changed or went; ``policies`` knows it already."""
        meta = policy["metadata"]
        key = (str(meta["namespace"]), str(meta["name"]))
        if gone:
            self._shown.pop(key, None)
            return
        self._shown[key] = policy
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
        policy = self._shown.get(key)
        if policy is None:
            return True
        (namespace, name), shown = key, policy.get("status") or {}
        status = policy_status_of(
            self._facts(namespace, name, policy.get("spec") or {}),
            previous=shown,
            generation=policy["metadata"].get("generation"),
            now_s=self._now_s(),
        )
        if not changed(shown, status):
            return True
        try:
            await self._kube.patch_status("sizingpolicies", namespace, name, status)
        except NotFound:
            self._shown.pop(key, None)
        except ApiError as error:
            log.warning("policy status not written", policy=f"{namespace}/{name}", error=str(error))
            return False
        return True

    def _facts(self, namespace: str, name: str, spec: Mapping[str, Any]) -> PolicyFacts:
        problems: tuple[str, ...] = ()
        own_namespace = self._policies.own_namespace
        if is_cluster_policy(namespace, name, own_namespace):
            problems = self._policies.default_problems
        elif name == SIZING_POLICY_NAME:
            problems = self._policies.in_namespace(namespace).problems
        return PolicyFacts(namespace, name, own_namespace, problems, spec.get("paused") is True)
