"""What the controller knows beside the store. Asked from the page's threads."""

from __future__ import annotations

from typing import Protocol

from plimsoll_operator.page.rows import Known
from plimsoll_predictor.task import TaskId


class Live(Protocol):
    """Must be safe to ask from another thread than the event loop's, and never wait."""

    def known(self, task: TaskId) -> Known:
        """What is known of a task; of one never met, what its namespace's policy says."""

    @property
    def paused(self) -> bool:
        """Whether people have paused the whole cluster."""
