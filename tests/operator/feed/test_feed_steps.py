"""The changes in a message, one by one, in the order in which they are applied."""

from __future__ import annotations

from plimsoll_operator.feed.applying import steps
from plimsoll_operator.feed.wire import ChangeKind, FeedChange, decode_message, encode_message

NEVER_REMOVED = {ChangeKind.DEFAULTS, ChangeKind.ITEM}


def kinds_of(*changes: tuple[ChangeKind, str, bytes | None]) -> list[tuple[ChangeKind, bool]]:
    """The kinds in the order of their steps, and whether each is news; else it is a removal."""
    numbered = [
        FeedChange(kind, name, at, data) for at, (kind, name, data) in enumerate(changes, start=1)
    ]
    revision = len(numbered)
    message = decode_message(
        encode_message(epoch="e1", revision=revision, head=revision, full=False, changes=numbered)
    )
    return [(kind, data is not None) for kind, _, data in steps(message)]


def test_news_of_every_kind_arrive_once() -> None:
    found = kinds_of(*((kind, "x", b"{}") for kind in ChangeKind))
    assert sorted(found) == sorted((kind, True) for kind in ChangeKind)


def test_every_kind_that_can_be_removed_is_removed_once() -> None:
    removable = set(ChangeKind) - NEVER_REMOVED
    found = kinds_of(*((kind, "x", None) for kind in removable))
    assert sorted(found) == sorted((kind, False) for kind in removable)


def test_a_task_never_lacks_the_model_that_it_uses() -> None:
    task, model = ChangeKind.TASK, ChangeKind.MODEL
    assert kinds_of((task, "a", b"{}"), (model, "a", b"{}")) == [(model, True), (task, True)]
    assert kinds_of((model, "a", None), (task, "a", None)) == [(task, False), (model, False)]
    # It is told first that the task goes without, and then the model goes.
    assert kinds_of((model, "a", None), (task, "a", b"{}")) == [(task, True), (model, False)]


def test_nodes_that_are_gone_make_room_for_new_ones() -> None:
    for kind in (ChangeKind.HOST, ChangeKind.LOAD):
        assert kinds_of((kind, "new", b"{}"), (kind, "old", None)) == [(kind, False), (kind, True)]
