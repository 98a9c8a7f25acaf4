"""Ports for servers that tests start."""

from __future__ import annotations

import contextlib
import errno
import random
import socket
from typing import Final

_PORTS: Final = range(20_000, 30_000)
"""Below those that Linux gives to connections, and those of NodePorts. A port that is free now is
still free when its server starts, however many connections others open meanwhile."""


def free_port() -> int:
    """A port of 127.0.0.1 that was free, in the caller's network."""
    return free_ports(1)[0]


def free_ports(count: int) -> tuple[int, ...]:
    """So many of them."""
    found = list[int]()
    with contextlib.ExitStack() as held:
        # Others choose at the same moment, from the same ports.
        for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
            probe = held.enter_context(socket.socket())
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            found.append(port)
            if len(found) == count:
                break
    return tuple(found)
