"""Jobs that Kueue holds, counts and starts; Plimsoll has already sized their templates."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    end_of,
    go_on,
    job_is,
    memory_of,
    pods_of_job,
)
from tests.e2e.workloads import LONG_S, Manifest, a_job, a_pod
from tests.kueue.quotas import Queue, asked_bytes, condition_of, counted_bytes

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

ASKED = "700Mi"


async def taught(shop: Shop, plimsoll: Plimsoll, task: str) -> int:
    """Let one pod teach a task; return what a Job's template of it asks for then."""
    await create(shop, a_pod(f"{task}-teacher", "eat 20 1", task=task, memory=ASKED))
    await until("it is known", lambda: plimsoll.observations(shop.task(task)), WITHIN_S)
    waiting = a_job("probe", "eat 1", task=task, backoff_limit=6, memory=ASKED)
    waiting["spec"]["suspend"] = True

    async def sized() -> int:
        template = (await create(shop, waiting, dry_run=True)).spec.template
        asked = parse_bytes(memory_of(template)[0])
        return 0 if asked == parse_bytes(ASKED) else asked

    found: int = await until("templates are sized", sized, WITHIN_S)
    return found


async def test_a_job_fits_its_queue_because_its_template_was_sized(
    shop: Shop, plimsoll: Plimsoll, queue: Queue
) -> None:
    asked = await taught(shop, plimsoll, "fitted")
    await queue.allow(str(asked))
    # As users of Kueue write it: Kueue suspends it.
    job = queue.takes(a_job("fitted", "eat 20 1", task="fitted", backoff_limit=6, memory=ASKED))
    made = await create(shop, job)
    assert made.spec.suspend
    assert memory_of(made.spec.template)[1] == ASKED, "a template outlives what is known"
    workload = await queue.says(made.metadata.uid, "Admitted")
    assert (asked_bytes(workload), counted_bytes(workload)) == (asked, asked)
    await job_is(shop, "fitted", "Complete")
    await queue.says(made.metadata.uid, "Finished")
    (pod,) = await pods_of_job(shop, "fitted")
    assert parse_bytes(memory_of(pod)[0]) == asked
    _, seen = await until(
        "observed", lambda: (found := plimsoll.observations(shop.task("fitted")))[1:] and found
    )
    assert (seen.outcome, seen.request_bytes) == (Outcome.SUCCEEDED, 700 * MIB)
    assert len(plimsoll.observations(shop.task("fitted"))) == 2, "its teacher, and the Job's pod"


async def test_a_job_that_does_not_fit_waits_as_long_as_kueue_says(
    shop: Shop, plimsoll: Plimsoll, queue: Queue
) -> None:
    asked = await taught(shop, plimsoll, "queueing")
    await queue.allow(str(asked * 3 // 2))

    def job(name: str, command: str) -> Manifest:
        return a_job(name, command, task="queueing", backoff_limit=6, memory=ASKED)

    first = await create(shop, queue.takes(job("queueing-1", f"eat 20 {LONG_S}")))
    await queue.says(first.metadata.uid, "Admitted")
    second = await create(shop, queue.takes(job("queueing-2", "eat 20 1")))
    await queue.says(second.metadata.uid, "QuotaReserved", "False")
    # When this Job has completed, Plimsoll has seen the other one, too.
    await create(shop, job("queueing-3", "eat 20 1"))
    await job_is(shop, "queueing-3", "Complete")
    await until("both observed", lambda: plimsoll.observations(shop.task("queueing"))[1:], WITHIN_S)
    jobs = client.BatchV1Api(shop.core.api_client)
    waiting = await jobs.read_namespaced_job("queueing-2", shop.namespace)
    assert waiting.spec.suspend
    assert waiting.spec.template.metadata.annotations[labels.MAY_WAIT] == "false"
    assert await pods_of_job(shop, "queueing-2") == []
    workload = await queue.workload_of(second.metadata.uid)
    assert workload is not None
    assert condition_of(workload, "Admitted") is None
    assert asked_bytes(workload) == asked

    (long,) = await pods_of_job(shop, "queueing-1")
    await go_on(long.metadata.uid)
    await job_is(shop, "queueing-1", "Complete")
    await queue.says(second.metadata.uid, "Admitted")
    await job_is(shop, "queueing-2", "Complete")


async def test_a_killed_index_is_lifted_beyond_what_was_counted_and_kueue_lets_it(
    shop: Shop, plimsoll: Plimsoll, queue: Queue
) -> None:
    asked = await taught(shop, plimsoll, "indexed")
    await queue.allow(str(2 * asked))
    job = a_job("indexed", "eat 60 1", task="indexed", backoff_limit=6, memory=ASKED)
    del job["spec"]["backoffLimit"]
    job["spec"] |= {
        "completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimitPerIndex": 3,
    }  # fmt: skip
    made = await create(shop, queue.takes(job))
    workload = await queue.says(made.metadata.uid, "Admitted")
    assert counted_bytes(workload) == 2 * asked
    await job_is(shop, "indexed", "Complete")
    after = await queue.says(made.metadata.uid, "Finished")
    assert condition_of(after, "Evicted") is None
    pods = await pods_of_job(shop, "indexed")
    ends = [end_of(pod) for pod in pods]
    assert ends.count(("Completed", 0)) == 2
    assert set(ends) == {("Completed", 0), ("OOMKilled", 137)}
    for pod in pods:
        lifted = decision_of(pod)["reason"] == "lifted"
        assert (parse_bytes(memory_of(pod)[0]) > asked) is lifted
    seen = await until(
        "all observed",
        lambda: (found := plimsoll.observations(shop.task("indexed")))[len(pods) :] and found,
        WITHIN_S,
    )
    assert len(seen) == len(pods) + 1
    assert len({each.run for each in seen}) == 3, "the teacher's, and two indexes"


async def test_a_job_that_kueue_stops_and_starts_again_keeps_its_size(
    shop: Shop, plimsoll: Plimsoll, queue: Queue
) -> None:
    asked = await taught(shop, plimsoll, "stopped")
    await queue.allow(str(asked))
    job = a_job("stopped", f"eat 20 {LONG_S}", task="stopped", backoff_limit=6, memory=ASKED)
    made = await create(shop, queue.takes(job))

    async def runs() -> Any:
        pods = await pods_of_job(shop, "stopped")
        return [
            p for p in pods if p.status.phase == "Running" and not p.metadata.deletion_timestamp
        ]

    (first,) = await until("it runs", runs, WITHIN_S)
    await queue.activate(made.metadata.uid, wanted=False)
    await queue.says(made.metadata.uid, "Evicted")

    async def gone() -> bool:
        return not await pods_of_job(shop, "stopped")

    await until("its pod is gone", gone, WITHIN_S)
    await queue.activate(made.metadata.uid, wanted=True)
    (again,) = await until("it runs again", runs, WITHIN_S)
    assert again.metadata.uid != first.metadata.uid
    assert parse_bytes(memory_of(again)[0]) == asked
    workload = await queue.says(made.metadata.uid, "Admitted")
    assert counted_bytes(workload) == asked
    await go_on(again.metadata.uid)
    await job_is(shop, "stopped", "Complete")
    seen = await until(
        "observed",
        lambda: [
            each for each in plimsoll.observations(shop.task("stopped"))
            if each.attempt_uid == again.metadata.uid
        ],
        WITHIN_S,
    )  # fmt: skip
    assert [each.outcome for each in seen] == [Outcome.SUCCEEDED]
    killed = [
        e for e in plimsoll.observations(shop.task("stopped")) if e.outcome is Outcome.OOM_KILLED
    ]
    assert killed == [], "it was stopped, which teaches no need"
