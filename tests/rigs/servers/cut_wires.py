"""A wire to a server that can be cut at a chosen moment."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Wire:
    """Forwards a local TCP port to another.

    cut_after: once these bytes went to the server, its answer to them is lost: the connection ends
        on our side, and the server has received all. None cuts nothing; a cut happens once.
    cut_before: as cut_after, but these bytes are lost: the server sees only the connection's end.
    silent: nothing is forwarded any more, and no connection ends, as when a machine is off.
    """

    server_port: int
    listening: socket.socket
    cut_after: bytes | None = None
    cut_before: bytes | None = None
    silent: bool = False
    cuts: int = 0
    ended: bool = False
    _threads: list[threading.Thread] = field(default_factory=list)
    _sockets: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Where to connect to instead."""
        return int(self.listening.getsockname()[1])

    def serve(self) -> None:
        """Forward until ``end``."""
        while True:
            try:
                ours, _ = self.listening.accept()
            except OSError:
                return
            theirs = socket.create_connection(("127.0.0.1", self.server_port))
            self._sockets += [ours, theirs]
            self._start(ours, theirs, to_server=True)
            self._start(theirs, ours, to_server=False)

    def end(self) -> None:
        """End all connections and threads."""
        self.ended = True
        for each in (self.listening, *self._sockets):
            _shut(each)
        for thread in self._threads:
            thread.join(10)
        for each in (self.listening, *self._sockets):
            each.close()

    def _start(self, source: socket.socket, target: socket.socket, *, to_server: bool) -> None:
        thread = threading.Thread(target=self._pump, args=(source, target, to_server))
        thread.start()
        self._threads.append(thread)

    def _pump(self, source: socket.socket, target: socket.socket, to_server: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while self.silent and not self.ended:
                    time.sleep(0.02)
                if to_server and self.cut_before is not None and self.cut_before in data:
                    self.cut_before = None
                    self.cuts += 1
                    break
                cuts = to_server and self.cut_after is not None and self.cut_after in data
                if cuts:
                    self.cut_after = None
                    self.cuts += 1
                    # Before the server receives it: its answer may be quicker than we are.
                    _shut(source)
                target.sendall(data)
                if cuts:
                    # The server does what it was told before it sees the end.
                    time.sleep(0.2)
        _shut(source)
        _shut(target)


@contextmanager
def a_wire(server_port: int) -> Iterator[Wire]:
    """A wire on threads of its own: its user may block."""
    wire = Wire(server_port, socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=wire.serve)
    thread.start()
    try:
        yield wire
    finally:
        wire.end()
        thread.join(10)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
