"""The annotation that Plimsoll writes on a pod: what was decided, and why.

Read back it is untrusted: anybody who may create pods may write it. What does not have the right
shape counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import BadQuantity, format_bytes, parse_bytes
from plimsoll_operator.pods.spec import Pod, annotations_of, mapping
from plimsoll_operator.pods.workflow_items import Context, read_context
from plimsoll_operator.sizing.cpu_note import CpuNote, cpu_note_from_dict, cpu_note_to_dict
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode

MAX_ANNOTATION_CHARS: Final = 4096
MAX_WHY_CHARS: Final = 512
MAX_ATTEMPT: Final = 1000
MAX_ALL_ANNOTATIONS_BYTES: Final = 262_144
"""Names and values of one object's annotations; the API server refuses a pod with more."""

_MOST_BYTES_A_CHAR: Final = 4

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionNote:
    """One decision as it stands on its pod.

    run: the run's key; None for a bare first pod, which had no UID when it was decided.
    allocation_bytes: None if nothing was decided.
    was_request_bytes, was_limit_bytes: what the user asked; None if nothing.
    bin: which ceiling of the model, from 0; probability: that the need lies at or below it.
    model: the model's version; None if no model chose.
    before_bytes: the container's request when it was decided again while it waited. Written before
        the container is resized, so that what the user asked is known at every moment; None if
        the decision is admission's.
    cpu: what was decided of its CPU; None if nothing was.
    context: features that nobody wrote on the pod, as they were known when it was decided; the
        observation gets just these, so that nothing learned later can slip in.
    """

    task: str
    run: str | None
    attempt: int
    allocation_bytes: int | None
    was_request_bytes: int | None
    was_limit_bytes: int | None
    bin: int | None
    probability: float | None
    model: str | None
    reason: Reason
    why: str
    mode: Mode
    container: str
    before_bytes: int | None = None
    cpu: CpuNote | None = None
    context: Context = field(default_factory=dict)


def note_to_json(note: DecisionNote) -> str:
    """The annotation's text: one JSON object, memory as quantities, short enough to read."""
    before = {} if note.before_bytes is None else {"before": _quantity(note.before_bytes)}
    cpu = {} if note.cpu is None else {"cpu": cpu_note_to_dict(note.cpu)}
    context = {name: round(need_bytes) for name, need_bytes in note.context.items()}
    return orjson.dumps(
        {
            "task": note.task,
            "run": note.run,
            "attempt": note.attempt,
            "container": note.container,
            "allocation": _quantity(note.allocation_bytes),
            "was": {
                "request": _quantity(note.was_request_bytes),
                "limit": _quantity(note.was_limit_bytes),
            },
            "bin": note.bin,
            "probability": None if note.probability is None else round(note.probability, 4),
            "model": note.model,
            "mode": note.mode.value,
            "reason": note.reason.value,
            "why": note.why[:MAX_WHY_CHARS],
            **before,
            **cpu,
            **({"context": context} if context else {}),
        }
    ).decode()


def read_note(pod: Pod) -> DecisionNote | None:
    """The decision written on a pod; None if there is none, or it is not one of ours."""
    text = annotations_of(pod).get(labels.DECISION)
    return note_from_json(text) if isinstance(text, str) else None


def has_room(pod: Pod, text: str) -> bool:
    """False if the API server would take the pod as it is, but not with the annotation ``text``."""
    annotations = annotations_of(pod)
    chars = sum(map(len, annotations)) + sum(len(str(value)) for value in annotations.values())
    if (chars + len(text) + len(labels.DECISION)) * _MOST_BYTES_A_CHAR <= MAX_ALL_ANNOTATIONS_BYTES:
        return True  # as nearly always: nothing needs to be encoded to know it
    others = (item for item in annotations.items() if item[0] != labels.DECISION)
    taken = sum(len(key.encode()) + len(str(value).encode()) for key, value in others)
    left = MAX_ALL_ANNOTATIONS_BYTES - taken
    return left < 0 or len(labels.DECISION) + len(text.encode()) <= left


def note_from_json(text: str) -> DecisionNote | None:
    """Inverse of ``note_to_json``; None for anything that it would not have written."""
    if len(text) > MAX_ANNOTATION_CHARS:
        return None
    try:
        data = orjson.loads(text)
        return _note(mapping(data))
    except (orjson.JSONDecodeError, BadQuantity, KeyError, TypeError, ValueError):
        return None


def _note(data: Mapping[str, Any]) -> DecisionNote:
    was = mapping(data["was"])
    attempt = _checked(data["attempt"], int)
    probability, cpu = data["probability"], data.get("cpu")
    if not 1 <= attempt <= MAX_ATTEMPT:
        raise ValueError("attempt out of range")
    if probability is not None and not 0 <= float(probability) <= 1:
        raise ValueError("probability out of range")
    return DecisionNote(
        task=_checked(data["task"], str),
        run=_maybe(data["run"], str),
        attempt=attempt,
        allocation_bytes=_bytes(data["allocation"]),
        was_request_bytes=_bytes(was["request"]),
        was_limit_bytes=_bytes(was["limit"]),
        bin=_maybe(data["bin"], int),
        probability=None if probability is None else float(probability),
        model=_maybe(data["model"], str),
        reason=Reason(data["reason"]),
        why=_checked(data["why"], str)[:MAX_WHY_CHARS],
        mode=Mode(data["mode"]),
        container=_checked(data["container"], str),
        before_bytes=_bytes(data.get("before")),
        cpu=None if cpu is None else cpu_note_from_dict(mapping(cpu)),
        context=read_context(data.get("context", {})),
    )


def _checked(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value


def _maybe(value: object, kind: type[_T]) -> _T | None:
    return None if value is None else _checked(value, kind)


def _quantity(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else format_bytes(size_bytes)


def _bytes(value: object) -> int | None:
    return None if value is None else parse_bytes(value)
