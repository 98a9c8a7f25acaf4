"""A pod that restarted in place shows its last two lives: each is observed once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    killed,
)
from tests.builders.kubernetes.pod_servers import a_pod_server
from tests.builders.pods import APod

FIRST = killed(decided(a_train()).restarting("OnFailure").owned_by_job(), phase="Running")
"""Its first life was killed."""


def restarted(state: dict[str, Any], phase: str) -> APod:
    """The same pod in its second life."""
    built = FIRST.built()
    (main,) = built["status"]["containerStatuses"]
    main.update(
        restartCount=1, lastState=main["state"], state=state, containerID="containerd://again"
    )
    return APod(built).with_status(**{**built["status"], "phase": phase})


def over(reason: str = "Completed", exit_code: int = 0, phase: str = "Succeeded") -> APod:
    """Its second life has ended, too."""
    times = {"startedAt": "2026-01-01T00:01:00Z", "finishedAt": "2026-01-01T00:01:30Z"}
    return restarted({"terminated": {"reason": reason, "exitCode": exit_code, **times}}, phase)


def ends(inside: Inside) -> list[tuple[str, Outcome]]:
    seen = inside.store.observations.of_task(TRAIN)
    return [(each.attempt_uid, each.outcome) for each in seen]


BOTH = [("uid-train-1", Outcome.OOM_KILLED), ("uid-train-1/1", Outcome.SUCCEEDED)]


@pytest.mark.slow
async def test_a_life_whose_end_was_missed_is_observed_with_the_next_ones_end(
    tmp_path: Path,
) -> None:
    """The second life began and ended before the pod was seen again."""
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(over())
        await inside.see(over())
        assert ends(inside) == BOTH
        await inside.replaced()
        assert server.deleted == [], "it is over"
        assert inside.known.lifts == {}, "nobody makes another attempt"


@pytest.mark.slow
async def test_a_life_that_is_shown_twice_is_observed_once(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        for pod in (
            FIRST,
            restarted({"running": {"startedAt": "2026-01-01T00:01:00Z"}}, "Running"),
            over(),
            over(),
        ):
            await inside.see(pod)
        assert ends(inside) == BOTH
        totals = inside.store.totals.of(TRAIN)
        assert (totals.oom_kills, totals.observations) == (1, 2)


@pytest.mark.slow
async def test_what_ended_the_pod_did_not_end_its_earlier_life(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        pod = over("Error", 1, "Failed").built()
        earlier = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
        earlier.update(reason="Error", exitCode=1)
        pod["status"].update(reason="Evicted", message="The node was low on resource: memory.")
        await inside.see(APod(pod))
        first, second = inside.store.observations.of_task(TRAIN)
        assert (first.cause, second.cause) == (Cause.OWN_MISTAKE, Cause.NODE_PRESSURE)


@pytest.mark.slow
async def test_a_life_does_not_get_the_next_ones_peak(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.report(
            replace(a_final(need_bytes=70 * MIB), container_id="main", measured_s=1_767_225_660.0),
            replace(a_final(need_bytes=90 * MIB), container_id="again", measured_s=1_767_225_690.0),
        )
        await inside.see(over())
        first, second = inside.store.observations.of_task(TRAIN)
        assert (first.peak_bytes, second.peak_bytes) == (70 * MIB, 90 * MIB)
