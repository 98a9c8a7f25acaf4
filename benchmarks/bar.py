"""A bar: what a benchmark must reach, as a line of a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One line: what was measured, what it must be, and whether it is; None if not measured."""

    what: str
    measured: str
    bar: str
    holds: bool | None


def below(what: str, measured: float, bar: float, form: str = "{:.3f}") -> Bar:
    """A line whose figure must not be above its bar; judged before it is rounded."""
    return Bar(
        what=what, measured=form.format(measured), bar=f"≤ {bar:g}", holds=bool(measured <= bar)
    )
