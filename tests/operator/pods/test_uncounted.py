"""A Job that does not count failures at a lowered limit: whose Job, and by which rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.job_attempts import attempts_of_job
from plimsoll_operator.pods.uncounted import (
    MOST_RULES,
    ignores_lowered,
    patch_for_failures,
    rules,
    unread_killed_attempts,
    wants_ignored,
)
from plimsoll_predictor.core.policy import KilledAttempts, Mode, Policy
from tests.builders.pods import APod

COUNT, IGNORE = "count", "ignore"
ENFORCED = Policy(mode=Mode.ENFORCE)
ASKED = Policy(mode=Mode.ENFORCE, killed_attempts=KilledAttempts.IGNORE)
AT_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
EVICTED = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}

Json = dict[str, Any]


def a_job(restart: str = "Never", said: str | None = None, **spec: Any) -> Json:
    metadata: Json = {"name": "train"}
    if said is not None:
        metadata["annotations"] = {labels.KILLED_ATTEMPTS: said}
    template = {"metadata": {}, "spec": {"restartPolicy": restart}}
    return {"metadata": metadata, "spec": {**spec, "template": template}}


def after(job: Json) -> Json:
    return APod(job).patched(patch_for_failures(job)).built()


def test_the_rules_are_added_with_what_the_api_server_asks_beside_them() -> None:
    spec = after(a_job(backoffLimit=2))["spec"]
    assert spec["podFailurePolicy"] == {"rules": rules()}
    assert spec["podReplacementPolicy"] == "Failed"
    assert [rule["action"] for rule in rules()] == ["Count", "Ignore"], "evictions count before"


def test_the_jobs_own_rules_come_first() -> None:
    job = a_job(podFailurePolicy={"rules": [AT_42, EVICTED]}, podReplacementPolicy="Failed")
    spec = after(job)["spec"]
    assert spec["podFailurePolicy"]["rules"] == [AT_42, EVICTED, *rules()]
    assert ignores_lowered(after(job))


def test_a_second_look_adds_nothing() -> None:
    assert patch_for_failures(after(a_job())) == []


def test_no_attempt_is_risked_for_it() -> None:
    """A pod that is killed before it was marked counts, so the number of sure attempts stays."""
    for job in (a_job(backoffLimit=0), a_job(backoffLimit=2)):
        assert attempts_of_job(after(job)) == attempts_of_job(job)


FULL = {"rules": [EVICTED] * (MOST_RULES - 1)}


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job("OnFailure"), id="the kubelet restarts it in place"),
        pytest.param(a_job(podFailurePolicy=FULL), id="it has as many rules as it may"),
        pytest.param(a_job(managedBy="kueue.x-k8s.io/multikueue"), id="made in another cluster"),
        pytest.param(
            {**a_job(), "metadata": {"managedFields": [{"operation": "Apply"}]}}, id="applied"
        ),
    ],
)
def test_whose_failures_count_whatever_is_wanted(job: Json) -> None:
    assert patch_for_failures(job) == []


@pytest.mark.parametrize(
    ("job", "policy", "wanted"),
    [
        pytest.param(a_job(), ENFORCED, False, id="by default"),
        pytest.param(a_job(), ASKED, True, id="its policy"),
        pytest.param(a_job(said=IGNORE), ENFORCED, True, id="the Job"),
        pytest.param(a_job(said=COUNT), ASKED, False, id="the Job against its policy"),
        pytest.param(a_job(said="always"), ASKED, False, id="a word that is none"),
        pytest.param(a_job(said=IGNORE), Policy(mode=Mode.RECOMMEND), False, id="recommended"),
        pytest.param(a_job(said=IGNORE), Policy(mode=Mode.OFF), False, id="off"),
        pytest.param(a_job(said=IGNORE), replace(ASKED, paused=True), False, id="paused"),
    ],
)
def test_who_wants_it(job: Json, policy: Policy, wanted: bool) -> None:
    assert wants_ignored(job, policy) is wanted


@pytest.mark.parametrize("said", ["Ignore", "yes"])
def test_a_word_that_is_none_is_said(said: str) -> None:
    words = unread_killed_attempts(a_job(said=said))
    assert words == f"{labels.KILLED_ATTEMPTS}: '{said}' is none of count, ignore, so they count"


@pytest.mark.parametrize("said", [None, COUNT, IGNORE])
def test_a_word_that_is_known_is_not_warned_of(said: str | None) -> None:
    assert unread_killed_attempts(a_job(said=said)) is None


def test_its_template_may_say_it_too() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"] = {"annotations": {labels.KILLED_ATTEMPTS: IGNORE}}
    assert wants_ignored(job, ENFORCED)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(None, id="none"),
        pytest.param({"rules": [AT_42, EVICTED]}, id="other rules"),
        pytest.param({"rules": "none"}, id="no rules"),
        pytest.param(
            {"rules": [{"action": "Count", "onPodConditions": [{"type": labels.LOWERED}]}]},
            id="it counts them",
        ),
        pytest.param(
            {
                "rules": [
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": labels.LOWERED, "status": "False"}],
                    }
                ]
            },
            id="those without the mark",
        ),
    ],
)
def test_which_policies_do_not_go_by_the_mark(policy: object) -> None:
    assert not ignores_lowered(a_job(podFailurePolicy=policy))
