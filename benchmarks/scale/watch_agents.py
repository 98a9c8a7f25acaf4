"""Plays the agents of fake nodes: they report their pods while these run, and once they ended."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import aiohttp

from benchmarks.scale.fake_nodes import at_once
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB

SENT_EVERY_S: Final = 1.0
"""How often an agent sends what is new."""
LIMIT_BYTES: Final = 128 * MIB


@dataclass(slots=True)
class Agents:
    """The agents of all nodes. url: it takes reports. nodes: pod UID -> the node that it is on."""

    session: aiohttp.ClientSession
    url: str
    nodes: Mapping[str, str]
    _peaks_bytes: Mapping[str, int] = field(init=False)
    """Half to all of each pod's limit."""
    _waiting: dict[str, list[str]] = field(init=False, default_factory=dict)
    """Node -> pods that ended, whose last reports the controller has not taken."""

    def __post_init__(self) -> None:
        draw = random.Random(0)
        self._peaks_bytes = {
            uid: round(draw.uniform(LIMIT_BYTES / 2, LIMIT_BYTES)) for uid in self.nodes
        }

    async def report_running(self, tell: Callable[[None], None]) -> None:
        """Report each pod once, as running. tell: is called after each node."""
        for node, uids in self._by_node(self.nodes).items():
            await self._send(node, uids, final=False)
            tell(None)

    async def report_ends(self, ended: Collection[str]) -> None:
        """Send each ended pod's last report, until cancelled. ended: UIDs; more come at its end."""
        read = 0
        while True:
            await asyncio.sleep(SENT_EVERY_S)
            new = [uid for uid in islice(ended, read, None) if uid in self.nodes]
            read = len(ended)
            for node, uids in self._by_node(new).items():
                self._waiting.setdefault(node, []).extend(uids)
            await at_once(self._deliver(node) for node in list(self._waiting))

    async def _deliver(self, node: str) -> None:
        """Send a node's last reports; a controller that does not take them gets them again."""
        try:
            await self._send(node, self._waiting[node], final=True)
        except (aiohttp.ClientError, TimeoutError):
            return
        del self._waiting[node]

    async def _send(self, node: str, uids: Iterable[str], *, final: bool) -> None:
        reports = [to_document(_report(uid, self._peaks_bytes[uid], final=final)) for uid in uids]
        async with self.session.post(self.url, json={"node": node, "reports": reports}) as said:
            said.raise_for_status()

    def _by_node(self, uids: Iterable[str]) -> dict[str, list[str]]:
        found = defaultdict[str, list[str]](list)
        for uid in uids:
            found[self.nodes[uid]].append(uid)
        return found


def _report(uid: str, peak_bytes: int, *, final: bool) -> PeakReport:
    return PeakReport(
        pod_uid=uid,
        container_id=None,
        need_peak_bytes=peak_bytes,
        kernel_peak_bytes=peak_bytes,
        working_set_peak_bytes=peak_bytes,
        anon_peak_bytes=peak_bytes,
        cpu_s=1.0,
        limit_bytes=LIMIT_BYTES,
        final=final,
        measured_s=time.time(),
    )
