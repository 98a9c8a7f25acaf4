"""The task's policy with what a pod itself says over it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from plimsoll_operator.labels import CPU_MODE, MODE, RETRY
from plimsoll_operator.podspec import Pod, annotations_of, labels_of, said_of
from plimsoll_predictor.policy import Mode, Policy, Retry

_POLICY_KEYS: Final = (MODE, CPU_MODE, RETRY)

_Choice = TypeVar("_Choice", Mode, Retry)


def resolve_policy(pod: Pod, policy: Policy) -> tuple[Policy, str]:
    """The task's policy with the pod's own modes and retry over it, and words for what it ignored.

    The same policy object comes back where the pod says nothing.
    """
    annotations, found = annotations_of(pod), labels_of(pod)
    if annotations.keys().isdisjoint(_POLICY_KEYS) and found.keys().isdisjoint(_POLICY_KEYS):
        return policy, ""
    mode, mode_words = _own(pod, MODE, policy.mode, Mode)
    retry, retry_words = _own(pod, RETRY, policy.retry, Retry)
    cpu_mode, cpu_words = _own(pod, CPU_MODE, policy.cpu.mode, Mode)
    if (mode, cpu_mode, retry) != (policy.mode, policy.cpu.mode, policy.retry):
        cpu = replace(policy.cpu, mode=cpu_mode)
        policy = replace(policy, mode=mode, retry=retry, cpu=cpu)
    return policy, "; ".join(words for words in (mode_words, cpu_words, retry_words) if words)


def _own(pod: Pod, key: str, inherited: _Choice, kind: type[_Choice]) -> tuple[_Choice, str]:
    text = said_of(pod, key)
    if text is None:
        return inherited, ""
    try:
        return kind(text), ""
    except ValueError:
        known = ", ".join(kind)
        return inherited, f"{key}: {text[:32]!r} is none of {known} and was ignored"
