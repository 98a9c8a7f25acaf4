"""Entries of the logs that only a newer Plimsoll knows, as after a rollback: passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.controller.ledgers import TRAIN, an_inside
from tests.builders.older_stores import insert
from tests.builders.stores import an_attempt


@pytest.mark.slow
async def test_what_only_a_newer_version_knows_is_passed_over(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    lesson = {"task": str(TRAIN), "kind": "x", "document": "[]"}
    sighting = {"task": str(TRAIN), "kind": "x", "attempt_uid": "u", "at_s": 1.0}
    async with an_inside(tmp_path) as inside:
        insert(url, "lessons", [lesson])
        insert(url, "sightings", [sighting])
        inside.store.observations.record([an_attempt("u").of(TRAIN).built])
        insert(url, "lessons", [lesson])
        insert(url, "sightings", [sighting])
    async with an_inside(tmp_path) as inside:
        controller = inside.controller
        await controller.runtimes.fold()
        assert (controller.standings.through, controller.runtimes.through) == (3, 3)
        standing = controller.standings.held(TRAIN)
        assert standing is not None
        assert standing.past.runs == 1
