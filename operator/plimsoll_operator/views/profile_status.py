"""A TaskProfile's status, read in one place for all that show it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from plimsoll_operator.names.conditions import is_trouble, read_conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileStatus:
    """The fields of a status. A field is None if absent, or if this version cannot read it.

    causes: why attempts did not succeed lately, in words. killed_below_request: how many runs had
    an attempt killed at a size below their request, and what an error budget allows.
    saved, asks, would_save, runtime: in words. asks: that the task asks for too little.
    would_runs: runs that recommend mode decided, and whose need is known. would_kill: those of
    them that the first size would have killed.
    held_gb_h, asked_gb_h: memory-time of the last few hundred runs that were sized, and what their
    requests would have held. guarded: why the task must use a simple rule, in words.
    troubles: sentences, each with the condition's reason.
    """

    task: str | None
    mode: str | None
    phase: str | None
    runs: int
    oom_kills: int
    causes: str | None
    killed_below_request: str | None
    saved: str | None
    saved_gb_h: float | None
    held_gb_h: float
    asked_gb_h: float
    guarded: str | None
    asks: str | None
    would_runs: int
    would_save: str | None
    would_save_gb_h: float | None
    would_asked_gb_h: float | None
    would_kill: int | None
    would_kill_share: float | None
    model: str | None
    champion: str | None
    runtime: str | None
    runtime_p50_s: float | None
    last_decision: str | None
    troubles: tuple[str, ...]

    @classmethod
    def read(cls, status: Mapping[str, Any]) -> Self:
        """Read a status as the API server has it; an empty one without a profile."""
        runtime, decisions = status.get("runtime"), status.get("lastDecisions")
        newest = decisions[0] if isinstance(decisions, list) and decisions else None
        forecast = _map(runtime)
        return cls(
            task=_text(status.get("task")),
            mode=_text(status.get("mode")),
            phase=_text(status.get("phase")),
            runs=_whole(status.get("runs")) or 0,
            oom_kills=_whole(status.get("oomKills")) or 0,
            causes=_text(status.get("causes")),
            killed_below_request=_text(_map(status.get("killedBelowRequest")).get("text")),
            saved=_text(status.get("saved")),
            saved_gb_h=_number(status.get("savedGbH")),
            held_gb_h=_number(_map(status.get("lately")).get("heldGbH")) or 0.0,
            asked_gb_h=_number(_map(status.get("lately")).get("askedGbH")) or 0.0,
            guarded=_text(status.get("guarded")),
            asks=_text(status.get("asks")),
            would_runs=_whole(status.get("wouldRuns")) or 0,
            would_save=_text(status.get("wouldSave")),
            would_save_gb_h=_number(status.get("wouldSaveGbH")),
            would_asked_gb_h=_number(status.get("wouldAskedGbH")),
            would_kill=_whole(status.get("wouldKill")),
            would_kill_share=_number(status.get("wouldKillShare")),
            model=_text(status.get("model")),
            champion=_text(status.get("champion")),
            runtime=_text(forecast.get("text")),
            runtime_p50_s=_number(forecast.get("p50Seconds")),
            last_decision=_text(newest),
            troubles=tuple(
                f"{each.get('reason') or each['type']}: {each.get('message')}"
                for each in read_conditions(status.get("conditions"))
                if is_trouble(each)
            ),
        )


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
