"""Programs of Plimsoll whose processes begin with their imports done.

The imports of a training take two seconds of a processor, and tests start dozens of such processes.
A server has imported them once, and forks each process. From then on it is like any other: it has
its own memory, environment, folder, output and signals. A program on PATH may be such a process,
too, for shells.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

PLIMSOLL: Final = "plimsoll_operator.__main__"
ONE_THREAD: Final = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "MALLOC_ARENA_MAX": "1",
}
"""Variables of trainers, as controllers set them: libraries read them only while they load."""
NUMERIC: Final = (
    *("plimsoll_operator.processes.trainer", "skopt", "xgboost", "sklearn.svm"),
    "imblearn.over_sampling",
)
"""Modules of a program that trains."""
COMMANDS: Final = ("plimsoll_operator.cli", "plimsoll_operator.commands")
"""Modules of commands that do not train."""
_ENDED_WITHIN_S: Final = 180.0
_MOST_BYTES: Final = 1 << 20
_LAUNCHER: Final = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = {{"words": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}}
socket.send_fds(server, [json.dumps(asked).encode() + b"\\n"], [0, 1, 2])
answer = server.makefile().read().split()
sys.exit(int(answer[-1]) if len(answer) > 1 else 70)
"""


@dataclass(slots=True)
class Forked:
    """A process that a server forked, with the methods of Popen that tests use."""

    pid: int
    _connection: socket.socket
    returncode: int | None = field(default=None)

    def wait(self) -> int:
        """Wait until it has ended; its exit status, or the negative number of the signal."""
        if self.returncode is None:
            with self._connection, self._connection.makefile() as said:
                self.returncode = int(said.readline())
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal; nothing where it has ended, as Popen does."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def leave(self) -> None:
        """Stop waiting for the process, which ends it."""
        self._connection.close()


@dataclass(frozen=True, slots=True)
class ProgramServer:
    """A running server of one program. address: its socket."""

    address: Path

    def start(
        self,
        words: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        stdout: int | None = None,
    ) -> Forked:
        """Start the program. stdout: a descriptor; None for the tests' own."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.address))
        asked = {
            "words": list(words),
            "environment": dict(os.environ if environment is None else environment),
            "folder": str(folder or Path.cwd()),
        }
        descriptors = [0, 1 if stdout is None else stdout, 2]
        socket.send_fds(connection, [json.dumps(asked).encode() + b"\n"], descriptors)
        pid = b""
        while not pid.endswith(b"\n"):
            pid += (read := connection.recv(1))
            assert read, "the server of programs has ended"
        return Forked(int(pid), connection)

    def put_on_path(self, folder: Path, name: str = "plimsoll") -> Path:
        """Make a program for shells that the server forks; return it."""
        program = folder / name
        program.write_text(_LAUNCHER.format(python=sys.executable, address=str(self.address)))
        program.chmod(0o755)
        return program


@contextlib.contextmanager
def a_program_server(
    program: str = PLIMSOLL, imported: Sequence[str] = COMMANDS, *, checkout: Path | None = None
) -> Iterator[ProgramServer]:
    """Start one, and end it with all that it has started.

    program: a module with a ``main``. imported: modules, and packages with all their modules.
        checkout: where ``program`` is found, if it is not installed.
    """
    # The name of a socket may have 107 bytes at most, and pytest's folders may be longer.
    with tempfile.TemporaryDirectory(prefix="forks-") as folder:
        address = Path(folder) / "socket"
        command = [sys.executable, "-P", __file__, str(address), program, *imported]
        environment = {**os.environ, **ONE_THREAD}
        if checkout is not None:
            environment["PYTHONPATH"] = os.pathsep.join(map(str, (checkout, *sys.path)))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n", f"no server of {program}"
            yield ProgramServer(address)
        finally:
            process.terminate()
            process.communicate(timeout=_ENDED_WITHIN_S)


def serve(address: str, program: str, imported: Sequence[str]) -> NoReturn:
    """Fork the program for each client, until this process is asked to end."""
    for each in (program, *imported):
        _import(each)
    gc.freeze()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(16)
    print("ready", flush=True)
    waiting = selectors.DefaultSelector()
    waiting.register(listening, selectors.EVENT_READ)
    running: dict[int, tuple[int, socket.socket]] = {}
    signal.signal(signal.SIGTERM, lambda *_: _leave(running))
    while True:
        for key, _ in waiting.select():
            if key.fileobj is listening:
                connection, _ = listening.accept()
                pid = _fork(connection, program)
                ends = os.pidfd_open(pid)
                running[ends] = (pid, connection)
                waiting.register(ends, selectors.EVENT_READ)
                waiting.register(connection, selectors.EVENT_READ, pid)
                # Last: a client that hears of it may end this server at once, which then has to end
                # the program, too.
                connection.sendall(f"{pid}\n".encode())
            elif key.data is not None:
                # The client has closed the connection: it is gone, and nobody waits for the
                # program.
                waiting.unregister(key.fileobj)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(key.data, signal.SIGKILL)
            else:
                assert isinstance(key.fileobj, int)
                _tell(waiting, key.fileobj, *running.pop(key.fileobj))


def _import(name: str) -> None:
    module = importlib.import_module(name)
    if name.startswith("plimsoll_"):
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
            importlib.import_module(found.name)


def _tell(
    waiting: selectors.DefaultSelector, ends: int, pid: int, connection: socket.socket
) -> None:
    """Tell the client how its program has ended."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for each in (ends, connection):
        with contextlib.suppress(KeyError):
            waiting.unregister(each)
    os.close(ends)
    with connection, contextlib.suppress(OSError):
        connection.sendall(f"{status}\n".encode())


def _leave(running: Mapping[int, tuple[int, Any]]) -> NoReturn:
    for pid, _ in running.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _fork(connection: socket.socket, program: str) -> int:
    said, descriptors, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
    while not said.endswith(b"\n"):
        said += connection.recv(_MOST_BYTES)
    pid = os.fork()
    if pid == 0:
        _be_program(json.loads(said), descriptors, program)
    for each in descriptors:
        os.close(each)
    return pid


def _be_program(asked: Mapping[str, Any], descriptors: Sequence[int], program: str) -> NoReturn:
    status: object = 70
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number, each in enumerate(descriptors):
            os.dup2(each, number)
        # All else is the server's; the sockets of other programs must not stay open here.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.argv = ["plimsoll", *asked["words"]]
        status = importlib.import_module(program).main() or 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        if not isinstance(status, int):
            print(status, file=sys.stderr, flush=True)
        os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3:])
