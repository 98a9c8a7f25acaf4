"""What a decision's annotation says of CPU. Read back, it is as untrusted as the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import format_millicores, parse_millicores
from plimsoll_predictor.core.cpu import CpuReason
from plimsoll_predictor.core.policy import Mode

MAX_WHY_CHARS: Final = 256


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


def cpu_note_to_dict(note: CpuNote) -> dict[str, Any]:
    """Plain JSON types, CPU as quantities."""
    return {
        "request": _quantity(note.request_millicores),
        "was": _quantity(note.was_millicores),
        "mode": note.mode.value,
        "reason": note.reason.value,
        "why": note.why[:MAX_WHY_CHARS],
    }


def cpu_note_from_dict(data: Mapping[str, Any]) -> CpuNote:
    """Inverse of ``cpu_note_to_dict``; KeyError, TypeError or ValueError on foreign data."""
    why = data["why"]
    if not isinstance(why, str):
        raise TypeError(f"{why!r:.60} is no text")
    return CpuNote(
        request_millicores=_millicores(data["request"]),
        was_millicores=_millicores(data["was"]),
        mode=Mode(data["mode"]),
        reason=CpuReason(data["reason"]),
        why=why[:MAX_WHY_CHARS],
    )


def _quantity(millicores: int | None) -> str | None:
    return None if millicores is None else format_millicores(millicores)


def _millicores(value: object) -> int | None:
    return None if value is None else parse_millicores(value)
