"""Lays a pod's own settings over its task's policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from plimsoll_operator.names.labels import ATTEMPTS, CPU_MODE, CRITICAL, MODE, RETRY
from plimsoll_operator.pods.attempts import MOST_SHOWN, unread_attempts
from plimsoll_operator.pods.spec import Pod, annotations_of, labels_of, text_of
from plimsoll_predictor.core.policy import Mode, Policy, Retry

_TRUTHS: Final = {"true": True, "false": False}
_WORDS: Final[Mapping[str, Iterable[str]]] = {
    MODE: Mode,
    CPU_MODE: Mode,
    RETRY: Retry,
    CRITICAL: _TRUTHS,
}
"""The words that each key may have."""
_KEYS: Final = {*_WORDS, ATTEMPTS}

_Value = TypeVar("_Value", Mode, Retry, bool)


def resolve_policy(pod: Pod, policy: Policy) -> tuple[Policy, str]:
    """Return the task's policy with the pod's own settings, and words for what was ignored.

    If the pod sets nothing, the result is the same policy object.
    """
    annotations, pod_labels = annotations_of(pod), labels_of(pod)
    if annotations.keys().isdisjoint(_KEYS) and pod_labels.keys().isdisjoint(_KEYS):
        return policy, ""
    ignored: list[str] = []
    own = replace(
        policy,
        mode=_own(pod, MODE, policy.mode, Mode, ignored),
        cpu=replace(policy.cpu, mode=_own(pod, CPU_MODE, policy.cpu.mode, Mode, ignored)),
        retry=_own(pod, RETRY, policy.retry, Retry, ignored),
        critical=_own(pod, CRITICAL, policy.critical, _TRUTHS.__getitem__, ignored),
    )
    unread = unread_attempts(pod)
    if unread is not None:
        ignored.append(f"{unread} and was ignored")
    return policy if own == policy else own, "; ".join(ignored)


def _own(
    pod: Pod, key: str, inherited: _Value, read: Callable[[str], _Value], ignored: list[str]
) -> _Value:
    text = text_of(pod, key)
    if text is None:
        return inherited
    try:
        return read(text)
    except (ValueError, KeyError):
        words = ", ".join(_WORDS[key])
        ignored.append(f"{key}: {text[:MOST_SHOWN]!r} is none of {words} and was ignored")
        return inherited
