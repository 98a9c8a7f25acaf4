"""A Job that leases its items: what is written on its template at its creation, and read."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.job_sizing import Moment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.cut_job import CHUNK_FEATURE, CutOutcome, cut_new_job
from plimsoll_operator.splitting.items_job import NotOverItems
from plimsoll_operator.splitting.job_tokens import JobName, is_token_of
from plimsoll_operator.splitting.leased_job import (
    LEASE_FEATURE,
    Leasing,
    has_ended,
    read_leased_job,
)
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, Learned, learned_of
from tests.builders.splitting.items_jobs import ITEMS, SHARES, WORKERS, a_job, moment_of
from tests.builders.splitting.leasing_jobs import KEY, LEASING, Json, a_leased_job, after, answered
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of


def knowing(weight: float = 0.0, learned: Learned | None = None) -> Moment:
    """Admission's knowledge of leases. weight: of the task's policy."""
    known = knowledge_of(mode=Mode.ENFORCE)
    known = replace(known, policy=replace(known.policy, memory_weight=weight))
    leased = {TRAIN: learned or growing()}
    return Moment(AdmissionState(tasks={TRAIN: known}, leased=leased), "shop")


@cache
def growing() -> Learned:
    """Leases of items that take 4 s and 1 MiB each."""
    chunks = [ChunkRun(n, 4.0 * n, 1.5, (20 + n) * MIB) for n in (1, 2, 4, 8, 8, 16)]
    found = learned_of(chunks)
    assert found is not None
    return replace(found, wait_s=0.05)


def told(job: Json) -> dict[str, Any]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def test_its_pods_are_told_how_to_lease_and_nothing_else_changes() -> None:
    job = a_leased_job()
    found = answered(job)
    assert found.outcome is CutOutcome.LEASED
    made = after(job, found)
    before, now = told(job), told(made)
    assert {name: now[name] for name in before} == before
    assert set(now) - set(before) == {
        *("PLIMSOLL_CHUNKS_URL", "PLIMSOLL_CHUNKS_JOB", "PLIMSOLL_CHUNKS_TOKEN"),
        *("PLIMSOLL_WORKER", "PLIMSOLL_JOB_NAME", "PLIMSOLL_JOB_UID"),
    }
    assert now["PLIMSOLL_CHUNKS_JOB"] == "shop/$(PLIMSOLL_JOB_NAME)/review-1"
    assert now["PLIMSOLL_WORKER"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    uid = "metadata.labels['batch.kubernetes.io/controller-uid']"
    assert now["PLIMSOLL_JOB_UID"] == {"fieldRef": {"fieldPath": uid}}
    name = JobName("shop", "train", "review-1")
    assert is_token_of(KEY, name, now["PLIMSOLL_CHUNKS_TOKEN"])
    assert made["spec"]["completions"] == SHARES
    assert CHUNK_FEATURE not in found.notes


def test_a_job_that_is_asked_for_again_has_all_of_it_already() -> None:
    job = a_leased_job()
    made = after(job, answered(job))
    again = answered(made)
    assert (again.outcome, list(again.patch)) == (CutOutcome.LEASED, [])
    assert again.notes == {labels.LEASE_RUN: "review-1"}


def test_a_copy_of_a_job_gets_a_run_of_its_own_as_all_may_be_done_by_the_others_record() -> None:
    job = a_leased_job()
    made = after(job, answered(job))
    copied = after(made, answered(made, Leasing(LEASING.url, KEY, "review-2")))
    assert told(copied)["PLIMSOLL_CHUNKS_JOB"].endswith("/review-2")
    assert is_token_of(
        KEY, JobName("shop", "train", "review-2"), told(copied)["PLIMSOLL_CHUNKS_TOKEN"]
    )


@pytest.mark.parametrize("where", ["its own", "its pods'"])
def test_a_job_that_kueue_ends_after_some_time_leases_nothing(where: str) -> None:
    job = a_leased_job()
    of = job if where == "its own" else job["spec"]["template"]
    of["metadata"].setdefault("labels", {})["kueue.x-k8s.io/max-exec-time-seconds"] = "600"
    found = answered(job)
    assert (found.outcome, list(found.patch)) == (CutOutcome.KEPT, [])
    assert "kueue.x-k8s.io/max-exec-time-seconds" in found.warning


@pytest.mark.parametrize("where", ["its own", "its pods'"])
def test_a_job_with_a_deadline_leases_nothing_as_a_pod_that_is_cut_off_waits(where: str) -> None:
    job = a_leased_job()
    spec = job["spec"] if where == "its own" else job["spec"]["template"]["spec"]
    spec["activeDeadlineSeconds"] = 60
    found = answered(job)
    assert (found.outcome, list(found.patch)) == (CutOutcome.KEPT, [])
    assert "activeDeadlineSeconds" in found.warning


@pytest.mark.parametrize(
    ("where", "what", "why"),
    [
        pytest.param(
            "spec",
            {"managedBy": "kueue.x-k8s.io/multikueue"},
            "another cluster",
            id="made elsewhere",
        ),
        pytest.param(
            "metadata",
            {"labels": {"kueue.x-k8s.io/prebuilt-workload-name": "job-train"}},
            "Kueue",
            id="Kueue compares it with what it counted",
        ),
        pytest.param("spec", {"manualSelector": True}, "manualSelector", id="pods without a name"),
        pytest.param(
            "metadata",
            {"managedFields": [{"manager": "HashiCorp", "operation": "Update"}]},
            "Terraform",
            id="made again if it differs",
        ),
    ],
)
def test_whose_pods_cannot_lease_or_whose_template_is_compared_leases_nothing(
    where: str, what: Json, why: str
) -> None:
    job = a_leased_job()
    job[where] |= what
    found = answered(job)
    assert (found.outcome, list(found.patch)) == (CutOutcome.KEPT, [])
    assert why in found.warning


@pytest.mark.parametrize("leases", [True, False])
def test_a_copy_that_leases_nothing_is_told_nothing_of_the_leases_of_the_other(
    leases: bool,
) -> None:
    """Otherwise its pods would wait for an answer until the copy's deadline."""
    written = a_leased_job()
    copied = after(written, answered(written))
    if leases:
        copied["spec"]["activeDeadlineSeconds"] = 600
    else:
        del copied["metadata"]["annotations"][labels.LEASES]
    made = after(copied, answered(copied))
    assert told(made).keys() == told(written).keys()
    assert labels.LEASE_RUN not in made["spec"]["template"]["metadata"]["annotations"]
    assert read_leased_job(made) is None


def test_a_copy_whose_template_kueue_compares_keeps_what_its_author_copied() -> None:
    written = a_leased_job()
    copied = after(written, answered(written))
    copied["metadata"]["labels"] = {"kueue.x-k8s.io/prebuilt-workload-name": "job-train"}
    found = answered(copied)
    assert list(found.patch) == []
    assert "they have those of the Job that was copied: Kueue" in found.warning


def test_of_a_copy_that_is_only_recommended_for_its_maker_is_told_that_its_pods_lease() -> None:
    written = a_leased_job()
    copied = after(written, answered(written))
    found = answered(copied, mode=Mode.RECOMMEND)
    assert (found.outcome, list(found.patch)) == (CutOutcome.KEPT, [])
    assert "they have those of the Job that was copied: the task's mode" in found.warning
    without = answered(a_leased_job(), mode=Mode.RECOMMEND)
    assert "so each does its share: the task's mode" in without.warning


@pytest.mark.parametrize("said", ["True", "yes", "1", "on", ""])
def test_who_says_unclearly_that_a_job_leases_is_told_what_to_write_and_it_is_not_cut(
    said: str,
) -> None:
    job = a_job()
    assert answered(job).outcome is CutOutcome.CUT
    job["metadata"]["annotations"][labels.LEASES] = said
    found = answered(job)
    assert (found.outcome, found.patch, found.notes) == (CutOutcome.UNREADABLE, (), {})
    assert f"plimsoll.dev/leases is '{said}'; write 'true' or 'false'" in found.warning


@pytest.mark.parametrize(
    ("said", "words"), [("true", "needs plimsoll.dev/items"), ("yes", "write 'true' or 'false'")]
)
def test_who_asks_for_leases_and_says_no_items_is_told_so(said: str, words: str) -> None:
    job = a_leased_job()
    job["metadata"]["annotations"] = {labels.LEASES: said}
    found = answered(job)
    assert (found.outcome, found.patch) == (CutOutcome.UNREADABLE, ())
    assert words in found.warning


def test_a_job_that_leases_nothing_by_its_author_is_cut_or_left_like_any_other() -> None:
    job = a_job()
    job["metadata"]["annotations"][labels.LEASES] = "false"
    assert answered(job).outcome is CutOutcome.CUT
    del job["metadata"]["annotations"][labels.ITEMS]
    assert cut_new_job(job, moment_of(), LEASING) is None


def test_a_copy_of_a_job_that_was_cut_teaches_no_chunks_when_it_leases() -> None:
    job = a_leased_job()
    job["spec"]["template"]["metadata"].setdefault("annotations", {})[CHUNK_FEATURE] = "7"
    annotations = after(job, answered(job))["spec"]["template"]["metadata"]["annotations"]
    assert CHUNK_FEATURE not in annotations
    assert annotations[labels.LEASE_RUN] == "review-1"


def test_a_job_that_was_copied_from_another_namespace_gets_its_own() -> None:
    job = a_leased_job()
    made = after(job, answered(job))
    other = Leasing(LEASING.url, b"x" * 32, "review-2")
    copied = after(made, answered(made, other))
    assert told(copied)["PLIMSOLL_CHUNKS_JOB"].endswith("/review-2")
    (container,) = copied["spec"]["template"]["spec"]["containers"]
    names = [each["name"] for each in container["env"]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("leasing", "mode", "why"),
    [
        pytest.param(None, Mode.ENFORCE, "switched off", id="nobody leases"),
        pytest.param(LEASING, Mode.RECOMMEND, "need enforce", id="only recommended"),
    ],
)
def test_where_it_gets_no_leases_it_stays_as_written_and_its_maker_is_told(
    leasing: Leasing | None, mode: Mode, why: str
) -> None:
    found = answered(a_leased_job(), leasing, mode)
    assert (found.outcome, list(found.patch), dict(found.notes)) == (CutOutcome.KEPT, [], {})
    assert why in found.warning


def test_a_job_of_another_keeper_leases_as_well() -> None:
    job = a_leased_job()
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set"}
    job["metadata"]["ownerReferences"] = [{**owner, "controller": True, "uid": "u"}]
    assert answered(job).outcome is CutOutcome.LEASED


def test_a_job_without_the_variables_of_its_items_leases_nothing() -> None:
    job = a_leased_job()
    del job["spec"]["template"]["spec"]["containers"][0]["env"]
    assert answered(job).outcome is CutOutcome.UNREADABLE


def test_the_controller_reads_what_admission_wrote() -> None:
    job = a_leased_job()
    leased = read_leased_job(after(job, answered(job)))
    assert leased is not None
    assert (leased.name, leased.uid) == (JobName("shop", "train", "review-1"), "uid-1")
    assert (leased.job.items, leased.job.workers, leased.shares) == (ITEMS, WORKERS, SHARES)
    assert read_leased_job(a_leased_job()) is None, "admission was away when it was created"


@pytest.mark.parametrize(
    ("spec", "retries"), [({"backoffLimitPerIndex": 1}, True), ({"backoffLimit": 0}, False)]
)
def test_the_controller_reads_whether_a_pod_is_tried_again(spec: Json, retries: bool) -> None:
    job = a_leased_job(**spec)
    found = read_leased_job(after(job, answered(job)))
    assert found is not None
    assert found.retries is retries


def test_what_says_that_it_leases_and_cannot_is_refused() -> None:
    job = a_leased_job()
    made = after(job, answered(job))
    made["metadata"]["annotations"][labels.ITEMS] = "0"
    with pytest.raises(NotOverItems, match="whole number"):
        read_leased_job(made)


@pytest.mark.parametrize(
    ("conditions", "ended"),
    [
        ([], False),
        ([{"type": "Complete", "status": "True"}], True),
        ([{"type": "Failed", "status": "True"}], True),
        ([{"type": "Failed", "status": "False"}], False),
        ([{"type": "Suspended", "status": "True"}], False),
        (None, False),
    ],
)
def test_a_job_has_ended_when_it_says_so(conditions: object, ended: bool) -> None:
    assert has_ended({"status": {"conditions": conditions}}) is ended


def roomed(moment: Moment, job: Json | None = None) -> dict[str, str]:
    """What the template says about leases and their memory."""
    found = cut_new_job(job or a_leased_job(), moment, LEASING)
    assert found is not None
    assert found.outcome is CutOutcome.LEASED
    return {name: text for name, text in found.notes.items() if name != labels.LEASE_RUN}


def test_what_is_known_says_what_holds_the_largest_lease_and_bounds_none_for_time() -> None:
    notes = roomed(knowing())
    assert set(notes) == {labels.CHUNK_MEMORY}
    # Half of a share of ten.
    assert 25 * MIB < int(notes[labels.CHUNK_MEMORY]) < 60 * MIB


def test_where_memory_counts_leases_are_smaller_and_so_is_what_holds_them() -> None:
    long = a_leased_job(completions=4)
    for variable in long["spec"]["template"]["spec"]["containers"][0]["env"]:
        if variable["name"] == "PLIMSOLL_SHARES":
            variable["value"] = "4"
    time, both = roomed(knowing(), long), roomed(knowing(1.0), long)
    assert 1 <= int(both[LEASE_FEATURE]) < 50
    assert int(both[labels.CHUNK_MEMORY]) < int(time[labels.CHUNK_MEMORY])


def test_a_copy_keeps_no_bound_of_the_job_that_it_was_copied_from() -> None:
    first = cut_new_job(a_leased_job(), knowing(1.0), LEASING)
    assert first is not None
    made = after(a_leased_job(), first)
    for moment, kept in ((knowing(), {labels.CHUNK_MEMORY}), (moment_of(), set[str]())):
        again = cut_new_job(made, moment, replace(LEASING, run="review-2"))
        assert again is not None
        annotations = after(made, again)["spec"]["template"]["metadata"]["annotations"]
        told = {name for name in (LEASE_FEATURE, labels.CHUNK_MEMORY) if name in annotations}
        assert told == kept


def test_no_more_is_said_to_be_needed_than_the_pods_may_have() -> None:
    most = 30 * MIB
    known = knowledge_of(mode=Mode.ENFORCE)
    known = replace(known, policy=replace(known.policy, max_bytes=most, min_bytes=MIB))
    moment = Moment(AdmissionState(tasks={TRAIN: known}, leased={TRAIN: growing()}), "shop")
    assert int(roomed(moment)[labels.CHUNK_MEMORY]) <= most


def test_where_memory_was_never_measured_nothing_is_chosen() -> None:
    assert roomed(knowing(1.0, replace(growing(), peaks=None))) == {}


def test_a_job_of_which_nothing_is_known_is_told_no_bound() -> None:
    assert roomed(moment_of()) == {}


def test_a_leased_job_is_read_with_its_bound_whoever_wrote_it() -> None:
    found = cut_new_job(a_leased_job(), knowing(1.0), LEASING)
    assert found is not None
    made = after(a_leased_job(), found)
    leased = read_leased_job(made)
    assert leased is not None
    assert str(leased.most_items) == found.notes[LEASE_FEATURE]
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    for broken in ("0", "-1", "many", "1" * 30, ""):
        annotations[LEASE_FEATURE] = broken
        leased = read_leased_job(made)
        assert leased is not None
        assert leased.most_items is None
