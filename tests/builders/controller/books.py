"""A book of tasks with its policies and publications, connected as in a controller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from plimsoll_operator.controller.hub.hub import Hub, ObservationAmended, TaskPublished
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.publishing import Publications, connect_book
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Need, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import Novelty

Fold = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Books:
    """published: every version of a task that the feed got."""

    hub: Hub
    policies: TaskPolicies
    book: TaskBook
    publications: Publications
    published: list[Knowledge] = field(default_factory=list)

    def ended(self, task: TaskId, need: Need, *, new_run: bool = True) -> None:
        """An attempt of the task ended, and this need is known."""
        observation = Observation(
            attempt_uid="u",
            task=task,
            run="r",
            outcome=Outcome.OOM_KILLED if need.censored else Outcome.SUCCEEDED,
            allocation_bytes=need.size_bytes,
            peak_bytes=need.size_bytes,
        )
        assert observation.need == need
        self.book.observed(ObservationAmended(observation, Novelty(new=True, learned=new_run)))


def books(
    policy: Policy | None = None, fold: Fold | None = None, board: FeedBoard | None = None
) -> Books:
    """fold: what happens while the experts learn. board: None for one with much room."""
    hub = Hub()
    policies = TaskPolicies(policy or Policy(), hub)
    book = TaskBook(policies, hub)
    publications = Publications(book, fold or _nothing, board or FeedBoard("test"), hub)
    connect_book(hub, book, publications)
    made = Books(hub, policies, book, publications)
    hub.subscribe(
        TaskPublished, lambda event: made.published.append(publications.deciding(event.task))
    )
    return made


async def _nothing() -> None:
    return
