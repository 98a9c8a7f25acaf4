"""A queue of pods of four kinds on two real nodes, as usual or with Plimsoll's order and hints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubernetes_asyncio import client

from benchmarks.placing.arms import Arm
from benchmarks.placing.kinds import a_pod_of, took_s_of
from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, until
from tests.e2e.seeing import create, sizes_in_mode
from tests.e2e.witnesses import Witness, witnessing
from tests.e2e.workloads import Manifest

PLACES: Final = 4
"""Places on two nodes together."""
HEARD_S: Final = 5.0
"""How long until admission surely knows a policy."""
RUN_WITHIN_S, STARTED_WITHIN_S = 15.0, 180.0
"""A queue that takes longer than this for each of its runs counts as endless."""
HELD_WITHIN_S: Final = 60.0
"""How long until pods of a kind are held, if at all: the operator looks every 10 s."""
GONE_WITHIN_S: Final = 60.0
"""How long until deleted pods are gone."""
_POLICY: Final = ("plimsoll.dev", "v1alpha1")


class NotHeld(Exception):
    """Pods of a kind start at once, so no queue is in order; the message says why."""


@dataclass(frozen=True, slots=True)
class Submissions:
    """Pods that are submitted one after another.

    name: begins the pods' names. commands: of each kind. unended: so many exist at once; the next
    pod waits for an end. followers: kinds of pods that are submitted behind these; they count for
    nothing, and are deleted once these have ended.
    """

    name: str
    kinds: Sequence[str]
    commands: Mapping[str, str]
    unended: int
    followers: Sequence[str] = ()

    def pod(self, kind: str, name: str) -> Manifest:
        """A pod of a kind."""
        return a_pod_of(kind, name, self.commands[kind])


@dataclass(frozen=True, slots=True)
class Run:
    """One pod that succeeded. took_s: by its own clock. held: whether it waited for its turn."""

    kind: str
    node: str
    created_s: float
    started_s: float
    finished_s: float
    took_s: float
    held: bool

    @property
    def waited_s(self) -> float:
        """From its creation to its start, by Kubernetes' clocks, of whole seconds."""
        return self.started_s - self.created_s


@dataclass(frozen=True, slots=True)
class Played:
    """All runs of a queue, in the order in which they were submitted.

    makespan_s: from the first creation to the last end. followed_s: for how long followers took
    places until then.
    """

    runs: Sequence[Run]
    makespan_s: float
    followed_s: float = 0.0

    @classmethod
    def of(
        cls, runs: Sequence[Run], followers: Sequence[tuple[float, float | None]] = ()
    ) -> Played:
        """The runs of one queue without interruption.

        followers: when each pod that followed started and ended; None if it was deleted running.
        """
        began_s, ended_s = min(run.created_s for run in runs), max(run.finished_s for run in runs)
        followed_s = sum(
            max(0.0, min(ended_s, finished_s or ended_s) - started_s)
            for started_s, finished_s in followers
        )
        return cls(runs, ended_s - began_s, followed_s)

    def and_then(self, others: Played) -> Played:
        """Join both parts of a queue; another queue was played between them."""
        return Played(
            [*self.runs, *others.runs],
            self.makespan_s + others.makespan_s,
            self.followed_s + others.followed_s,
        )

    def of_kind(self, kind: str) -> list[float]:
        """Runtimes, in seconds."""
        return [run.took_s for run in self.runs if run.kind == kind]

    @property
    def mean_s(self) -> float:
        """The mean runtime."""
        return sum(run.took_s for run in self.runs) / len(self.runs)

    @property
    def held(self) -> int:
        """How many waited for their turn and were released."""
        return sum(run.held for run in self.runs)

    @property
    def used(self) -> float:
        """The share of all places' time in which pods ran, by their own clocks.

        Followers by Kubernetes' clocks.
        """
        taken_s = sum(run.took_s for run in self.runs) + self.followed_s
        return taken_s / (PLACES * self.makespan_s)

    @property
    def longest_wait_s(self) -> float:
        """The longest wait of a run for its start."""
        return max(run.waited_s for run in self.runs)


async def played(shop: Shop, arm: Arm, submitted: Submissions) -> Played:
    """Submit the pods in their order, and wait for the last one's end.

    AssertionError for a pod that fails; NotHeld if pods are not held that should be; TimeoutError
    if they do not end.
    """
    await _with_policy(shop, arm, submitted)
    kinds = [*submitted.kinds, *submitted.followers]
    places, tasks = asyncio.Semaphore(submitted.unended), []
    limit_s = STARTED_WITHIN_S + RUN_WITHIN_S * len(kinds)
    async with asyncio.timeout(limit_s), witnessing(shop) as witness:
        async with asyncio.TaskGroup() as group:
            for number, kind in enumerate(kinds):
                await places.acquire()
                made = await create(shop, submitted.pod(kind, f"{submitted.name}-{number}"))
                run = _run(witness, kind, made.metadata.uid, places)
                tasks.append(group.create_task(run))
            runs = await asyncio.gather(*tasks[: len(submitted.kinds)])
            later = tasks[len(submitted.kinds) :]
            for follower in later:
                follower.cancel()
        followed: list[tuple[float, float | None]] = [
            (run.started_s, run.finished_s)
            for run in (follower.result() for follower in later if not follower.cancelled())
        ]
        if submitted.followers:
            followed += [(at_s, None) for at_s in await _delete_what_has_not_ended(shop)]
    return Played.of(runs, followed)


async def _delete_what_has_not_ended(shop: Shop) -> list[float]:
    """Delete pods, and wait until no node has them. Return when those that ran had started."""
    unended = {"field_selector": "status.phase!=Succeeded"}
    left = (await shop.core.list_namespaced_pod(shop.namespace, **unended)).items
    states = [each.state for pod in left for each in pod.status.container_statuses or ()]
    started_s = [each.running.started_at.timestamp() for each in states if each.running]
    await shop.core.delete_collection_namespaced_pod(
        shop.namespace, grace_period_seconds=1, **unended
    )

    async def none_left() -> bool:
        return not (await shop.core.list_namespaced_pod(shop.namespace, **unended)).items

    await until("all followers are gone", none_left, GONE_WITHIN_S)
    return started_s


async def _run(witness: Witness, kind: str, uid: str, places: asyncio.Semaphore) -> Run:
    pod = await witness.ended(uid)
    places.release()
    return run_of(kind, pod)


def run_of(kind: str, pod: Any) -> Run:
    """Read a pod that has succeeded."""
    took_s = took_s_of(pod)
    state = pod.status.container_statuses[0].state.terminated
    return Run(
        kind,
        pod.spec.node_name,
        pod.metadata.creation_timestamp.timestamp(),
        state.started_at.timestamp(),
        state.finished_at.timestamp(),
        took_s,
        labels.HELD in (pod.metadata.annotations or {}),
    )


async def _with_policy(shop: Shop, arm: Arm, submitted: Submissions) -> None:
    spec = {"mode": "recommend", **arm.policy}
    try:
        await shop.custom.patch_namespaced_custom_object(
            *(*_POLICY, shop.namespace, "sizingpolicies", "default", {"spec": spec}),
            _content_type="application/merge-patch+json",
        )
    except client.ApiException as error:
        if error.status != 404:
            raise
        await shop.enforce(**spec)
    await sizes_in_mode(shop, "recommend")
    await asyncio.sleep(HEARD_S)
    if arm is Arm.ORDERED:
        await _until_all_would_wait(shop, submitted)


async def _until_all_would_wait(shop: Shop, submitted: Submissions) -> None:
    for kind in sorted(set(submitted.kinds)):
        tried = submitted.pod(kind, "tried")
        try:
            await until("it waits", lambda tried=tried: _holds(shop, tried), HELD_WITHIN_S)
        except AssertionError as error:
            raise NotHeld(
                f"pods of {kind} are not held: it is not known how they get along with anybody."
                " It takes more runs, or a machine that does less else"
            ) from error


async def _holds(shop: Shop, pod: Manifest) -> bool:
    """Whether a new pod would wait for its turn; nothing is created."""
    tried = await create(shop, pod, dry_run=True)
    return any(gate.name == labels.ORDER_GATE for gate in tried.spec.scheduling_gates or ())
