"""The annotation that Plimsoll writes on a pod: what was decided, and why.

Anybody who may create pods may write it as well. A text that Plimsoll would not have written
therefore counts as absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final, TypeAlias

import msgspec
import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import (
    format_bytes,
    format_millicores,
    parse_bytes,
    parse_millicores,
)
from plimsoll_operator.pods.spec import Pod, annotations_of
from plimsoll_operator.pods.workflow_items import Context, WrittenContext
from plimsoll_predictor.core.cpu import CpuReason
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.policy import Mode

MAX_ANNOTATION_CHARS: Final = 4096
MAX_WHY_CHARS: Final = 512
MAX_CPU_WHY_CHARS: Final = 256
MAX_ATTEMPT: Final = 1000
MAX_ALL_ANNOTATIONS_BYTES: Final = 262_144
"""Names and values of one object's annotations; the API server refuses a pod with more."""

_MOST_BYTES_A_CHAR: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuNote:
    """One CPU decision as it stands on its pod.

    request_millicores: what was decided; None if nothing was.
    was_millicores: what the user asked; None if nothing.
    """

    request_millicores: int | None
    was_millicores: int | None
    mode: Mode
    reason: CpuReason
    why: str


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


_Quantity: TypeAlias = str | int | None


class _Written(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The annotation's fields, in the order in which they are written. Quantities are texts."""

    task: str
    run: str | None
    attempt: Annotated[int, msgspec.Meta(ge=1, le=MAX_ATTEMPT)]
    container: str
    allocation: _Quantity
    was: _Was
    bin: int | None
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    model: str | None
    mode: Mode
    reason: Reason
    why: str
    before: _Quantity = None
    cpu: _WrittenCpu | None = None
    context: WrittenContext = {}


class _Was(msgspec.Struct):
    request: _Quantity
    limit: _Quantity


class _WrittenCpu(msgspec.Struct):
    request: _Quantity
    was: _Quantity
    mode: Mode
    reason: CpuReason
    why: str


def note_to_json(note: DecisionNote) -> str:
    """The annotation's text: one JSON object, memory as quantities, short enough to read."""
    cpu = note.cpu
    written = _Written(
        task=note.task,
        run=note.run,
        attempt=note.attempt,
        container=note.container,
        allocation=_memory(note.allocation_bytes),
        was=_Was(_memory(note.was_request_bytes), _memory(note.was_limit_bytes)),
        bin=note.bin,
        probability=None if note.probability is None else round(note.probability, 4),
        model=note.model,
        mode=note.mode,
        reason=note.reason,
        why=note.why[:MAX_WHY_CHARS],
        before=_memory(note.before_bytes),
        cpu=None
        if cpu is None
        else _WrittenCpu(
            _cpu(cpu.request_millicores),
            _cpu(cpu.was_millicores),
            cpu.mode,
            cpu.reason,
            cpu.why[:MAX_CPU_WHY_CHARS],
        ),
        context={name: round(need_bytes) for name, need_bytes in note.context.items()},
    )
    return orjson.dumps(to_document(written)).decode()


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
        return _note(from_document(_Written, orjson.loads(text), "decision"))
    except ValueError:
        return None


def _note(written: _Written) -> DecisionNote:
    cpu = written.cpu
    return DecisionNote(
        task=written.task,
        run=written.run,
        attempt=written.attempt,
        allocation_bytes=_bytes(written.allocation),
        was_request_bytes=_bytes(written.was.request),
        was_limit_bytes=_bytes(written.was.limit),
        bin=written.bin,
        probability=written.probability,
        model=written.model,
        reason=written.reason,
        why=written.why[:MAX_WHY_CHARS],
        mode=written.mode,
        container=written.container,
        before_bytes=_bytes(written.before),
        cpu=None
        if cpu is None
        else CpuNote(
            request_millicores=_millicores(cpu.request),
            was_millicores=_millicores(cpu.was),
            mode=cpu.mode,
            reason=cpu.reason,
            why=cpu.why[:MAX_CPU_WHY_CHARS],
        ),
        context=written.context,
    )


def _memory(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else format_bytes(size_bytes)


def _cpu(millicores: int | None) -> str | None:
    return None if millicores is None else format_millicores(millicores)


def _bytes(quantity: _Quantity) -> int | None:
    return None if quantity is None else parse_bytes(quantity)


def _millicores(quantity: _Quantity) -> int | None:
    return None if quantity is None else parse_millicores(quantity)
