"""`plimsoll enforce` asks before it writes, and one Ctrl-C is enough to say no."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plimsoll_operator.commands.modes import enforce
from plimsoll_operator.commands.modes.enforce import NOT_CONFIRMED, mode_command
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.errors import NotFound
from plimsoll_predictor.core.policy import Mode


class Cluster:
    """An API server without any policy or task; it keeps what is written."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    async def get(self, path: str) -> Any:
        raise NotFound(path)

    async def items(self, _path: str, _query: object = None) -> list[Any]:
        return []

    async def patch(self, path: str, _body: Any) -> Any:
        raise NotFound(path)

    async def create(self, _path: str, body: Any) -> Any:
        self.written.append(body)
        return body


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()

    @asynccontextmanager
    async def objects(_: Installation) -> AsyncIterator[Cluster]:
        yield made

    monkeypatch.setattr(enforce, "cluster_objects", objects)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    return made


def enforce_shop() -> int:
    return mode_command(Mode.ENFORCE, None, "shop", Installation(), ask=True)


@pytest.mark.parametrize(
    ("answer", "status", "written"), [("y", 0, 1), ("n", NOT_CONFIRMED, 0), ("", NOT_CONFIRMED, 0)]
)
def test_nothing_is_written_without_a_yes(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster, answer: str, status: int, written: int
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert (enforce_shop(), len(cluster.written)) == (status, written)


def test_the_first_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
    """While asyncio runs, it takes the first one for itself, and the question goes on waiting."""

    def interrupted(_: str) -> str:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    with pytest.raises(KeyboardInterrupt):
        enforce_shop()
    assert cluster.written == []
