"""An admission replica's watch of what waits, with a clock that tests set."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll_operator.admission.letting_go.api_calls import ApiAddress, ApiCalls
from plimsoll_operator.admission.letting_go.gate_watch import GateWatch
from plimsoll_operator.ordering.why import Why
from plimsoll_operator.pods.status import read_time
from tests.builders.kubernetes.gate_servers import GateServer, a_gate_server
from tests.rigs.servers.admission_servers import Pair

CREATED_S = read_time("2026-11-23T12:00:00Z") or 0.0


@dataclass
class Watching:
    """The watch, and the server that it looks at."""

    server: GateServer
    watch: GateWatch
    counted: Counter[Why]
    now_s: float = 1000.0

    async def after(self, seconds: float, *, renewed: bool = False) -> None:
        """Look again that much later."""
        self.now_s += seconds
        if renewed:
            self.server.renew()
        await self.watch.look()


@asynccontextmanager
async def a_watch(folder: Path) -> AsyncIterator[Watching]:
    """Of pods, while somebody leads."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(a_gate_server())
        server.now_s = CREATED_S + 1.0
        server.renew()
        pair = Pair.make(folder)
        token = folder / "token"
        token.write_text("a-token")
        calls = ApiCalls(ApiAddress(server.url, token, pair.certificate_file))
        stack.push_async_callback(calls.close)
        counted = Counter[Why]()
        watch = GateWatch(
            calls=calls,
            lease=("plimsoll", "plimsoll-controller"),
            now_s=lambda: made.now_s,
            count=lambda why: counted.update([why]),
            chance=random.Random(1),
        )
        made = Watching(server, watch, counted)
        yield made
