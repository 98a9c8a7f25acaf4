"""Says which namespaces have too many tasks.

Strangers write labels, and each task costs memory, rows and an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TASKS_PER_NAMESPACE: Final = 2_000
"""A namespace with so many tasks gets no new ones, but loses none that is stored or set."""


class Crowding:
    """Judges namespaces by how many tasks each has, which its owner counts."""

    def __init__(self, tasks_in: Mapping[str, int], most_tasks: int = TASKS_PER_NAMESPACE) -> None:
        self._tasks_in = tasks_in
        self.most_tasks = most_tasks

    def is_full(self, namespace: str) -> bool:
        """Say whether a namespace gets no new tasks."""
        return self._tasks_in[namespace] >= self.most_tasks

    def is_nearly_full(self, namespace: str) -> bool:
        """Say whether a namespace has no first sizes.

        If it takes no more tasks when a new one's pod is seen, nobody lifts the run. Many pods may
        be on their way.
        """
        return self._tasks_in[namespace] >= self.most_tasks * 9 // 10
