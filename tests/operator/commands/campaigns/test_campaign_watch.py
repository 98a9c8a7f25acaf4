"""`plimsoll campaign watch`: an API server that does not answer is told, and given up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from plimsoll_operator.commands.campaigns import watch
from plimsoll_operator.commands.campaigns.watch import AWAY_S, watch_command
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.errors import Unreachable

GONE = "the API server does not answer: connection refused"
RUNNING = {"phase": "Running"}
FINISHED = {"phase": "Finished", "done": 3}


class Answers:
    """An API server that gives these statuses one after another; None: it is away."""

    def __init__(self, *statuses: dict[str, Any] | None) -> None:
        self.statuses = list(statuses)
        self.now_s = 0.0

    async def get(self, _path: str) -> dict[str, Any]:
        status = self.statuses.pop(0)
        if status is None:
            self.now_s += AWAY_S / 2
            raise Unreachable(GONE)
        return {"status": status}


def watched(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *statuses: dict[str, Any] | None,
) -> tuple[int, str]:
    """The exit status, and what was said on stderr."""
    answers = Answers(*statuses)

    @asynccontextmanager
    async def objects(_: Installation) -> AsyncIterator[Answers]:
        yield answers

    monkeypatch.setattr(watch, "cluster_objects", objects)
    monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: answers.now_s))
    status = watch_command("shop/learn", Installation())
    return status, " ".join(capsys.readouterr().err.split())


def test_one_that_never_answered_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = watched(monkeypatch, capsys, None)
    assert (status, said) == (1, f"plimsoll campaign watch: {GONE}")


def test_one_that_is_away_for_a_while_is_told_once_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = watched(monkeypatch, capsys, RUNNING, None, None, FINISHED)
    assert (status, said.count(f"{GONE}; it is asked again")) == (0, 1)


def test_one_that_stays_away_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = watched(monkeypatch, capsys, RUNNING, None, None, None)
    assert status == 1
    assert said.endswith(f"plimsoll campaign watch: {GONE}")
