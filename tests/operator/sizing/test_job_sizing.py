"""A suspended Job's template: a queue counts its pods' future requests, and nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.names import labels
from plimsoll_operator.pods.job_attempts import notes_for_job, notes_for_unlabelled_job
from plimsoll_operator.pods.spec import qos_of
from plimsoll_operator.pods.uncounted import rules
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.job_sizing import Moment, may_wait, patch_for_new_job
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Treatment
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import KilledAttempts, Limits, Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import JOB_UID, APod, a_pod, decision_of, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

ASKING = a_pod().asking("4Gi").limited("4Gi")
FITS = "1127Mi"
"""The size by knowledge_of(): 1.1 times its largest need of 1Gi."""
INDEX = "batch.kubernetes.io/job-completion-index"

OF_A_TEMPLATE = ("labels", "annotations")

Json = dict[str, Any]


def state_of(known: Knowledge | None = None) -> AdmissionState:
    known = known or knowledge_of()
    return AdmissionState(tasks={known.task: known})


def a_job(pod: APod = ASKING, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Json:
    """A suspended Job that makes pods like this one."""
    made = pod.built()
    its = {key: value for key, value in made["metadata"].items() if key in OF_A_TEMPLATE}
    return {
        "metadata": {"name": "train", "namespace": "shop", **(metadata or {})},
        "spec": {"suspend": True, "template": {"metadata": its, "spec": made["spec"]}, **spec},
    }


def sized(job: Json, state: AdmissionState | None = None, unhealed: str | None = None) -> APod:
    """The template after admission of its Job, as a pod."""
    notes = notes_for_job(job)
    assert notes is not None
    moment = Moment(state or state_of(), "shop", unhealed)
    after = APod(job).patched(patch_for_new_job(job, notes, moment)).built()
    template = after["spec"]["template"]
    metadata = {"name": "train-1", "namespace": "shop", **template["metadata"]}
    return APod({**template, "metadata": metadata})


def made(template: APod, index: int | None = None) -> APod:
    """A pod as the Job's controller makes it of the template."""
    return template.owned_by_job("train", index, attempts=None)


def after(pod: APod, state: AdmissionState) -> APod:
    return pod.patched(size(pod.built(), state).patch)


def test_the_template_asks_for_the_size_and_says_what_was_written() -> None:
    template = sized(a_job())
    assert memory_of(template) == (FITS, "4Gi"), "its limit stays"
    note = decision_of(template)
    assert note["was"] == {"request": "4Gi", "limit": "4Gi"}
    assert note["template"] is True
    assert note["run"] is None, "the Job has no UID yet"
    assert template.built()["metadata"]["annotations"][labels.JOB_ATTEMPTS] == "7"


def test_its_pods_ask_for_what_was_counted_and_are_limited_as_ever() -> None:
    pod = after(made(sized(a_job())), state_of())
    assert memory_of(pod) == (FITS, FITS)
    note = decision_of(pod)
    assert note["was"] == {"request": "4Gi", "limit": "4Gi"}
    assert "template" not in note
    assert note["run"] == f"job:{JOB_UID}"


def test_a_pod_that_admission_never_saw_has_the_limit_that_its_author_wrote() -> None:
    template = sized(a_job())
    assert memory_of(template)[1] == "4Gi"
    assert qos_of(template.built()) is qos_of(ASKING.built())


def test_a_second_look_at_the_same_job_changes_nothing() -> None:
    job, state = a_job(), state_of()
    notes = notes_for_job(job)
    assert notes is not None
    once = APod(job).patched(patch_for_new_job(job, notes, Moment(state, "shop"))).built()
    assert patch_for_new_job(once, notes, Moment(state, "shop")) == []


@pytest.mark.parametrize(
    ("need", "request_"),
    [
        pytest.param(2 * GIB, "2253Mi", id="more than was counted"),
        pytest.param(GIB // 2, "564Mi", id="less"),
    ],
)
def test_pods_are_decided_anew_from_what_was_written(need: int, request_: str) -> None:
    pod = after(made(sized(a_job())), state_of(knowledge_of(max_need_bytes=need)))
    assert memory_of(pod) == (request_, request_)


def test_a_lift_reaches_the_next_pod() -> None:
    run = f"job:{JOB_UID}"
    lift = Lift(allocation_bytes=6 * GIB, attempt=2, after_bytes=1127 * MIB)
    state = state_of(replace(knowledge_of(), lifts={run: lift}))
    pod = after(made(sized(a_job())), state)
    assert decision_of(pod)["reason"] == Reason.LIFTED
    assert decision_of(pod)["was"]["request"] == "4Gi"
    assert memory_of(pod) == ("6Gi", "6Gi")


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(knowledge_of(mode=Mode.OFF), id="off"),
        pytest.param(knowledge_of(mode=Mode.RECOMMEND), id="recommend"),
        pytest.param(knowledge_of(paused=True), id="paused"),
        pytest.param(replace(knowledge_of(), runs=0), id="forgotten"),
    ],
)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(ASKING, id="equal"),
        pytest.param(a_pod().asking("4Gi").limited("8Gi"), id="a larger limit"),
        pytest.param(a_pod().asking("4Gi"), id="no limit"),
        pytest.param(a_pod().limited("4Gi"), id="a limit alone"),
    ],
)
def test_a_mode_that_changed_gives_pods_what_was_written(pod: APod, known: Knowledge) -> None:
    template = sized(a_job(pod), state_of(knowledge_of(limits=Limits.KEEP)))
    assert memory_of(template)[0] == FITS
    left = after(made(template), state_of(known))
    wanted = memory_of(pod)
    assert memory_of(left) == ("4Gi" if wanted[0] is None else wanted[0], wanted[1])


def test_the_whole_cluster_paused_does_too() -> None:
    state = state_of()
    template = sized(a_job(), state)
    state.paused = True
    pod = made(template)
    found = size(pod.built(), state)
    assert found.treatment is Treatment.PAUSED
    left = pod.patched(found.patch)
    assert memory_of(left) == ("4Gi", "4Gi")
    assert labels.DECISION not in left.built()["metadata"]["annotations"]


def test_a_limit_that_a_limitrange_gave_its_pods_stays() -> None:
    pod = a_pod().asking("4Gi")
    template = sized(a_job(pod), state_of(knowledge_of(limits=Limits.KEEP)))
    given = made(template).limited("8Gi")
    assert memory_of(after(given, state_of(knowledge_of(mode=Mode.RECOMMEND)))) == ("4Gi", "8Gi")


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(suspend=False), id="it does not wait"),
        pytest.param(a_job(suspend="yes"), id="nor does this"),
        pytest.param(a_job(managedBy="kueue.x-k8s.io/multikueue"), id="made in another cluster"),
        pytest.param(
            a_job(metadata={"labels": {"kueue.x-k8s.io/prebuilt-workload-name": "job-train"}}),
            id="compared with what another cluster counted",
        ),
        pytest.param(
            a_job(metadata={"annotations": {"kueue.x-k8s.io/prebuilt-workload-name": "job-train"}}),
            id="and if an annotation says so",
        ),
        pytest.param(
            a_job(
                metadata={"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
            ),
            id="applied, and may be again",
        ),
        pytest.param(
            a_job(metadata={"managedFields": [{"manager": "flux", "operation": "Apply"}]}),
            id="applied on the server's side",
        ),
        pytest.param(
            a_job(metadata={"managedFields": [{"manager": "HashiCorp", "operation": "Update"}]}),
            id="created by Terraform, which compares",
        ),
        pytest.param(
            a_job(metadata={"ownerReferences": [{"kind": "JobSet", "controller": True}]}),
            id="its owner keeps it",
        ),
        pytest.param({"spec": "no spec", "metadata": []}, id="no Job"),
    ],
)
def test_whose_template_is_not_touched(job: Json) -> None:
    assert not may_wait(job)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(
            {"annotations": {"argocd.argoproj.io/tracking-id": "shop:batch/Job:shop/train"}},
            id="tracked by an annotation",
        ),
        pytest.param(
            {"annotations": {"argocd.argoproj.io/sync-options": "Replace=true"}},
            id="replaced by its own option",
        ),
        pytest.param(
            {"managedFields": [{"manager": "argocd-controller", "operation": "Update"}]},
            id="made by Argo CD",
        ),
        pytest.param(
            {
                "managedFields": [
                    {"manager": "argocd-application-controller", "operation": "Update"}
                ]
            },
            id="made by Argo CD without apply",
        ),
    ],
)
def test_a_job_that_argo_cd_keeps_as_in_git_gets_notes_only(metadata: Json) -> None:
    """With ``Replace=true``, Argo CD creates what it keeps, and does not apply it."""
    known = knowledge_of(killed_attempts=KilledAttempts.IGNORE)
    job = a_job(metadata=metadata)
    after = patched(job, known)
    notes = after["spec"]["template"]["metadata"].pop("annotations")
    assert labels.DECISION not in notes
    assert notes[labels.JOB_ATTEMPTS] == "7"
    assert after == job


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(), id="suspended"),
        pytest.param(a_job(managedBy="kubernetes.io/job-controller"), id="said to be its own"),
        pytest.param(
            a_job(metadata={"labels": {"kueue.x-k8s.io/queue-name": "team"}}),
            id="Kueue counts it here",
        ),
        pytest.param(
            a_job(metadata={"ownerReferences": [{"kind": "CronJob", "controller": True}]}),
            id="a CronJob's",
        ),
        pytest.param(
            a_job(metadata={"managedFields": [{"manager": "kubectl", "operation": "Update"}]}),
            id="created",
        ),
    ],
)
def test_whose_template_may_be_sized(job: Json) -> None:
    assert may_wait(job)


RATIO = {"type": "Container", "maxLimitRequestRatio": {"memory": "2"}}


@pytest.mark.parametrize(
    ("job", "known"),
    [
        pytest.param(a_job(), knowledge_of(mode=Mode.RECOMMEND), id="recommended only"),
        pytest.param(a_job(), knowledge_of(mode=Mode.OFF), id="off"),
        pytest.param(a_job(ASKING.in_mode("recommend")), knowledge_of(), id="by its pods"),
        pytest.param(a_job(), replace(knowledge_of(), runs=0), id="unknown"),
        pytest.param(a_job(a_pod().asking("1Gi")), knowledge_of(), id="it would be raised"),
        pytest.param(a_job(a_pod()), knowledge_of(), id="BestEffort"),
        pytest.param(a_job(ASKING.with_cpu("1", "1")), knowledge_of(), id="Guaranteed"),
        pytest.param(a_job(backoffLimit=0), knowledge_of(), id="nobody tries again"),
        pytest.param(
            a_job(completionMode="Indexed"),
            knowledge_of(feature_sources={"part": {"annotation": INDEX}}),
            id="each index has its size",
        ),
        pytest.param(
            a_job(ASKING.annotated({"note": "x" * 262_144})), knowledge_of(), id="no room"
        ),
    ],
)
def test_what_leaves_a_template_as_it_is(job: Json, known: Knowledge) -> None:
    template = sized(job, state_of(known))
    was = APod({"metadata": {}, "spec": job["spec"]["template"]["spec"]})
    assert memory_of(template) == memory_of(was)
    assert labels.DECISION not in template.built()["metadata"]["annotations"]


def test_a_limitrange_with_a_ratio_leaves_it_as_it_is() -> None:
    bounds = read_namespace([{"spec": {"limits": [RATIO]}}], [])
    state = state_of()
    state.namespaces["shop"] = NamespaceState(policy=None, bounds=bounds)
    assert memory_of(sized(a_job(), state)) == ("4Gi", "4Gi")


def test_nothing_is_lowered_while_nobody_heals() -> None:
    template = sized(a_job(), unhealed="the controller does not answer")
    assert memory_of(template) == ("4Gi", "4Gi")


def test_the_pods_of_an_indexed_job_with_features_of_their_own_are_not_the_templates() -> None:
    known = knowledge_of(feature_sources={"rows": {"annotation": "rows"}})
    template = sized(a_job(completionMode="Indexed"), state_of(known))
    assert memory_of(template)[0] == FITS, "all of them have the same rows"


def test_a_template_copied_from_another_job_is_decided_from_what_was_written() -> None:
    copied = sized(a_job())
    known = knowledge_of(max_need_bytes=2 * GIB)
    again = sized(a_job(copied), state_of(known))
    assert memory_of(again) == ("2253Mi", "4Gi")
    assert decision_of(again)["was"] == {"request": "4Gi", "limit": "4Gi"}


def test_what_somebody_else_wrote_into_the_note_allows_nothing_more() -> None:
    forged = sized(a_job()).asking("64Mi")
    pod = after(made(forged), state_of(knowledge_of(mode=Mode.RECOMMEND)))
    assert memory_of(pod) == ("64Mi", "4Gi"), "the request was changed since: it is its author's"


def test_a_job_that_nobody_labelled_is_sized_by_the_name_that_its_pods_will_have() -> None:
    job = a_job(ASKING.unlabelled(), backoffLimit=3)
    job["spec"]["template"]["metadata"] = {}
    notes = notes_for_unlabelled_job(job)
    assert notes is not None
    patch = patch_for_new_job(job, notes, Moment(state_of(), "shop"))
    template = APod(APod(job).patched(patch).built()["spec"]["template"])
    assert memory_of(template) == (FITS, "4Gi")
    assert "labels" not in template.built()["metadata"]


def patched(job: Json, known: Knowledge) -> Json:
    notes = notes_for_job(job)
    assert notes is not None
    return APod(job).patched(patch_for_new_job(job, notes, Moment(state_of(known), "shop"))).built()


@pytest.mark.parametrize("suspend", [True, False])
def test_a_job_whose_policy_asks_for_it_does_not_count_lowered_attempts(suspend: bool) -> None:
    known = knowledge_of(killed_attempts=KilledAttempts.IGNORE)
    spec = patched(a_job(suspend=suspend), known)["spec"]
    assert spec["podFailurePolicy"] == {"rules": rules()}
    assert spec["template"]["metadata"]["annotations"][labels.UNCOUNTED] == "true"


@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize("whole", [True, False], ids=["the cluster", "the task"])
def test_while_sizing_is_paused_every_attempt_counts(whole: bool, suspend: bool) -> None:
    known = knowledge_of(killed_attempts=KilledAttempts.IGNORE, paused=not whole)
    state = replace(state_of(known), paused=whole)
    job = a_job(suspend=suspend)
    notes = notes_for_job(job)
    assert notes is not None
    after = APod(job).patched(patch_for_new_job(job, notes, Moment(state, "shop"))).built()
    assert "podFailurePolicy" not in after["spec"]
    assert "podReplacementPolicy" not in after["spec"]
    assert labels.UNCOUNTED not in after["spec"]["template"]["metadata"]["annotations"]


def test_a_job_whose_author_wrote_the_rule_gets_the_marks_by_that() -> None:
    job = a_job(suspend=False, podFailurePolicy={"rules": rules()})
    after = patched(job, knowledge_of())
    assert after["spec"]["podFailurePolicy"] == {"rules": rules()}
    assert after["spec"]["template"]["metadata"]["annotations"][labels.UNCOUNTED] == "true"


def test_nobody_asked_and_every_attempt_counts() -> None:
    after = patched(a_job(suspend=False), knowledge_of())
    assert "podFailurePolicy" not in after["spec"]
    assert labels.UNCOUNTED not in after["spec"]["template"]["metadata"]["annotations"]


def test_a_pod_that_admission_never_saw_counts_as_not_decided_and_as_it_was_written() -> None:
    pod = made(sized(a_job())).named("train-1").with_status(phase="Running")
    watched = read_pod(pod.built(), state_of().knowledge_of)
    assert watched is not None
    assert watched.note is None, "no Event says that it was sized"
    assert watched.attempt.request_bytes == 4 * GIB
    assert watched.attempt.written_limit_bytes == watched.limit_bytes == 4 * GIB
