"""A pod's own words win over its task's policy."""

from __future__ import annotations

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_predictor.core.policy import Mode, Policy, Retry
from tests.builders.pods import a_pod


def test_a_pod_that_says_nothing_gets_the_very_policy_of_its_task() -> None:
    policy = Policy(critical=True)
    found, words = resolve_policy(a_pod().built(), policy)
    assert found is policy
    assert words == ""


@pytest.mark.parametrize("by", ["label", "annotation"])
def test_a_pod_can_say_that_it_is_critical(by: str) -> None:
    said = {labels.CRITICAL: "true"}
    pod = a_pod().with_labels(said) if by == "label" else a_pod().annotated(said)
    policy, words = resolve_policy(pod.built(), Policy(first_size=0.75))
    assert (policy, words) == (Policy(first_size=0.75, critical=True), "")


def test_a_pod_can_say_that_it_is_not_critical_though_its_task_is() -> None:
    pod = a_pod().annotated({labels.CRITICAL: "false"})
    assert not resolve_policy(pod.built(), Policy(critical=True))[0].critical


@pytest.mark.parametrize("inherited", [True, False])
def test_an_unknown_word_leaves_the_tasks_own_and_is_said(*, inherited: bool) -> None:
    pod = a_pod().annotated({labels.CRITICAL: "very"})
    policy, words = resolve_policy(pod.built(), Policy(critical=inherited))
    assert policy.critical is inherited
    assert words == "plimsoll.dev/critical: 'very' is none of true, false and was ignored"


@pytest.mark.parametrize("text", ["three", "0", "-1", "9999999999"])
def test_a_number_of_attempts_that_is_none_is_said(text: str) -> None:
    policy = Policy(attempts=2)
    found, words = resolve_policy(a_pod().annotated({labels.ATTEMPTS: text}).built(), policy)
    assert found is policy
    said = f"plimsoll.dev/attempts: '{text}' is no whole number from 1 to 999,999,999"
    assert words == f"{said} and was ignored"
    assert resolve_policy(a_pod().annotated({labels.ATTEMPTS: "3"}).built(), policy)[1] == ""


def test_all_that_a_pod_says_is_taken_up_together() -> None:
    said = {
        labels.MODE: "enforce",
        labels.CPU_MODE: "off",
        labels.RETRY: "never",
        labels.CRITICAL: "true",
    }
    policy, words = resolve_policy(a_pod().annotated(said).built(), Policy(min_runs=7))
    assert (policy.mode, policy.cpu.mode, policy.retry) == (Mode.ENFORCE, Mode.OFF, Retry.NEVER)
    assert (policy.critical, policy.min_runs, words) == (True, 7, "")
