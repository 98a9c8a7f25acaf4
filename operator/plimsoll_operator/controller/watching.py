"""Receives what kopf's handlers see, by one method for each kind of watched object."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import structlog

from plimsoll_operator.controller.attempts.ledger import AttemptLedger
from plimsoll_operator.controller.attempts.sparing import Sparing
from plimsoll_operator.controller.lending.lending import Lending
from plimsoll_operator.controller.ordering.releases import Releases
from plimsoll_operator.controller.profiles.policy_statuses import PolicyStatuses
from plimsoll_operator.controller.profiles.profiles import TaskProfiles
from plimsoll_operator.controller.rescue.rescues import Rescues
from plimsoll_operator.controller.splitting.leased_jobs import LeasedJobs
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.missed_deletions import (
    LIMIT_RANGES,
    NODES,
    PODS,
    POLICIES,
    PROFILES,
    QUOTAS,
    LastSeen,
    See,
)
from plimsoll_operator.controller.waiting.late_binding import LateBinding
from plimsoll_operator.lending.lent_note import as_written
from plimsoll_operator.names.profile_names import profile_name, task_of_profile

log = structlog.get_logger()

TASKS_AT_ONCE: Final = 50
"""After a change of the cluster's policy, other work gets a turn after so many resolved tasks."""

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWatch:
    """Hands each object to the parts that read it. gone: it was deleted."""

    ledger: AttemptLedger
    book: TaskBook
    bounds: ClusterBounds
    profiles: TaskProfiles
    policy_statuses: PolicyStatuses
    late_binding: LateBinding
    lending: Lending
    rescues: Rescues
    leased: LeasedJobs
    sparing: Sparing
    releases: Releases
    last_seen: LastSeen = field(default_factory=LastSeen)

    def see_gone(self) -> Mapping[str, See]:
        """Return what is called with an object that is gone, by the path of its list."""
        return {
            PODS: partial(self.see_pod, gone=True),
            PROFILES: partial(self.see_profile, gone=True),
            POLICIES: partial(self.see_policy, gone=True),
            LIMIT_RANGES: partial(self.see_bounds, gone=True),
            QUOTAS: partial(self.see_bounds, gone=True),
            NODES: partial(self.see_node, gone=True),
        }

    async def see_pod(self, pod: Raw, *, gone: bool, listed: bool = False) -> None:
        """A labelled pod appeared, changed or went. listed: it was there before the watch began."""
        await self._see_pod(pod, gone=gone)
        self.last_seen.see(PODS, pod, gone=gone)
        self.ledger.encounters.first_list.see(str(pod["metadata"].get("uid")), listed=listed)

    async def _see_pod(self, pod: Raw, *, gone: bool) -> None:
        # First: a pod that waits for its turn is released even if its namespace is excluded now.
        self.releases.see(pod, gone=gone)
        if self._leave_alone(pod):
            return
        self.leased.see(pod, gone=gone)
        self.lending.see(pod, gone=gone)
        self.rescues.see(pod, gone=gone)
        written = as_written(pod)
        if not gone:
            await self.sparing.see(written)
        await self.ledger.see(written, gone=gone)
        self.late_binding.see(written, gone=gone)

    async def see_profile(self, profile: Raw, *, gone: bool) -> None:
        """A TaskProfile appeared, changed or went: its spec is people's, its status ours."""
        self.last_seen.see(PROFILES, profile, gone=gone)
        if self._leave_alone(profile):
            return
        meta, spec = profile["metadata"], profile.get("spec") or {}
        task = task_of_profile(meta["namespace"], meta["name"], spec.get("task"))
        if profile_name(task) != meta["name"]:
            log.warning(
                "ignored: not the profile of its task", profile=meta["name"], task=str(task)
            )
            return
        policies = self.book.policies
        policies.set_profile_spec(meta["namespace"], meta["name"], None if gone else spec)
        if gone:
            self.profiles.deleted(task)
            return
        # What people wrote must be in the feed before the task's first pod comes.
        if policies.has_own(task):
            self.book.get(task)
        news = self.profiles.shown(task, profile.get("status") or {}, meta.get("generation"))
        if news and task in self.book:
            self.profiles.mark(task)

    async def see_policy(self, policy: Raw, *, gone: bool) -> None:
        """A SizingPolicy appeared, changed or went; mostly, only its status has changed."""
        self.last_seen.see(POLICIES, policy, gone=gone)
        policies = self.book.policies
        # The cluster's policy is in Plimsoll's own namespace.
        is_own = policy["metadata"]["namespace"] == policies.own_namespace
        if self._leave_alone(policy) and not is_own:
            return
        before = policies.default, policies.paused
        policies.see(policy, gone=gone)
        self.policy_statuses.see(policy, gone=gone)
        if (policies.default, policies.paused) != before:
            await self._resolve_all_again()

    async def see_bounds(self, document: Raw, *, gone: bool) -> None:
        """A LimitRange or ResourceQuota appeared, changed or went."""
        is_range = "limits" in (document.get("spec") or {})
        self.last_seen.see(LIMIT_RANGES if is_range else QUOTAS, document, gone=gone)
        if self._leave_alone(document):
            return
        kind = "LimitRange" if is_range else "ResourceQuota"
        self.bounds.see(str(document.get("kind") or kind), document, gone=gone)

    async def see_node(self, node: Raw, *, gone: bool) -> None:
        """A node appeared, changed or went."""
        self.last_seen.see(NODES, node, gone=gone)
        self.bounds.see_node(node, gone=gone)
        self.releases.see_node(node, gone=gone)

    def see_karpenter(self) -> None:
        """Karpenter is installed: no pod is told to prefer hosts by name."""
        self.bounds.see_karpenter()
        self.releases.room.has_karpenter = True

    def _leave_alone(self, document: Raw) -> bool:
        return self.book.policies.leave_alone(document["metadata"].get("namespace"))

    async def _resolve_all_again(self) -> None:
        """Resolve every task's policy after a change for the cluster; the feed has it already."""
        for number, task in enumerate(self.book, start=1):
            self.book.resolve_again(task)
            self.profiles.mark(task)
            if number % TASKS_AT_ONCE == 0:
                await asyncio.sleep(0)
