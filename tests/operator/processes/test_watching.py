"""What the leader gives kopf, which watches for it."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import kopf
import pytest

from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.processes import leading


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
