"""How runs go: what makes their pods, what watches them, and when a run counts as ended."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Final

from plimsoll_operator.names import labels
from plimsoll_predictor.core.units import MIB
from tests.e2e.plimsolls import ADMISSION, CONTROLLER
from tests.harm.manifests import a_container, a_pod, eats, memory
from tests.harm.scenario import Ending, Manifest
from tests.harm.stage import Stage
from tests.harm.watching import Seen
from tests.rigs.images.eater import goes_on as goes_on_now

Play = Callable[[Stage], Awaitable[Ending]]

WITHIN_S: Final = 480.0
RETRY_WITHIN_S: Final = 180.0
"""A failed bare pod stays failed if Plimsoll has not retried it by then."""
NEXT_JOB_AFTER_S: Final = 6.0
STAYS_S: Final = 15.0


def jobs(*manifests: Manifest, within_s: float = WITHIN_S) -> Play:
    """Jobs that are created together; their run has succeeded when all of them have."""

    async def play(stage: Stage) -> Ending:
        for manifest in manifests:
            await stage.create(copy.deepcopy(manifest))
        names = [manifest["metadata"]["name"] for manifest in manifests]
        return await stage.jobs_end(names, within_s)

    return play


def resumed(job: Manifest, *, while_admission_is_away: bool = False) -> Play:
    """A Job that waits in a queue until somebody resumes it, as Kueue does."""
    name = job["metadata"]["name"]
    suspended = {**job, "spec": {**job["spec"], "suspend": True}}

    async def resume(stage: Stage) -> Ending:
        spec = {"spec": {"suspend": False}}
        await stage.batch.patch_namespaced_job(name, stage.namespace, spec)
        return await stage.jobs_end([name], WITHIN_S)

    async def play(stage: Stage) -> Ending:
        await stage.create(copy.deepcopy(suspended))
        if stage.plimsoll is None or not while_admission_is_away:
            return await resume(stage)
        before = stage.plimsoll.pid(ADMISSION)
        with stage.plimsoll.without(ADMISSION):
            ending = await resume(stage)
        await stage.plimsoll.back(ADMISSION, before)
        return ending

    return play


def bare(manifest: Manifest, *, within_s: float = WITHIN_S) -> Play:
    """A bare pod that nobody watches: a retry continues its run."""

    async def play(stage: Stage) -> Ending:
        pod = await stage.create(copy.deepcopy(manifest))
        return await goes_on(stage, pod.metadata.uid, within_s)

    return play


async def goes_on(stage: Stage, uid: str, within_s: float = WITHIN_S) -> Ending:
    """How a bare pod's run ends, including retries by Plimsoll."""
    ending = await pod_ends(stage, uid, within_s)
    if ending is not Ending.FAILED or stage.plimsoll is None:
        return ending
    retry: Seen | None = await stage.until(lambda: _retry_of(stage, uid), RETRY_WITHIN_S)
    return ending if retry is None else await goes_on(stage, retry.uid, within_s)


def _retry_of(stage: Stage, uid: str) -> Seen | None:
    return next((s for s in stage.pods if s.annotations.get(labels.RETRY_OF) == uid), None)


async def pod_ends(stage: Stage, uid: str, within_s: float = WITHIN_S) -> Ending:
    """How one pod ends. A pod that was deleted before it succeeded has failed."""

    def ended() -> Ending | None:
        seen = stage.seen(uid)
        if seen is None:
            return None
        if seen.succeeded:
            return Ending.SUCCEEDED
        return Ending.FAILED if seen.phase == "Failed" or seen.gone else None

    found: Ending | None = await stage.until(ended, within_s)
    return found or stage.unended()


def of_a_cron_job(*manifests: Manifest) -> Play:
    """Jobs of one CronJob, each begun when the one before has run for a while."""

    async def play(stage: Stage) -> Ending:
        template = {"spec": copy.deepcopy(manifests[0]["spec"])}
        spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template}
        cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
        made = await stage.create({**cron, "spec": spec})
        owner = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "name": "nightly",
            "uid": made.metadata.uid,
            "controller": True,
        }
        for manifest in manifests:
            job = copy.deepcopy(manifest)
            job["metadata"]["ownerReferences"] = [owner]
            await stage.create(job)
            await asyncio.sleep(NEXT_JOB_AFTER_S)
        return await stage.jobs_end([each["metadata"]["name"] for each in manifests], WITHIN_S)

    return play


def of_class(qos: str, manifest: Manifest) -> Play:
    """A bare pod whose run counts only in the class that its author chose."""

    async def play(stage: Stage) -> Ending:
        ending = await bare(manifest)(stage)
        classes = {str(seen.pod["status"].get("qosClass")) for seen in stage.pods}
        return ending if classes == {qos} else Ending.CHANGED

    return play


def burst(manifests: list[Manifest]) -> Play:
    """Bare pods that are created at once."""

    async def play(stage: Stage) -> Ending:
        made = await asyncio.gather(*(stage.create(copy.deepcopy(each)) for each in manifests))
        ends = await asyncio.gather(*(goes_on(stage, pod.metadata.uid) for pod in made))
        return min(ends, key=lambda ending: ending.rank)

    return play


def too_large(*, asked_mib: int, needs_mib: int) -> Play:
    """A pod that waits for a new node: it must stay unchanged, or its run would fail there."""
    manifest = a_pod("huge", a_container(eats(20), memory(asked_mib, asked_mib)))

    async def play(stage: Stage) -> Ending:
        pod = await stage.create(copy.deepcopy(manifest))
        ending = await pod_ends(stage, pod.metadata.uid, STAYS_S)
        given = [seen.given_bytes or 0 for seen in stage.pods]
        return ending if min(given) >= needs_mib * MIB else Ending.FAILED

    return play


def evicted(job: Manifest, *, evict: int) -> Play:
    """A Job one of whose pods is evicted while it runs. evict: which, counted from 1.

    If there are fewer, because none was killed, none is evicted.
    """

    async def play(stage: Stage) -> Ending:
        await stage.create(copy.deepcopy(job))
        name = job["metadata"]["name"]
        ending = asyncio.create_task(stage.jobs_end([name], WITHIN_S))

        def due() -> bool:
            return ending.done() or any(_runs(seen) for seen in stage.pods[evict - 1 : evict])

        await stage.until(due, WITHIN_S)
        if not ending.done():
            await stage.evict(stage.pods[evict - 1].name)
        return await ending

    return play


def meanwhile(play: Play, said: Manifest) -> Play:
    """A run during which people change a policy. said: the SizingPolicy.

    It is written when its first pod runs, and reaches admission before that pod may be killed.
    """

    async def playing(stage: Stage) -> Ending:
        async def goes() -> Ending:
            return await play(stage)

        ending = asyncio.create_task(goes())
        await stage.until(lambda: ending.done() or any(map(_runs, stage.pods)), WITHIN_S)
        await stage.create(copy.deepcopy(said))
        return await ending

    return playing


def once_it_lends(play: Play) -> Play:
    """A run whose pod pauses until it lends: without Plimsoll, until it runs."""

    async def playing(stage: Stage) -> Ending:
        async def goes() -> Ending:
            return await play(stage)

        def lends(seen: Seen) -> bool:
            return _runs(seen) and (stage.plimsoll is None or labels.LENT in seen.annotations)

        ending = asyncio.create_task(goes())
        await stage.until(lambda: ending.done() or any(map(lends, stage.pods)), WITHIN_S)
        await stage.until(
            lambda: ending.done() or any(goes_on_now(seen.uid) for seen in stage.pods), WITHIN_S
        )
        return await ending

    return playing


def _runs(seen: Seen) -> bool:
    return seen.started and not seen.ends


def left_alone(job: Manifest, *, for_s: float) -> Play:
    """A Job whose first pod runs when Plimsoll's controller goes away for a while."""
    name = job["metadata"]["name"]

    async def play(stage: Stage) -> Ending:
        if stage.plimsoll is None:
            return await jobs(job)(stage)
        await stage.create(copy.deepcopy(job))
        await stage.until(lambda: any(map(_runs, stage.pods)), WITHIN_S)
        before = stage.plimsoll.pid(CONTROLLER)
        with stage.plimsoll.without(CONTROLLER):
            await asyncio.sleep(for_s)
        await stage.plimsoll.back(CONTROLLER, before)
        return await stage.jobs_end([name], WITHIN_S)

    return play


def while_nothing_heals(job: Manifest) -> Play:
    """A Job that begins and ends while Plimsoll's controller is away."""

    async def play(stage: Stage) -> Ending:
        if stage.plimsoll is None:
            return await jobs(job)(stage)
        before = stage.plimsoll.pid(CONTROLLER)
        with stage.plimsoll.without(CONTROLLER):
            ending = await jobs(job)(stage)
        await stage.plimsoll.back(CONTROLLER, before)
        return ending

    return play
