"""Promised seconds, and whether the machine is quiet enough to require them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast something has to be.

    alone: whether nothing else loads the machine, as in `make bench-alone`. Beside other suites a
        test proves everything except its seconds; there, these show how busy the machine is.
    """

    alone: bool

    def within(self, what: str, took_s: float, most_s: float) -> str:
        """Say how long it took; alone it may not be longer than promised."""
        if not self.alone:
            return f"{took_s:.1f} (beside others)"
        assert took_s <= most_s, f"{what} took {took_s:.1f} s; promised are {most_s:.0f} s"
        return f"{took_s:.1f} (<= {most_s:.0f})"
