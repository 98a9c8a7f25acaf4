"""Starts a controller on thousands of finished pods: each is observed once; memory, calls.

Runs inside the local cluster's network namespace (``make bench`` arranges that).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
from kubernetes_asyncio import client
from rich.progress import Progress

from tests.apiserver.controllers import Shop, a_controller, a_shop, observed

AT_ONCE = 16
SETTLED_S = 5.0
"""Without a new observation for this long, the controller is done."""


async def watch(kubeconfig: Path, pods: int) -> dict[str, float]:
    """Create ``pods`` finished pods, start a controller on them, and count."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with a_shop(kubeconfig) as shop:
            await _finished(shop, pods)
            before = await _calls(shop)
            began_s = time.monotonic()
            async with a_controller(kubeconfig, folder, preloaded=False) as controller:
                seen = await _until_settled(shop, folder, pods)
                took_s = time.monotonic() - began_s
                memory = psutil.Process(controller.pid).memory_info().rss
                peak = _peak_rss_bytes(controller.pid)
            calls = await _calls(shop) - before
            uids = {each.attempt_uid for each in observed(folder, shop.task())}
            rows = len(observed(folder, shop.task()))
    if not rows == len(uids) == pods:
        raise SystemExit(f"bench watch: {pods} pods, {rows} observations of {len(uids)} uids")
    return {
        "watched_pods": seen,
        "watch_api_calls": calls,
        "watch_rss_mb": max(memory, peak) / 1e6,
        "watch_s": took_s,
    }


async def _finished(shop: Shop, pods: int) -> None:
    with Progress(transient=True) as progress:
        bar = progress.add_task("creating finished pods", total=pods)

        async def one(number: int) -> None:
            await shop.pod(f"run-{number}")
            await shop.end(f"run-{number}", "succeeded")
            progress.advance(bar)

        await _at_most(AT_ONCE, one, range(pods))


async def _at_most(count: int, work: Callable[[int], Awaitable[None]], numbers: range) -> None:
    waiting = iter(numbers)

    async def worker() -> None:
        for number in waiting:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(count)))


async def _until_settled(shop: Shop, folder: Path, pods: int) -> int:
    deadline_s = time.monotonic() + 300
    while time.monotonic() < deadline_s:
        seen = len(observed(folder, shop.task()))
        if seen >= pods:
            await asyncio.sleep(SETTLED_S)
            return seen
        await asyncio.sleep(1)
    raise SystemExit(f"bench watch: not all {pods} pods were observed within 300 s; see its log")


async def _calls(shop: Shop) -> float:
    """Requests the API server has answered to the controller's kind of client, from its metrics."""
    text = await _raw(shop.core.api_client, "/metrics")
    ours = re.compile(
        r'^apiserver_request_total\{[^}]*resource="(?:pods|events|taskprofiles|sizingpolicies|nodes'
        r'|limitranges|resourcequotas)"[^}]*\} (\S+)$',
        re.MULTILINE,
    )
    return sum(float(count) for count in ours.findall(text))


async def _raw(api: client.ApiClient, path: str) -> str:
    answer: Any = await api.call_api(
        path, "GET", auth_settings=["BearerToken"], _preload_content=False, response_types_map={}
    )
    return str(await answer.text())


def _peak_rss_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--pods", type=int, default=5000)
    chosen = parser.parse_args()
    json.dump(asyncio.run(watch(chosen.kubeconfig, chosen.pods)), sys.stdout)
