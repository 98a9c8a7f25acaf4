"""A book of tasks with its policies and publications, connected as in a controller."""

from __future__ import annotations

from dataclasses import dataclass, field

from plimsoll_operator.controller.building import connect_book
from plimsoll_operator.controller.hub.hub import Hub, TaskPublished
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.publishing import Publications
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.knowledge.knowledge import Knowledge


@dataclass(slots=True)
class Books:
    """published: every version of a task that the feed got."""

    hub: Hub
    policies: TaskPolicies
    book: TaskBook
    publications: Publications
    published: list[Knowledge] = field(default_factory=list)


def books(policy: Policy | None = None) -> Books:
    hub = Hub()
    policies = TaskPolicies(policy or Policy(), hub)
    book = TaskBook(policies, hub)
    publications = Publications(book, hub)
    connect_book(hub, book, publications)
    made = Books(hub, policies, book, publications)
    hub.subscribe(TaskPublished, lambda event: made.published.append(event.knowledge))
    return made
