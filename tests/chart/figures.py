"""Figures that the tests measured, printed at the end of their run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Figures:
    """Name to value with its unit."""

    measured: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, value: str) -> None:
        self.measured[name] = value

    def lines(self) -> list[str]:
        return [f"FIGURE {name} {value}" for name, value in self.measured.items()]


FIGURES = Figures()
