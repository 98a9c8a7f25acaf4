"""Whether an attempt near its limit gets more, and how much."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.deciding import (
    LEAST_RAISE,
    MOST_OVER_FIRST,
    MOST_RAISES,
    NAMESPACE_SHARE,
    NODE_SHARE,
    OVER_PAST,
    OVER_USED,
    Leave,
    Nearing,
    PodPast,
    Raise,
    Room,
    Why,
    decide,
    kept_bytes,
    probability,
)
from plimsoll_predictor.rescue.growth import Outlook

LIMIT = 200 * MIB
NODE = 8000 * MIB
NEARS = Nearing(
    used_bytes=190 * MIB,
    limit_bytes=LIMIT,
    outlook=Outlook(growth_bytes_s=10.0 * MIB),
    react_s=0.5,
    shape=tuple((float(s), (10 * s) * MIB) for s in range(20)),
)
UNKNOWN = PodPast(needs_bytes=(), first_bytes=LIMIT)
AMPLE = Room(
    most_bytes=None,
    free_bytes=NODE // 2,
    allocatable_bytes=NODE,
    on_node_bytes=0,
    in_namespace_bytes=0,
)


def why(nearing: Nearing = NEARS, past: PodPast = UNKNOWN, room: Room = AMPLE) -> Why | None:
    decided = decide(nearing, past, room)
    return decided.why if isinstance(decided, Leave) else None


def raised(nearing: Nearing = NEARS, past: PodPast = UNKNOWN, room: Room = AMPLE) -> int:
    decided = decide(nearing, past, room)
    assert isinstance(decided, Raise), decided
    return decided.limit_bytes


def test_a_ramp_of_a_task_never_seen_is_raised_by_a_fifth() -> None:
    assert raised(replace(NEARS, outlook=Outlook(growth_bytes_s=8.0 * MIB))) == 240 * MIB


def test_what_is_fast_is_raised_by_what_it_takes_until_the_next_raise() -> None:
    fast = replace(NEARS, used_bytes=150 * MIB, outlook=Outlook(growth_bytes_s=100.0 * MIB))
    # 0.5 s until it is enforced, and four more.
    assert raised(fast) == 600 * MIB


def test_what_is_slow_gets_no_more_than_is_sure_to_be_within_what_it_needs() -> None:
    slow = replace(
        NEARS, used_bytes=182 * MIB, outlook=Outlook(growth_bytes_s=4.0 * MIB), react_s=3.0
    )
    assert raised(slow) == int(OVER_USED * 182) * MIB
    assert raised(slow) < 1.2 * LIMIT


@pytest.mark.parametrize("used_mib", [100, 150, 180])
def test_what_has_time_is_asked_about_again(used_mib: int) -> None:
    assert why(replace(NEARS, used_bytes=used_mib * MIB)) is Why.EARLY


def test_a_task_whose_runs_needed_more_is_raised_to_that_at_once() -> None:
    past = PodPast(needs_bytes=[150 * MIB, 300 * MIB, 310 * MIB], first_bytes=LIMIT)
    assert raised(past=past) == int(OVER_PAST * 310) * MIB


def test_steps_are_raised_by_another_step() -> None:
    stairs = replace(
        NEARS, used_bytes=150 * MIB, outlook=Outlook(0.0, step_bytes=60 * MIB, steps=3)
    )
    assert raised(stairs) == int(150 + 2.2 * 60) * MIB


def test_a_task_whose_runs_stop_before_their_limit_is_left_alone() -> None:
    past = PodPast(needs_bytes=[195 * MIB] * 20, first_bytes=LIMIT)
    assert why(past=past) is Why.UNLIKELY


def test_what_does_not_grow_is_left_alone() -> None:
    assert why(replace(NEARS, outlook=Outlook())) is Why.EARLY


def test_a_leak_is_left_to_die() -> None:
    assert why(past=PodPast(needs_bytes=[100 * MIB] * 3, first_bytes=LIMIT)) is Why.LEAK


@pytest.mark.parametrize(
    ("past", "room", "reason"),
    [
        pytest.param(replace(UNKNOWN, raises=MOST_RAISES), AMPLE, Why.TOO_OFTEN, id="often"),
        pytest.param(
            replace(UNKNOWN, first_bytes=int(LIMIT / MOST_OVER_FIRST)),
            AMPLE,
            Why.TOO_OFTEN,
            id="too many times its first size",
        ),
        pytest.param(UNKNOWN, replace(AMPLE, most_bytes=LIMIT), Why.BOUND, id="a quota"),
        pytest.param(UNKNOWN, replace(AMPLE, free_bytes=10 * MIB), Why.NODE, id="no memory left"),
        pytest.param(UNKNOWN, replace(AMPLE, free_bytes=None), Why.NODE, id="an unknown node"),
        pytest.param(
            UNKNOWN,
            replace(AMPLE, on_node_bytes=int(NODE_SHARE * NODE)),
            Why.NODE,
            id="rescues have had the node's share",
        ),
        pytest.param(
            UNKNOWN,
            replace(AMPLE, in_namespace_bytes=int(NAMESPACE_SHARE * NODE_SHARE * NODE)),
            Why.NAMESPACE,
            id="rescues have had the namespace's share",
        ),
    ],
)
def test_it_is_left_where(past: PodPast, room: Room, reason: Why) -> None:
    assert why(past=past, room=room) is reason


@pytest.mark.parametrize(
    ("need_mib", "limit_mib", "kept_mib"),
    [
        pytest.param(100, 300, 128, id="a fifth more than it needed"),
        pytest.param(50, 300, 100, id="no less than it had at first"),
        pytest.param(240, 300, None, id="all, where little could be given back"),
    ],
)
def test_what_has_stopped_growing_keeps(
    need_mib: int, limit_mib: int, kept_mib: int | None
) -> None:
    kept = kept_bytes(need_mib * MIB, limit_mib * MIB, 100 * MIB)
    assert kept == (kept_mib and kept_mib * MIB)


@pytest.mark.parametrize(("need_mib", "step_mib"), [(100, 60), (1000, 60), (10_000, 3000)])
def test_what_rises_in_steps_keeps_room_for_one_more(need_mib: int, step_mib: int) -> None:
    need, limit = need_mib * MIB, 3 * need_mib * MIB
    kept = kept_bytes(need, limit, 50 * MIB, step_mib * MIB)
    assert kept is not None
    assert kept < limit
    # It is not asked for more as soon as it has given back.
    stairs = Outlook(0.0, step_bytes=step_mib * MIB, steps=2)
    assert not stairs.steps_over(need, int(0.99 * kept))


def test_what_may_still_need_as_much_as_similar_runs_keeps_that() -> None:
    needs = [50 * MIB, 150 * MIB, 300 * MIB, 310 * MIB]
    kept = kept_bytes(100 * MIB, 600 * MIB, 100 * MIB, needs_bytes=needs)
    assert kept == int(OVER_PAST * 300) * MIB
    assert kept_bytes(100 * MIB, kept, 100 * MIB, needs_bytes=needs) is None


@given(need=st.integers(0, 2**40), added=st.integers(0, 2**40), first=st.integers(1, 2**40))
def test_nothing_is_kept_below_the_first_size_or_the_need(
    need: int, added: int, first: int
) -> None:
    kept = kept_bytes(need, first + added, first)
    assert kept is None or first <= kept <= first + added
    assert kept is None or kept > need


def test_where_there_is_less_room_it_gets_less() -> None:
    assert raised(room=replace(AMPLE, most_bytes=220 * MIB)) == 220 * MIB


def test_the_present_limit_counts_as_promised_already() -> None:
    # 10 MiB of its limit are not used yet; of 40 that are free, 30 may be added.
    assert raised(room=replace(AMPLE, free_bytes=40 * MIB)) == 230 * MIB


def test_a_ramp_that_has_risen_for_long_is_likelier_to_go_on() -> None:
    short = replace(NEARS, shape=((0.0, 0), (1.0, 190 * MIB)))
    assert probability(short, ()) < probability(NEARS, ())


SIZES = st.integers(1, 4000).map(lambda mib: mib * MIB)


@pytest.mark.slow
@given(
    used=st.floats(0.3, 1.0),
    limit=SIZES,
    pace=st.floats(0, 1e9),
    needs=st.lists(SIZES, max_size=20),
    free=SIZES,
    most=SIZES,
)
def test_no_raise_is_beyond_any_bound(
    used: float, limit: int, pace: float, needs: list[int], free: int, most: int
) -> None:
    nearing = replace(
        NEARS,
        used_bytes=int(used * limit),
        limit_bytes=limit,
        outlook=Outlook(growth_bytes_s=pace),
        shape=((0.0, 0), (3.0, int(used * limit))),
    )
    past = PodPast(needs_bytes=needs, first_bytes=limit)
    room = replace(AMPLE, free_bytes=free, most_bytes=most)
    decided = decide(nearing, past, room)
    assert 0 <= decided.probability <= 1
    if isinstance(decided, Raise):
        added = decided.limit_bytes - limit
        assert decided.limit_bytes <= most
        assert added <= free
        assert added <= NAMESPACE_SHARE * NODE_SHARE * NODE
        largest = max(needs, default=0)
        assert decided.limit_bytes <= max(MOST_OVER_FIRST * limit, OVER_PAST * largest)
        assert decided.limit_bytes >= LEAST_RAISE * limit - MIB
