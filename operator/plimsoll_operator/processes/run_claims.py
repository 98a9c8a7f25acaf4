"""What ``plimsoll run`` needs for itself: its folder, its ports, its webhook configuration."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import structlog

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import AlreadyThere, ApiError, NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.processes.ending import unless_terminated
from plimsoll_operator.processes.run_webhook import NAME, is_made_by_run

log = structlog.get_logger()

FREE_WITHIN_S: Final = 10.0
"""Children of a `plimsoll run` that was killed need some seconds to leave their ports."""
LOOK_EVERY_S: Final = 0.2
REMOVED_WITHIN_S: Final = 5.0
"""Whoever ends a run waits no longer for each answer of an API server that hangs. If the webhook
configuration stays, pods start as without it, some seconds later."""


class NotReady(Exception):
    """A part was not ready in time, or something is another's; the message says what to do."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep others out of the folder of a run, whose store and certificate are for one at a time.

    Raises:
        NotReady: if another run uses it.
    """
    with (folder / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotReady(
                f"another `plimsoll run` uses the folder {folder}: end that one, or name another"
                " folder with --state-dir"
            ) from None
        except OSError as error:  # some file systems have no locks
            log.warning(
                "two runs could use this folder at once", folder=str(folder), why=str(error)
            )
        yield


async def check_unclaimed(api: ApiServer, address: str) -> None:
    """Refuse to replace a webhook configuration that is not of a run at this address.

    Raises:
        NotReady: saying whose it is.
    """
    try:
        found = await api.get(f"{WEBHOOKS}/{NAME}")
    except NotFound:
        return
    if not is_made_by_run(found, address):
        raise NotReady(
            f"the cluster has a webhook configuration {NAME} that is not of this `plimsoll run`: it"
            f" sends pods to {_target(found)}. Uninstall that Plimsoll first; if nothing is left of"
            f" it: kubectl delete mutatingwebhookconfiguration {NAME}"
        )


@asynccontextmanager
async def registered(
    api: ApiServer, address: str, body: Mapping[str, Any], ending: asyncio.Event
) -> AsyncIterator[None]:
    """Have the webhook configuration while the context is open.

    It takes over what an earlier run at this address left, and deletes no other.

    Raises:
        NotReady: if there is another's.
        Terminated: if the end comes before it is made.
    """
    registering = asyncio.create_task(_register(api, address, body))
    try:
        await unless_terminated(ending, asyncio.shield(registering))
        yield
    finally:
        # If it is not answered yet, it could be carried out after the removal.
        await asyncio.wait([registering], timeout=REMOVED_WITHIN_S)
        registering.cancel()
        await asyncio.gather(registering, return_exceptions=True)
        await _unregister(api.within(REMOVED_WITHIN_S), address)


async def _register(api: ApiServer, address: str, body: Mapping[str, Any]) -> None:
    try:
        await api.create(WEBHOOKS, body)
    except AlreadyThere:
        await check_unclaimed(api, address)
        await api.patch(f"{WEBHOOKS}/{NAME}", body)


async def _unregister(api: ApiServer, address: str) -> None:
    path = f"{WEBHOOKS}/{NAME}"
    try:
        if is_made_by_run(await api.get(path), address):
            await api.delete(path)
    except NotFound:
        return
    except ApiError as error:
        log.warning("webhook configuration not removed; pods start as without it", error=str(error))


async def check_free(ports: Mapping[str, tuple[str, int]]) -> None:
    """Refuse to start where others listen: their answers would be taken for the children's.

    ports: option -> host and port; port 0 is any.

    Raises:
        NotReady: naming the option.
    """
    deadline_s = asyncio.get_running_loop().time() + FREE_WITHIN_S
    for option, (host, port) in ports.items():
        while port and _is_taken(host, port):
            if asyncio.get_running_loop().time() > deadline_s:
                raise NotReady(
                    f"port {port} of {host} is taken, by another `plimsoll run` perhaps; end that"
                    f" process, or name a free port with {option}"
                )
            await asyncio.sleep(LOOK_EVERY_S)


def _is_taken(host: str, port: int) -> bool:
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind) as held:
        # As the children's servers: connections that have just ended do not count.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(address)
        except OSError as error:
            # Whatever else is wrong with the address, the child says it in its log.
            return error.errno == errno.EADDRINUSE
    return False


def _target(configuration: Mapping[str, Any]) -> str:
    webhooks = configuration.get("webhooks") or [{}]
    client = webhooks[0].get("clientConfig") or {}
    service = client.get("service") or {}
    named = f"the Service {service.get('namespace')}/{service.get('name')}"
    return str(client.get("url") or (named if service else "nobody"))
