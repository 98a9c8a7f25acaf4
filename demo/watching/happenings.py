"""What has just happened, in words for the screen. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from demo.watching.watch import Attempt, AttemptState, RunView

from plimsoll_predictor.core.units import words_for_bytes


def happenings(before: Mapping[str, AttemptState], now: Sequence[RunView]) -> list[str]:
    """What changed since ``before``, oldest first: one line per attempt that started or ended.

    before: pod UID -> its state when last looked at; an attempt that is not in it is new.
    """
    lines = []
    for view in now:
        for number, attempt in enumerate(view.attempts, start=1):
            if before.get(attempt.uid) is not attempt.state:
                line = _line(view, attempt, number)
                if line:
                    lines.append((attempt.finished_s or attempt.created_s, line))
    return [line for _, line in sorted(lines)]


def states(views: Sequence[RunView]) -> dict[str, AttemptState]:
    """The states that ``happenings`` compares with the next time."""
    return {attempt.uid: attempt.state for view in views for attempt in view.attempts}


def _line(view: RunView, attempt: Attempt, number: int) -> str | None:
    size = words_for_bytes(attempt.allocation_bytes)
    if attempt.state is AttemptState.WAITING:
        return f"{view.run.task}: {attempt.name} gets {size}{_because(attempt)}"
    if attempt.state is AttemptState.KILLED:
        return f"[red]{view.run.task}: {attempt.name} was OOM-killed at {size}[/red]"
    if attempt.state is AttemptState.FAILED:
        return f"[bold red]{view.run.task}: {attempt.name} failed by itself[/bold red]"
    if attempt.state is AttemptState.SUCCEEDED and number > 1:
        return f"[green]{view.run.task}: {attempt.name} succeeded with {size} after a lift[/green]"
    return None


def _because(attempt: Attempt) -> str:
    return f": {attempt.note.why}" if attempt.note else " (Plimsoll did not touch it)"
