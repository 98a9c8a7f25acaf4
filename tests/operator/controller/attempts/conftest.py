"""A controller that has learned one run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.builders.controller.ledgers import an_inside
from tests.builders.controller.shown import Told


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with an_inside(tmp_path) as inside:
        made = Told(inside)
        await made.knows("first")
        made.published.clear()
        yield made
