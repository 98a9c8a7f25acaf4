"""A container that its runtime could not start: it held no memory and was beside nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import TRAIN, a_train, an_inside, decided, ended, made
from tests.builders.pods import APod

pytestmark = pytest.mark.slow

NOT_THERE = 'exec: "trian.py": executable file not found in $PATH'
TOO_LOW = "runc create failed: container init was OOM-killed (memory limit too low?): unknown"


def not_started(pod: APod, message: str) -> APod:
    """As containerd leaves it."""
    built = ended(pod, "StartError", 128).with_spec(nodeName="n1").built()
    [main] = built["status"]["containerStatuses"]
    main["state"]["terminated"].update(startedAt="1970-01-01T00:00:00Z", message=message)
    return APod(built)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        pytest.param(NOT_THERE, Cause.NEVER_STARTED, id="its command is mistyped"),
        pytest.param(TOO_LOW, Cause.OWN_LIMIT, id="its limit is too small"),
    ],
)
async def test_it_held_no_memory(tmp_path: Path, message: str, cause: Cause) -> None:
    pod = made(decided(a_train(), was_bytes=256 * MIB).owned_by_job(), "2026-01-01T00:00:00Z")
    async with an_inside(tmp_path) as inside:
        await inside.see(not_started(pod, message))
        [seen] = inside.store.observations.of_task(TRAIN)
        # Without a start, it is among nobody's neighbours.
        assert (seen.cause, seen.started_s, seen.runtime_s) == (cause, None, None)
        totals = inside.store.totals.of(TRAIN)
        assert totals.observations == 1
        assert totals.requested_gb_h == totals.allocated_gb_h == 0
        await inside.controller.publications.publish()
        standing = await inside.controller.standings.standing(TRAIN)
        assert standing is None or all(each.gb_h == 0 for each in standing.guard.lost.values())
