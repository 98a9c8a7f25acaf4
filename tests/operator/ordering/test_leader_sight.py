"""Whether anybody leads, as seen by a process that does not lead."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.ordering.leader_sight import AWAY_S, LEADS_S, LeaderSight, look

RENEWED = "2026-11-23T12:00:00.000000Z"
RENEWED_S = 1795435200.0


def lease(version: int, holder: str = "controller-1", renewed: str = RENEWED) -> dict[str, Any]:
    return {
        "metadata": {"resourceVersion": str(version)},
        "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 10},
    }


def seen_at(now_s: float, of: dict[str, Any] | None, before: LeaderSight | None) -> LeaderSight:
    return look(before, of, now_s, RENEWED_S)


def test_who_renews_leads() -> None:
    sight = None
    for number in range(20):
        sight = seen_at(5.0 * number, lease(number), sight)
        assert sight.leads(5.0 * number + 4.9)
        assert not sight.is_away(5.0 * number + 4.9)


def test_who_stops_renewing_leads_no_more_and_is_away_after_that() -> None:
    sight = seen_at(100.0, lease(1), None)
    sight = seen_at(105.0, lease(1), sight)
    assert sight.leads(100.0 + LEADS_S - 0.1)
    assert not sight.leads(100.0 + LEADS_S)
    assert not sight.is_away(100.0 + AWAY_S - 0.1)
    assert sight.is_away(100.0 + AWAY_S)


@pytest.mark.parametrize(
    "of", [pytest.param(lease(1, holder=""), id="given back"), pytest.param(None, id="none there")]
)
def test_a_lease_that_nobody_holds_is_no_leader_and_not_away_at_once(
    of: dict[str, Any] | None,
) -> None:
    sight = seen_at(100.0, of, None)
    assert not sight.leads(100.0)
    assert not sight.is_away(110.0)
    assert seen_at(100.0 + AWAY_S, of, sight).is_away(100.0 + AWAY_S)


def test_the_next_leader_ends_it() -> None:
    sight = seen_at(100.0, lease(1), None)
    sight = seen_at(131.0, lease(2, holder="controller-2"), sight)
    assert sight.leads(132.0)
    assert not sight.is_away(132.0)


def test_who_has_just_begun_sees_that_a_lease_was_left_long_ago() -> None:
    sight = look(None, lease(1), 3.0, RENEWED_S + AWAY_S)
    assert sight.is_away(3.0)
    # A clock that is wrong is corrected by the first renewal that is seen.
    assert look(sight, lease(2), 8.0, RENEWED_S + 35.0).leads(8.0)


@pytest.mark.parametrize("server_s", [None, RENEWED_S - 3600.0])
def test_a_clock_that_says_nothing_makes_nobody_away(server_s: float | None) -> None:
    assert look(None, lease(1), 3.0, server_s).leads(3.0)
    assert look(None, lease(1, renewed="soon"), 3.0, RENEWED_S).leads(3.0)
