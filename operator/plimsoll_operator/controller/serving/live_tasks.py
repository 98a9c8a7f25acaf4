"""What the page asks of the running controller: policies and the profiles' statuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.web.page.rows import Known
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.expert_names import REQUEST


@dataclass(frozen=True, slots=True)
class LiveTasks:
    """Reads what the event loop writes: each look is one at a dict's entry, which is whole.

    status: of a task's profile, as the API server has it; empty without one.
    """

    book: TaskBook
    status: Callable[[TaskId], Mapping[str, Any]]

    @property
    def paused(self) -> bool:
        """Whether people have paused the whole cluster."""
        return self.book.policies.paused

    def known(self, task: TaskId) -> Known:
        """What is known of a task beside the store."""
        known = self.book.look(task)
        cold = known.runs < known.policy.min_runs
        return Known(
            policy=known.policy,
            paused=self.paused or known.paused,
            champion=REQUEST if cold else str(known.champion),
            trained=known.model is not None,
            status=self.status(task),
        )
