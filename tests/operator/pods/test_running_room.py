"""Room for running pods: those that Plimsoll has changed stay when others must go."""

from __future__ import annotations

from plimsoll_operator.pods.running_room import TIMES_CHANGED, RunningRoom


def filled() -> RunningRoom:
    room = RunningRoom(10)
    for number in range(10):
        assert room.take("shop", f"s{number}", 1, changed=False) == []
    return room


def test_a_changed_pod_has_room_though_all_others_fill_theirs() -> None:
    room = filled()
    assert room.take("shop", "lender", 3, changed=True) == []
    assert room.held_bytes == 13


def test_a_pod_that_is_changed_leaves_its_room_to_others_and_comes_back() -> None:
    room = filled()
    assert room.take("shop", "s0", 2, changed=True) == []
    assert room.take("shop", "new", 1, changed=False) == []
    # Its namespace holds most: a pod that is changed no more has no room beside ten others.
    assert room.take("shop", "s0", 1, changed=False) == ["s0"]
    assert room.held_bytes == 10


def test_pods_that_claim_to_be_changed_push_out_their_own_namespace() -> None:
    room = RunningRoom(10)
    assert room.take("calm", "c", 1, changed=True) == []
    for number in range(100):
        taken = room.take("evil", f"e{number}", 1, changed=True)
        assert taken == ([] if number < 29 else [f"e{number}"])
    assert room.take("calm", "d", 1, changed=True) == ["e0"]
    assert room.held_bytes == 10 * (TIMES_CHANGED + 1)


def test_a_pod_that_is_gone_frees_its_room() -> None:
    room = RunningRoom(10)
    for changed in (True, False):
        room.take("shop", "s", 1, changed=changed)
        room.drop("shop", "s")
        assert room.held_bytes == 0
