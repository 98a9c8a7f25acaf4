"""The task's policy with what a pod itself says over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from plimsoll_operator.names.labels import CPU_MODE, CRITICAL, MODE, RETRY
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of, said_of
from plimsoll_predictor.core.policy import Mode, Policy, Retry

_POLICY_KEYS: Final = (MODE, CPU_MODE, RETRY, CRITICAL)
_TRUTHS: Final = {"true": True, "false": False}

_Said = TypeVar("_Said", Mode, Retry, bool)


def resolve_policy(pod: Pod, policy: Policy) -> tuple[Policy, str]:
    """The task's policy with what the pod itself says over it, and words for what it ignored.

    The same policy object comes back where the pod says nothing.
    """
    annotations, found = annotations_of(pod), labels_of(pod)
    if annotations.keys().isdisjoint(_POLICY_KEYS) and found.keys().isdisjoint(_POLICY_KEYS):
        return policy, ""
    mode, mode_words = _own(pod, MODE, policy.mode, Mode)
    cpu_mode, cpu_words = _own(pod, CPU_MODE, policy.cpu.mode, Mode)
    retry, retry_words = _own(pod, RETRY, policy.retry, Retry)
    critical, critical_words = _own(pod, CRITICAL, policy.critical, _truth)
    own = replace(
        policy,
        mode=mode,
        retry=retry,
        critical=critical,
        cpu=replace(policy.cpu, mode=cpu_mode),
    )
    words = (mode_words, cpu_words, retry_words, critical_words)
    return policy if own == policy else own, "; ".join(each for each in words if each)


def _truth(text: str) -> bool:
    if text not in _TRUTHS:
        raise ValueError(text)
    return _TRUTHS[text]


_KNOWN: Final = {Mode: ", ".join(Mode), Retry: ", ".join(Retry), _truth: ", ".join(_TRUTHS)}


def _own(pod: Pod, key: str, inherited: _Said, reader: Callable[[str], _Said]) -> tuple[_Said, str]:
    text = said_of(pod, key)
    if text is None:
        return inherited, ""
    try:
        return reader(text), ""
    except ValueError:
        return inherited, f"{key}: {text[:32]!r} is none of {_KNOWN[reader]} and was ignored"
