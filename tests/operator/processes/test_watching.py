"""What the leader gives kopf, which watches for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import kopf
import orjson
import pytest

from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.tasks.healing import ENDING, Healing
from plimsoll_operator.processes import leading
from tests.builders.controller.ledgers import an_inside


def test_kopf_is_told_who_it_is_and_asks_for_no_user_of_the_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would ask /etc/passwd, where the user of ``runAsUser`` need not be."""
    given: dict[str, Any] = {}

    async def operator(**options: Any) -> None:
        given.update(options)

    monkeypatch.setattr(kopf, "operator", operator)
    monkeypatch.setattr(leading, "registry_for", lambda _: kopf.OperatorRegistry())
    settings = ControllerSettings(instance="plimsoll-controller-7d9f")
    asyncio.run(leading.watch(settings, Mock(), asyncio.Event()))
    assert given["identity"] == "plimsoll-controller-7d9f"


def told(controller: Controller) -> object:
    return orjson.loads(controller.board.message(0, None))["defaults"]["unhealed"]


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
async def test_from_the_end_of_the_watch_on_the_feed_says_that_nobody_heals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """The feed is served while all is saved and the lead is given up: for up to half a minute."""
    while_it_watches: list[object] = []
    async with an_inside(tmp_path) as inside:
        controller = inside.controller
        controller.healing = Healing(controller.writer, controller.bounds, lambda: True)

        async def operator(**_: Any) -> None:
            while_it_watches.append(told(controller))
            if fails:
                raise RuntimeError("of a test")

        monkeypatch.setattr(kopf, "operator", operator)
        watching = leading.watch(ControllerSettings(), controller, asyncio.Event())
        (ended,) = await asyncio.gather(watching, return_exceptions=True)
        assert isinstance(ended, RuntimeError) is fails
        assert while_it_watches == [None]
        assert told(controller) == ENDING
