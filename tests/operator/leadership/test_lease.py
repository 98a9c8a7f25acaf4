"""Which candidate may take a Lease, by clocks that need not agree."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from plimsoll_operator.leadership.lease import (
    LONGEST_S,
    PATIENCE,
    RENEWALS,
    Lease,
    Sighting,
    free_spec,
    held_spec,
    may_hold,
    read_lease,
    sighted,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
HELD = Lease(holder="one", duration_s=10.0, transitions=3, version="7")


def a_document(version: str = "7", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}, "spec": spec}


@pytest.mark.parametrize(
    ("sighting", "now_s", "may"),
    [
        pytest.param(None, 0.0, True, id="none is made"),
        pytest.param(Sighting(HELD, 100.0), 109.9, False, id="one that may live is left"),
        pytest.param(Sighting(HELD, 100.0), 110.0, True, id="a silent one's is taken"),
        pytest.param(Sighting(HELD, 100.0), 90.0, False, id="a clock set back only delays"),
        pytest.param(
            Sighting(Lease("two", 10.0, 3, "7"), 100.0), 100.0, True, id="one's own is kept"
        ),
        pytest.param(
            Sighting(Lease(None, 10.0, 3, "7"), 100.0), 100.0, True, id="a free one is taken"
        ),
    ],
)
def test_a_candidate_may_hold(sighting: Sighting | None, now_s: float, may: bool) -> None:
    assert may_hold(sighting, "two", now_s) is may


def test_a_lease_is_silent_for_as_long_as_its_version_stays_whatever_times_it_names() -> None:
    seen = sighted(None, HELD, 100.0)
    assert seen == Sighting(HELD, 100.0)
    assert sighted(seen, HELD, 105.0) == seen
    renewed = Lease("one", 10.0, 3, "8")
    assert sighted(seen, renewed, 105.0) == Sighting(renewed, 105.0)


def test_a_leader_stops_before_another_may_begin_however_late_its_last_renewal_was_seen() -> None:
    lease_s, renewed_s = 10.0, 0.0  # asked for at 0, seen by others then or later
    assert renewed_s + PATIENCE * lease_s < Sighting(HELD, renewed_s).free_at_s
    # And it has several tries before it gives up.
    assert PATIENCE * RENEWALS > 3


@pytest.mark.parametrize(
    ("document", "lease"),
    [
        pytest.param(
            a_document(holderIdentity="one", leaseDurationSeconds=10, leaseTransitions=3),
            HELD,
            id="as we write it",
        ),
        pytest.param(a_document(), Lease(None, LONGEST_S, 0, "7"), id="nothing in it"),
        pytest.param({"metadata": {"resourceVersion": "7"}}, Lease(None, LONGEST_S, 0, "7"), id=""),
        pytest.param(
            a_document(holderIdentity="one", leaseDurationSeconds=10**9),
            Lease("one", LONGEST_S, 0, "7"),
            id="held for years: not longer than the longest",
        ),
        pytest.param(
            a_document(holderIdentity="", leaseDurationSeconds=1),
            Lease(None, 1.0, 0, "7"),
            id="given back",
        ),
    ],
)
def test_whatever_is_written_in_a_lease_makes_some_lease(
    document: dict[str, Any], lease: Lease
) -> None:
    assert read_lease(document) == lease


def test_taking_counts_a_transition_and_renewing_does_not() -> None:
    taken = held_spec(HELD, "two", 10.0, NOW)
    assert taken["leaseTransitions"] == 4
    assert taken["acquireTime"] == taken["renewTime"] == "2026-01-02T03:04:05.000678Z"
    renewed = held_spec(HELD, "one", 10.0, NOW)
    assert renewed["leaseTransitions"] == 3
    assert "acquireTime" not in renewed
    assert held_spec(None, "one", 10.0, NOW)["leaseTransitions"] == 0


def test_a_lease_given_back_is_free_at_once() -> None:
    given = read_lease(a_document(**free_spec(HELD, NOW)))
    assert may_hold(sighted(None, given, 5.0), "two", 5.0)
