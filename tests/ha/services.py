"""One port for several replicas, like a Service: a connection goes to one that may have it."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import aiohttp

_CHUNK = 65536
_STANDS_BY = "standing by"


async def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def leads(port: int) -> bool:
    """Whether the controller there is ready and does not stand by."""
    timeout = aiohttp.ClientTimeout(total=1)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            return answer.status == 200 and not (await answer.text()).startswith(_STANDS_BY)
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False


@contextlib.asynccontextmanager
async def a_service(
    ports: Sequence[int], may_have: Callable[[int], Awaitable[bool]]
) -> AsyncIterator[int]:
    """Its port. may_have: whether a connection may go to the replica at a port now."""
    chance, pipes = random.Random(0), set[asyncio.Task[None]]()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            for port in chance.sample(ports, len(ports)):
                if await may_have(port):
                    there = await asyncio.open_connection("127.0.0.1", port)
                    with contextlib.closing(there[1]):
                        await _carry_both(reader, writer, *there)
                    return

    def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(join(reader, writer))
        pipes.add(task)
        task.add_done_callback(pipes.discard)

    server = await asyncio.start_server(joined, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in list(pipes):
            task.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)


async def _carry_both(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    there_reader: asyncio.StreamReader,
    there_writer: asyncio.StreamWriter,
) -> None:
    """Forward until either side ends."""
    ways = [
        asyncio.create_task(_carry(reader, there_writer)),
        asyncio.create_task(_carry(there_reader, writer)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
