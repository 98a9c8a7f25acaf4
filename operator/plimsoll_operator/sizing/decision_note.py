"""Writes and reads the annotation with a pod's decision and its reason.

Anybody who may create pods may write it, too. So a text that Plimsoll would not have written counts
as absent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

import orjson
from msgspec import Meta

from plimsoll_operator.names import labels
from plimsoll_operator.names.labels import MAX_ALL_ANNOTATIONS_BYTES
from plimsoll_operator.names.quantity import (
    format_bytes,
    format_millicores,
    parse_bytes,
    parse_millicores,
    quantity_or_none,
)
from plimsoll_operator.pods.spec import Pod, SizedContainer, annotations_of, mapping
from plimsoll_operator.pods.workflow_items import Context
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.cpu import CpuReason

MAX_ANNOTATION_CHARS: Final = 4096
MAX_WHY_CHARS: Final = 512
MAX_CPU_WHY_CHARS: Final = 256
MAX_ATTEMPT: Final = 1000

_MOST_BYTES_A_CHAR: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuNote:
    """One CPU decision as its pod has it.

    request_millicores: the decided request; None if nothing was decided.
    was_millicores: the user's request; None if there was none.
    """

    request_millicores: int | None
    was_millicores: int | None
    mode: Mode
    reason: CpuReason
    why: Annotated[str, Meta(max_length=MAX_CPU_WHY_CHARS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionNote:
    """One decision as its pod has it.

    run: the run's key; None for a bare first pod, which had no UID when it was decided.
    allocation_bytes: None if nothing was decided.
    was_request_bytes, was_limit_bytes: the user's own; None if there were none.
    bin: index of the model's ceiling, from 0. probability: that the need is not above it.
    model: the model's version; None if no model chose.
    before_bytes: the container's request before the pod was decided again while it waited; None if
        the decision is admission's. It is written before the container is resized, so that the
        user's request is known at every moment.
    own_limit_bytes: a limit that Plimsoll wrote with an earlier decision and that the container
        still had when it was decided again while it waited; None if the other fields say whose
        its limit is. Before Kubernetes 1.34 a limit stays, however often the request falls.
    cpu: the decision on its CPU; None if there was none.
    context: features that nobody wrote on the pod, as known at the decision. The observation gets
        exactly these, and nothing that was learned later.
    template: whether it was decided for a suspended Job's template (see ``job_sizing``), so
        that admission has not decided on the pod itself.
    """

    task: str
    run: str | None
    attempt: Annotated[int, Meta(ge=1, le=MAX_ATTEMPT)]
    allocation_bytes: int | None
    was_request_bytes: int | None
    was_limit_bytes: int | None
    bin: int | None
    probability: Annotated[float, Meta(ge=0, le=1)] | None
    model: str | None
    reason: Reason
    why: Annotated[str, Meta(max_length=MAX_WHY_CHARS)]
    mode: Mode
    container: str
    before_bytes: int | None = None
    own_limit_bytes: int | None = None
    cpu: CpuNote | None = None
    context: Context = field(default_factory=dict)
    template: bool = False

    def without_model(self) -> DecisionNote:
        """Return it as if no model had chosen, for a size that a rule decides instead."""
        return replace(self, bin=None, probability=None, model=None)


def note_to_json(note: DecisionNote) -> str:
    """Return the annotation's text: one JSON object, with quantities as texts, short to read."""
    cpu = note.cpu
    document: dict[str, Any] = {
        "task": note.task,
        "run": note.run,
        "attempt": note.attempt,
        "container": note.container,
        "allocation": quantity_or_none(note.allocation_bytes, format_bytes),
        "was": {
            "request": quantity_or_none(note.was_request_bytes, format_bytes),
            "limit": quantity_or_none(note.was_limit_bytes, format_bytes),
        },
        "bin": note.bin,
        "probability": None if note.probability is None else round(note.probability, 4),
        "model": note.model,
        "mode": note.mode,
        "reason": note.reason,
        "why": note.why[:MAX_WHY_CHARS],
    }
    if note.before_bytes is not None:
        document["before"] = format_bytes(note.before_bytes)
    if note.own_limit_bytes is not None:
        document["limit"] = format_bytes(note.own_limit_bytes)
    if cpu is not None:
        document["cpu"] = {
            "request": quantity_or_none(cpu.request_millicores, format_millicores),
            "was": quantity_or_none(cpu.was_millicores, format_millicores),
            "mode": cpu.mode,
            "reason": cpu.reason,
            "why": cpu.why[:MAX_CPU_WHY_CHARS],
        }
    if note.context:
        document["context"] = {name: round(size) for name, size in note.context.items()}
    if note.template:
        document["template"] = True
    return orjson.dumps(document).decode()


def read_note(pod: Pod) -> DecisionNote | None:
    """Return the decision written on a pod; None unless Plimsoll could have written it."""
    text = annotations_of(pod).get(labels.DECISION)
    return note_from_json(text) if isinstance(text, str) else None


def has_room(pod: Pod, text: str) -> bool:
    """Say whether ``text`` fits on the pod, or whether the pod already has too much without it."""
    annotations = annotations_of(pod)
    chars = sum(map(len, annotations)) + sum(len(str(value)) for value in annotations.values())
    if (chars + len(text) + len(labels.DECISION)) * _MOST_BYTES_A_CHAR <= MAX_ALL_ANNOTATIONS_BYTES:
        return True  # nearly always so; then nothing needs to be encoded
    others = (item for item in annotations.items() if item[0] != labels.DECISION)
    taken = sum(_bytes_of(key) + _bytes_of(str(value)) for key, value in others)
    left = MAX_ALL_ANNOTATIONS_BYTES - taken
    return left < 0 or len(labels.DECISION) + len(text.encode()) <= left


def _bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def note_from_json(text: str) -> DecisionNote | None:
    """Read what ``note_to_json`` wrote; None for anything that it would not have written."""
    if len(text) > MAX_ANNOTATION_CHARS:
        return None
    try:
        written = mapping(orjson.loads(text))
        was, cpu = mapping(written["was"]), written.get("cpu")
        if cpu is not None:
            cpu = {
                **mapping(cpu),
                "why": cpu["why"][:MAX_CPU_WHY_CHARS],
                "request_millicores": _read(cpu["request"], parse_millicores),
                "was_millicores": _read(cpu["was"], parse_millicores),
            }
        fields = {
            **written,
            # Somebody may have made it long; what the user asked for must stay known.
            "why": written["why"][:MAX_WHY_CHARS],
            "allocation_bytes": _read(written["allocation"], parse_bytes),
            "was_request_bytes": _read(was["request"], parse_bytes),
            "was_limit_bytes": _read(was["limit"], parse_bytes),
            "before_bytes": _read(written.get("before"), parse_bytes),
            "own_limit_bytes": _read(written.get("limit"), parse_bytes),
            "cpu": cpu,
        }
        return from_document(DecisionNote, fields, "decision")
    except (LookupError, TypeError, ValueError):
        return None


def _read(quantity: object, parse: Callable[[object], int]) -> int | None:
    return None if quantity is None else parse(quantity)


def memory_asked(container: SizedContainer, note: DecisionNote | None) -> Memory:
    """Return the user's request and limit: the container's, unless Plimsoll wrote those."""
    if note is not None and has_decided(container, note) and not _raised_since(container, note):
        return memory_noted(container, note)
    return Memory(container.request_bytes, container.limit_bytes)


def has_decided(container: SizedContainer, note: DecisionNote) -> bool:
    """Say whether the container's request is the one that Plimsoll wrote with this note."""
    return (
        note.mode is Mode.ENFORCE
        and note.container == container.name
        and None not in (note.allocation_bytes, container.request_bytes)
        and container.request_bytes in (note.allocation_bytes, note.before_bytes)
    )


def memory_noted(container: SizedContainer, note: DecisionNote) -> Memory:
    """Return the user's request and limit from the note."""
    # A LimitRange gives a limit to pods, not to templates.
    filled = note.template and note.was_limit_bytes is None
    filled = filled or _was_filled_in(container.limit_bytes, note)
    return Memory(note.was_request_bytes, container.limit_bytes if filled else note.was_limit_bytes)


def _was_filled_in(limit_bytes: int | None, note: DecisionNote) -> bool:
    """Say whether another webhook wrote the limit beside the author's request."""
    if note.was_limit_bytes is not None or note.was_request_bytes is None:
        return False
    return (limit_bytes or 0) >= note.was_request_bytes and not is_own_limit(limit_bytes, note)


def is_own_limit(limit_bytes: int | None, note: DecisionNote) -> bool:
    """Say whether a limit is the author's, or was written by Plimsoll with this note or before."""
    if limit_bytes == note.was_limit_bytes:
        return True
    # A limit may be a little above the size, to keep the pod's class.
    return limit_bytes is not None and any(
        size_bytes is not None and 0 <= limit_bytes - size_bytes <= MIB
        for size_bytes in _sizes(note)
    )


def _sizes(note: DecisionNote) -> tuple[int | None, ...]:
    """Return what Plimsoll may have written as the container's limit, by this note."""
    return note.allocation_bytes, note.before_bytes, note.own_limit_bytes


def with_own_limit(
    note: DecisionNote, container: SizedContainer, before: DecisionNote | None
) -> DecisionNote:
    """Return the note for a container that is decided again, with its limit if Plimsoll wrote that.

    Once the request has changed twice, nothing else in the note says whose that limit is.

    before: the note that the container has now.
    """
    note, limit_bytes = replace(note, own_limit_bytes=None), container.limit_bytes
    if before is None or not has_decided(container, before) or is_own_limit(limit_bytes, note):
        return note
    own = is_own_limit(limit_bytes, before)
    return replace(note, own_limit_bytes=limit_bytes) if own else note


def _raised_since(container: SizedContainer, note: DecisionNote) -> bool:
    """Say whether somebody has written a limit above all limits in the note."""
    most_bytes = max(size_bytes or 0 for size_bytes in (note.was_limit_bytes, *_sizes(note)))
    # A limit may be a little above the size, to keep the pod's class.
    return note.was_limit_bytes is not None and (container.limit_bytes or 0) > most_bytes + MIB
