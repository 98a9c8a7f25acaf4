"""Says that a task follows a simple rule because its learned sizes were worse for long."""

from __future__ import annotations

from msgspec import Struct


class Guarded(Struct, frozen=True, array_like=True):
    """What made the guard step in. The feed carries it.

    expert: the rule that it follows, by its name in expert_names.py.
    times: the memory-time that its learned sizes held, divided by what the rule would have held.
    runs: over so many runs.
    """

    expert: str
    times: float
    runs: int

    @property
    def words(self) -> str:
        """Why, for people."""
        return (
            f"the task follows this rule, because over {self.runs} runs its learned sizes held"
            f" {self.times:.2f} times the rule's memory"
        )
