"""Where Karpenter is installed, no pod prefers hosts by name, though it has made no node yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.tasks.karpenter import GROUP, is_installed
from plimsoll_operator.controller.watching import ClusterWatch
from plimsoll_operator.kube.errors import ApiError, NotFound, Unreachable
from tests.builders.controller.ledgers import an_inside


@dataclass
class Discovery:
    """The part of the API server that tells kinds."""

    error: ApiError | None = None

    async def get(self, path: str) -> dict[str, Any]:
        assert path == GROUP
        if self.error is not None:
            raise self.error
        return {"kind": "APIGroup", "name": "karpenter.sh"}


@pytest.mark.parametrize(
    ("error", "installed"),
    [
        pytest.param(None, True, id="its kinds are there"),
        pytest.param(NotFound("no such group"), False, id="they are not"),
        pytest.param(Unreachable("away"), False, id="unknown"),
    ],
)
async def test_the_api_server_tells(error: ApiError | None, installed: bool) -> None:
    assert await is_installed(Discovery(error)) is installed  # type: ignore[arg-type]


async def test_admission_and_the_order_are_told(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        watch = inside.controller.watch
        assert known_by(watch) == (False, False)
        watch.see_karpenter()
        assert known_by(watch) == (True, True)


def known_by(watch: ClusterWatch) -> tuple[bool, bool]:
    """Whether admission and the order know of it."""
    return watch.bounds.nodes.karpenter, watch.releases.room.has_karpenter
