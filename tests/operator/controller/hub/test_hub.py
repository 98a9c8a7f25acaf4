"""Who gets which events, and what is in the store by then."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    Hub,
    TaskChanged,
    TaskForgotten,
    TaskPublished,
)
from tests.builders.controller.ledgers import TRAIN, a_train, an_inside, decided, killed


def test_subscribers_hear_in_the_order_in_which_they_subscribed() -> None:
    hub, heard = Hub(), list[str]()
    hub.subscribe(TaskForgotten, lambda _: heard.append("first"), lambda _: heard.append("second"))
    hub.subscribe(TaskForgotten, lambda _: heard.append("third"))
    hub.publish(TaskForgotten(TRAIN))
    assert heard == ["first", "second", "third"]


def test_an_event_is_heard_by_subscribers_of_its_own_type_alone() -> None:
    hub, heard = Hub(), list[object]()
    hub.subscribe(TaskForgotten, heard.append)
    hub.publish(TaskChanged(TRAIN))
    assert heard == []


def test_an_error_reaches_the_publisher_and_no_later_subscriber() -> None:
    hub, heard = Hub(), list[object]()

    def fail(_: TaskForgotten) -> None:
        raise ValueError("a test")

    hub.subscribe(TaskForgotten, fail, heard.append)
    with pytest.raises(ValueError, match="a test"):
        hub.publish(TaskForgotten(TRAIN))
    assert heard == []


@pytest.mark.slow
async def test_an_end_is_published_after_its_observation_is_committed(tmp_path: Path) -> None:
    committed: list[int] = []
    async with an_inside(tmp_path) as inside:
        inside.controller.hub.subscribe(
            AttemptEnded, lambda _: committed.append(len(inside.store.observations.of_task(TRAIN)))
        )
        await inside.see(killed(decided(a_train())))
    assert committed == [1]


@pytest.mark.slow
async def test_a_lift_is_in_the_feed_after_it_is_committed(tmp_path: Path) -> None:
    stored: list[bool] = []

    def published(event: TaskPublished) -> None:
        if lifts := inside.controller.publications.deciding(event.task).lifts:
            stored.append(inside.store.lifts.waiting() == {TRAIN: lifts})

    async with an_inside(tmp_path) as inside:
        inside.controller.hub.subscribe(TaskPublished, published)
        await inside.see(killed(decided(a_train())))
    assert stored == [True]


@pytest.mark.slow
async def test_a_subscriber_that_fails_leaves_the_end_to_be_seen_again(tmp_path: Path) -> None:
    failures = [ValueError("a test")]

    def fail_once(_: AttemptEnded) -> None:
        if failures:
            raise failures.pop()

    async with an_inside(tmp_path) as inside:
        inside.controller.hub.subscribe(AttemptEnded, fail_once)
        pod = killed(decided(a_train()))
        with pytest.raises(ValueError, match="a test"):
            await inside.see(pod)
        assert inside.known.lifts == {}
        await inside.see(pod)
        assert len(inside.known.lifts) == len(inside.store.observations.of_task(TRAIN)) == 1
