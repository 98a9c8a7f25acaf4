"""A new Job over items: how it is cut, and why it is left as its author wrote it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.chunk_floor import AS_WRITTEN
from plimsoll_operator.sizing.job_sizing import Moment
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_operator.splitting.cut_job import CHUNK_FEATURE, CutOutcome, cut_new_job
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, Learned, learned_of
from tests.builders.pods import JOB_UID, APod, decision_of, memory_of
from tests.builders.splitting.items_jobs import (
    Json,
    a_job,
    after,
    answered,
    applied,
    env_of,
    moment_of,
    one_each,
)
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of


@cache
def differing() -> Learned:
    """Chunks that differ much: with more pods the end does not wait for one chunk."""
    found = learned_of([ChunkRun(50, float(s), 1.5, 20 * MIB) for s in (10, 20, 40, 400) * 4])
    assert found is not None
    return found


def test_pods_and_shares_change_together_and_its_pods_say_how_many_items_they_do() -> None:
    job = a_job()
    found = answered(job)
    assert found.outcome is CutOutcome.CUT
    made = after(job, found)
    pods = made["spec"]["completions"]
    assert pods == 20, "twice the largest chunk that got through"
    assert env_of(made) == {"MINE": "40", "PLIMSOLL_ITEMS": "400", "PLIMSOLL_SHARES": "20"}
    notes = made["spec"]["template"]["metadata"]["annotations"]
    assert notes[CHUNK_FEATURE] == "20"
    assert job == a_job(), "it is not changed itself"


@pytest.mark.slow
def test_a_chunk_larger_than_any_has_no_less_memory_than_was_written() -> None:
    grown, known = answered(a_job()), answered(a_job(), moment_of(learned=one_each(100)))
    assert grown.notes[labels.CHUNK_MEMORY] == AS_WRITTEN
    assert labels.MODE not in grown.notes, "or a killed pod would not be lifted"
    assert known.outcome is CutOutcome.CUT
    assert known.notes[labels.CHUNK_MEMORY] != AS_WRITTEN


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"backoffLimitPerIndex": 0}, id="no second attempt of an index"),
        pytest.param({"backoffLimitPerIndex": 1}, id="the second attempt is for other failures"),
        pytest.param({"backoffLimitPerIndex": None, "backoffLimit": 0}, id="no second attempt"),
        pytest.param({"backoffLimitPerIndex": None, "backoffLimit": 6}, id="few for all pods"),
    ],
)
def test_no_chunk_does_more_items_than_written_where_a_kill_may_end_its_job(spec: Json) -> None:
    assert answered(a_job()).outcome is CutOutcome.CUT
    assert answered(a_job(**spec)).outcome is CutOutcome.AS_WRITTEN


def test_where_people_say_that_there_is_one_attempt_no_chunk_grows() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"]["annotations"] = {labels.ATTEMPTS: "1"}
    assert answered(job).outcome is CutOutcome.AS_WRITTEN


@pytest.mark.parametrize(
    ("changed", "pods"),
    [
        pytest.param({"max_bytes": None}, 20, id="nothing bounds a lift"),
        pytest.param({"max_bytes": 1536 * MIB}, 31, id="up to one and a half times the limit"),
        pytest.param({"max_bytes": 512 * MIB}, 40, id="a maximum below the limit"),
        pytest.param({"max_lifts": 0}, 40, id="no lift"),
    ],
)
def test_a_chunk_grows_no_further_than_a_lift_after_a_kill(changed: Json, pods: int) -> None:
    known = knowledge_of()
    tasks = {TRAIN: replace(known, policy=replace(known.policy, **changed))}
    job = a_job()
    assert after(job, answered(job, moment_of(tasks=tasks)))["spec"]["completions"] == pods


def test_a_pod_whose_chunk_grew_is_lifted_after_a_kill_at_what_was_written() -> None:
    made = after(a_job(), answered(a_job()))
    template = made["spec"]["template"]
    metadata = {**template["metadata"], "name": "train-0-x", "namespace": "shop"}
    of_job = APod({"metadata": metadata, "spec": template["spec"]})
    pod = of_job.owned_by_job(index=0, attempts=None)
    run = f"job:{JOB_UID}:0"
    lift = Lift(allocation_bytes=2 * GIB, attempt=2, after_bytes=GIB)
    known = knowledge_of(max_need_bytes=400 * MIB)
    for lifts, memory in (({}, "1Gi"), ({run: lift}, "2Gi")):
        state = AdmissionState(tasks={TRAIN: replace(known, lifts=lifts)})
        sized = pod.patched(size(pod.built(), state).patch)
        assert memory_of(sized) == (memory, memory)
        assert decision_of(sized)["mode"] == "enforce", "else its kill is its owner's"


def test_no_more_pods_run_at_once_than_as_it_was_written() -> None:
    job = a_job(parallelism=100, completions=8)
    for each in job["spec"]["template"]["spec"]["containers"][0]["env"]:
        if each["name"] == "PLIMSOLL_SHARES":
            each["value"] = "8"
    made = after(job, answered(job, moment_of(learned=differing())))
    assert made["spec"]["completions"] > 8
    assert made["spec"]["parallelism"] == 8


def few(**spec: Any) -> Json:
    """A Job of eight pods that should have more."""
    job = a_job(completions=8, parallelism=8, **spec)
    for each in job["spec"]["template"]["spec"]["containers"][0]["env"]:
        if each["name"] == "PLIMSOLL_SHARES":
            each["value"] = "8"
    return job


def test_a_job_whose_pods_share_their_failures_gets_no_more_of_them() -> None:
    moment = moment_of(learned=differing())
    assert answered(few(), moment).outcome is CutOutcome.CUT
    assert answered(few(backoffLimit=2**31 - 1), moment).outcome is CutOutcome.CUT
    for shared in ({"backoffLimit": 6}, {"backoffLimit": 6, "backoffLimitPerIndex": None}):
        assert answered(few(**shared), moment).outcome is CutOutcome.AS_WRITTEN


@pytest.mark.parametrize(
    ("metadata", "digits"),
    [
        ({"name": "n" * 61}, 1),
        ({"name": "n" * 60}, 2),
        ({"name": None, "generateName": "n" * 56}, 1),
        ({"name": "n" * 40}, 5),
    ],
)
def test_the_last_pods_name_is_one_that_a_host_may_have(metadata: Json, digits: int) -> None:
    job = few()
    job["metadata"] |= metadata
    after_it = after(job, answered(job, moment_of(learned=differing())))
    assert after_it["spec"]["completions"] <= 10**digits
    assert (after_it["spec"]["completions"] > 8) is (digits > 1)


@pytest.mark.parametrize("where", ["container", "volume"])
def test_pods_whose_disk_is_bounded_do_no_more_items_than_they_were_written_to(
    where: str,
) -> None:
    job = a_job()
    pod = job["spec"]["template"]["spec"]
    if where == "container":
        pod["containers"][0]["resources"]["limits"]["ephemeral-storage"] = "1Gi"
    else:
        pod["volumes"] = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}]
    assert answered(job).outcome is CutOutcome.AS_WRITTEN


def test_what_was_decided_stands_on_the_job() -> None:
    made = after(a_job(), answered(a_job()))
    note = json.loads(made["metadata"]["annotations"][labels.CUT])
    assert (note["was"], note["pods"], note["items"], note["done"]) == (40, 20, 20, True)
    assert note["gain"] > 0.3
    assert note["verdict"] == "cut"


def test_where_nothing_is_enforced_it_only_says_so() -> None:
    job = a_job()
    found = answered(job, moment_of(Mode.RECOMMEND))
    assert found.outcome is CutOutcome.RECOMMENDED
    made = after(job, found)
    assert (made["spec"]["completions"], env_of(made)["PLIMSOLL_SHARES"]) == (40, "40")
    note = json.loads(made["metadata"]["annotations"][labels.CUT])
    assert (note["pods"], note["done"]) == (20, False)


def test_a_second_look_at_the_same_job_changes_nothing() -> None:
    made = after(a_job(), answered(a_job()))
    again = answered(made)
    assert (again.outcome, again.patch) == (CutOutcome.CUT, ())
    floor = made["spec"]["template"]["metadata"]["annotations"][labels.CHUNK_MEMORY]
    assert again.notes == {CHUNK_FEATURE: "20", labels.CHUNK_MEMORY: floor}


def test_where_chunks_failed_a_job_stays_as_written_and_says_why() -> None:
    learned = replace(one_each(), failed=2, hung=1)
    job = a_job()
    found = answered(job, moment_of(learned=learned))
    assert found.outcome is CutOutcome.AS_WRITTEN
    note = json.loads(after(job, found)["metadata"]["annotations"][labels.CUT])
    assert (note["failed"], note["hung"]) == (2, 1)
    assert "failed" not in json.loads(
        after(job, answered(job))["metadata"]["annotations"][labels.CUT]
    )


def test_of_a_task_without_chunks_the_pods_say_their_items() -> None:
    job = a_job()
    found = answered(job, moment_of(chunks={}))
    assert (found.outcome, found.patch, found.notes) == (
        CutOutcome.UNKNOWN,
        (),
        {CHUNK_FEATURE: "10"},
    )


def with_pod_deadline() -> Json:
    template: Json = a_job()["spec"]["template"]
    template["spec"]["activeDeadlineSeconds"] = 60
    return template


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"activeDeadlineSeconds": 60}, "deadline"),
        ({"template": with_pod_deadline()}, "deadline"),
        ({"successPolicy": {"rules": [{"succeededCount": 3}]}}, "successPolicy"),
        ({"maxFailedIndexes": 3, "backoffLimitPerIndex": 1}, "maxFailedIndexes"),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, "kept by another"),
    ],
)
def test_whose_pods_are_not_to_become_others(spec: Json, words: str) -> None:
    found = answered(a_job(**spec))
    assert (found.outcome, found.patch) == (CutOutcome.KEPT, ())
    assert words in found.warning


def tracked(job: Json) -> None:
    """Argo CD keeps it as in Git, also where its ``Replace=true`` applies nothing."""
    job["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = "shop:batch/Job:shop/crunch"


def made_by_argo_cd(job: Json) -> None:
    manager = {"manager": "argocd-application-controller", "operation": "Update"}
    job["metadata"]["managedFields"] = [manager]


def owned(job: Json) -> None:
    job["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "set", "controller": True}]


def hooked(job: Json) -> None:
    job["metadata"]["annotations"]["helm.sh/hook"] = "pre-install"


def released(job: Json) -> None:
    job["metadata"]["annotations"]["meta.helm.sh/release-name"] = "crunch"


def counted_by_kueue(job: Json) -> None:
    job["metadata"]["annotations"]["kueue.x-k8s.io/job-completions-equal-parallelism"] = "true"


def without_room(job: Json) -> None:
    job["spec"]["template"]["metadata"]["annotations"] = {"a": "x" * 260_000}


@pytest.mark.parametrize(
    "kept",
    [
        applied,
        tracked,
        made_by_argo_cd,
        owned,
        hooked,
        released,
        counted_by_kueue,
        without_room,
    ],
)
def test_who_keeps_or_awaits_a_job_has_it_as_it_was_written(kept: Callable[[Json], None]) -> None:
    job = a_job()
    kept(job)
    assert answered(job).outcome is CutOutcome.KEPT


def test_a_quota_that_counts_ended_pods_leaves_no_room_for_more() -> None:
    bounds = read_namespace((), [{"spec": {"hard": {"count/pods": "50"}}}])
    shop = {"shop": NamespaceState(None, bounds)}
    assert answered(a_job(), moment_of(namespaces=shop)).outcome is CutOutcome.KEPT


def without(name: str) -> Json:
    job = a_job()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["env"] = [each for each in container["env"] if each["name"] != name]
    return job


def with_items(text: object) -> Json:
    job = a_job()
    job["metadata"]["annotations"][labels.ITEMS] = text
    return job


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (with_items("0"), "write a whole number from 1 on"),
        (with_items("-5"), "write a whole number from 1 on"),
        (with_items("1e3"), "write a whole number from 1 on"),
        (with_items("9" * 40), "write a whole number from 1 on"),
        (with_items("٤٠٠"), "write a whole number from 1 on"),
        (with_items("401"), "variable PLIMSOLL_ITEMS with the value '401'"),
        (without("PLIMSOLL_ITEMS"), "variable PLIMSOLL_ITEMS with the value '400'"),
        (without("PLIMSOLL_SHARES"), "variable PLIMSOLL_SHARES with the value '40'"),
        (a_job(completions=41), "variable PLIMSOLL_SHARES with the value '41'"),
        (a_job(completionMode="NonIndexed"), "Indexed Job"),
        (a_job(completions=None), "Indexed Job"),
        (a_job(parallelism=0), "parallelism from 1 on"),
        (a_job(completions=True), "Indexed Job"),
    ],
)
def test_who_cannot_be_understood_is_told_what_to_write(job: Json, words: str) -> None:
    found = answered(job)
    assert (found.outcome, found.patch, found.notes) == (CutOutcome.UNREADABLE, (), {})
    assert words in found.warning


def test_a_mode_of_its_own_on_the_template_is_not_written_over() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"]["annotations"] = {labels.MODE: "enforce"}
    made = after(job, answered(job))
    assert made["spec"]["template"]["metadata"]["annotations"][labels.MODE] == "enforce"


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(moment_of(Mode.OFF), id="off"),
        pytest.param(moment_of(paused=True), id="the cluster is paused"),
    ],
)
def test_who_is_left_alone_is_not_looked_at(moment: Moment) -> None:
    assert cut_new_job(a_job(), moment) is None


def test_other_jobs_are_not_looked_at() -> None:
    job = a_job()
    del job["metadata"]["annotations"][labels.ITEMS]
    assert cut_new_job(job, moment_of()) is None


def test_pods_of_a_job_that_is_cut_are_not_sized_below_what_holds_their_chunk() -> None:
    found = answered(few(), moment_of(learned=differing()))
    assert found.outcome is CutOutcome.CUT
    assert int(found.notes[labels.CHUNK_MEMORY]) >= 20 * MIB


def test_what_nobody_measured_gives_no_such_floor() -> None:
    found = answered(few(), moment_of(learned=replace(differing(), peaks=None)))
    assert found.outcome is CutOutcome.CUT
    assert labels.CHUNK_MEMORY not in found.notes
