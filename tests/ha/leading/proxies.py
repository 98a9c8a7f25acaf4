"""A network that can be cut: connections stay open, and nothing comes through any more."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import Cluster

_CHUNK = 65536


@dataclass(slots=True)
class Network:
    """The network through which one controller reaches others. When cut, it swallows all data."""

    _whole: asyncio.Event = field(default_factory=asyncio.Event)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _pipes: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._whole.set()

    def cut(self) -> None:
        self._whole.clear()

    async def way_to(self, host: str, port: int) -> int:
        """A port of this machine that leads there."""

        async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers.add(writer)
            await self._whole.wait()
            try:
                there_reader, there_writer = await asyncio.open_connection(host, port)
            except OSError:
                writer.close()
                return
            self._writers.add(there_writer)
            self._pipe(reader, there_writer)
            self._pipe(there_reader, writer)

        server = await asyncio.start_server(joined, "127.0.0.1", 0)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def carry() -> None:
            with contextlib.suppress(OSError):
                while chunk := await reader.read(_CHUNK):
                    await self._whole.wait()
                    writer.write(chunk)
                    await writer.drain()
            writer.close()

        task = asyncio.create_task(carry())
        self._pipes.add(task)
        task.add_done_callback(self._pipes.discard)

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._pipes):
            task.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def a_network() -> AsyncIterator[Network]:
    network = Network()
    try:
        yield network
    finally:
        await network.close()


async def kubeconfig_through(network: Network, cluster: Cluster, path: Path) -> Path:
    """An administrator's kubeconfig whose API server lies behind the network."""
    words = ("config", "view", "--raw", "--flatten", "--minify", "-o", "json")
    found = json.loads(cluster.kubectl(*words))
    server = found["clusters"][0]["cluster"]["server"]
    host, _, port = server.removeprefix("https://").rpartition(":")
    found["clusters"][0]["cluster"]["server"] = (
        f"https://127.0.0.1:{await network.way_to(host, int(port))}"
    )
    path.write_text(json.dumps(found))
    path.chmod(0o600)
    return path
