"""Credentials that an API server refuses once are shown to it again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import kopf
import pytest
import yaml
from kopf._cogs.structs.credentials import Vault

from plimsoll_operator.kube.login import CALM_S, LONGEST_S, login_with

PROXY = "http://127.0.0.1:3128"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    cluster = {"server": "http://127.0.0.1:1", "proxy-url": PROXY}
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "it", "cluster": cluster}],
                "users": [{"name": "it", "user": {"token": "the-token"}}],
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "current-context": "it",
            }
        )
    )
    return str(path)


class Operator:
    """kopf's store of credentials, which logs in anew when they are refused."""

    def __init__(self, kubeconfig: str) -> None:
        self.now_s = 1000.0
        self._login = login_with(kubeconfig, None, lambda: self.now_s, pause_s=0.0)
        self._vault = Vault()

    async def begins(self) -> None:
        await self._vault.populate({"login": await self._login()})

    async def is_refused(self) -> str | None:
        """Be refused once. Return the token that is shown next."""
        key, item = self._vault.select()
        refused = asyncio.create_task(self._vault.invalidate(key, item.info))
        await self._vault.wait_for_emptiness()
        await self._vault.populate({"login": await self._login()})
        await refused
        _, item = self._vault.select()
        assert isinstance(item.info, kopf.ConnectionInfo)
        return item.info.token


async def test_a_token_that_is_refused_once_is_shown_again(kubeconfig: str) -> None:
    operator = Operator(kubeconfig)
    await operator.begins()
    assert await operator.is_refused() == "the-token"


async def test_a_token_that_is_refused_now_and_then_is_shown_again_for_ever(
    kubeconfig: str,
) -> None:
    operator = Operator(kubeconfig)
    await operator.begins()
    for _ in range(20):
        operator.now_s += CALM_S + 1
        assert await operator.is_refused() == "the-token"


async def test_a_token_that_stays_refused_ends_the_operator(kubeconfig: str) -> None:
    operator = Operator(kubeconfig)
    await operator.begins()
    for _ in range(round(LONGEST_S)):
        operator.now_s += 1
        assert await operator.is_refused() == "the-token"
    operator.now_s += 1
    with pytest.raises(kopf.LoginError):
        await operator.is_refused()


async def test_a_login_after_the_first_waits(kubeconfig: str) -> None:
    login = login_with(kubeconfig, None, pause_s=60.0)
    await login()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(login(), 0.05)


async def test_kopf_takes_the_proxies_that_our_own_calls_take(kubeconfig: str) -> None:
    login = await login_with(kubeconfig, None)()
    assert login.proxy_url == PROXY
    assert login.trust_env
