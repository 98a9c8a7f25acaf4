"""Runs one command in a container over the API server's exec.

Before version 5, which few servers have, the channel protocol cannot say that standard input ends.
A command that reads it has to know the number of bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import aiohttp
from kubernetes_asyncio import client
from kubernetes_asyncio.stream import WsApiClient

from plimsoll_operator.kube.errors import ApiError, Refused, Unreachable

STDIN, STDOUT, STDERR, STATUS = range(4)
CHUNK_BYTES: Final = 32 * 1024
HEARTBEAT_S: Final = 15.0
"""Proxies often cut a connection that is silent for a minute."""
MOST_STDERR_BYTES: Final = 1024 * 1024
Sink = Callable[[bytes], object]


class Broken(ApiError):
    """The connection ended before the command."""


class TooMuch(ApiError):
    """The command printed more than is accepted."""


@dataclass(frozen=True, slots=True)
class PodContainer:
    """The pod and container in which a command runs."""

    namespace: str
    name: str
    container: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The source and the target of a command's bytes.

    stdin: read to its end; None gives the command none. most_bytes: of standard output.
    """

    stdout: Sink
    stderr: Sink
    most_bytes: int
    stdin: BinaryIO | None = None


async def run_in_pod(
    settings: client.Configuration, pod: PodContainer, argv: Sequence[str], streams: Streams
) -> int:
    """Run a command; the result is its exit status.

    Raises:
        Refused: if RBAC or the container's image does not allow it.
        Unreachable: if nobody answers.
        Broken: if the exit status is missing.
        TooMuch: if it printed more than ``streams.most_bytes``.
    """
    where = f"pod {pod.namespace}/{pod.name}"
    async with WsApiClient(settings, heartbeat=HEARTBEAT_S) as api:
        try:
            opened = await client.CoreV1Api(api).connect_get_namespaced_pod_exec(
                pod.name,
                pod.namespace,
                command=list(argv),
                container=pod.container,
                stdin=streams.stdin is not None,
                stdout=True,
                stderr=True,
                tty=False,
                _preload_content=False,
            )
            async with opened as channel:
                return await _talk(channel, streams, where)
        except aiohttp.WSServerHandshakeError as error:
            raise _refusal(error, where) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{where} cannot be reached by exec: {error}") from error


async def _talk(channel: aiohttp.ClientWebSocketResponse, streams: Streams, where: str) -> int:
    feeding = asyncio.create_task(_feed(channel, streams.stdin)) if streams.stdin else None
    try:
        return await _listen(channel, streams, where)
    finally:
        if feeding is not None:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)


async def _feed(channel: aiohttp.ClientWebSocketResponse, stdin: BinaryIO) -> None:
    while chunk := await asyncio.to_thread(stdin.read, CHUNK_BYTES):
        await channel.send_bytes(bytes([STDIN]) + chunk)


async def _listen(channel: aiohttp.ClientWebSocketResponse, streams: Streams, where: str) -> int:
    received = {STDOUT: 0, STDERR: 0}
    most = {STDOUT: streams.most_bytes, STDERR: MOST_STDERR_BYTES}
    sinks = {STDOUT: streams.stdout, STDERR: streams.stderr}
    async for message in channel:
        data = message.data if isinstance(message.data, bytes) else str(message.data).encode()
        kind, data = data[0] if data else -1, data[1:]
        if kind == STATUS:
            return exit_status(data, where)
        if kind in sinks and data:
            received[kind] += len(data)
            if received[kind] > most[kind]:
                raise TooMuch(f"{where} sends more than {most[kind] >> 20} MiB; ask for less")
            sinks[kind](data)
    raise Broken(f"the connection to {where} ended before the command did; run it again")


def exit_status(data: bytes, where: str) -> int:
    """Return the exit status from the last message of the status channel.

    Raises:
        Refused: if the command could not be run at all.
    """
    try:
        status: dict[str, Any] = json.loads(data)
    except ValueError as error:
        raise Broken(f"{where}: nothing tells how the command ended: {data[:200]!r}") from error
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or []
    for cause in causes:
        if cause.get("reason") == "ExitCode" and str(cause.get("message")).isdigit():
            return int(cause["message"])
    raise Refused(f"{where} cannot run it: {str(status.get('message') or status)[:300]}")


def _refusal(error: aiohttp.WSServerHandshakeError, where: str) -> ApiError:
    if error.status in (401, 403):
        # By a websocket, exec is a GET; since Kubernetes 1.35, its API server asks for create, too.
        return Refused(
            f"you may not run commands in {where} (get and create on pods/exec are needed there):"
            " ask who may, or name the store itself with --store"
        )
    if error.status == 404:
        return Unreachable(f"{where} is gone; try again in some seconds")
    return Unreachable(f"{where} cannot be reached by exec: {error.status} {error.message}")
