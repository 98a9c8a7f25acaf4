"""Trainers that begin with their libraries loaded; the controllers that start them do not know it.

Loading a training's libraries takes 4.5 s of a processor; training on a test's dozen runs takes 0.1
s. So tests give their controllers an interpreter of their own: a server that has loaded the
libraries forks the trainers, and all else is plain Python. A search for a trainer among the
processes finds the one that the controller started. It ends as the forked one ends, and a kill of
it kills the forked one.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plimsoll_operator.training import feature_learning, shape_learning, spawning
from tests.rigs.processes.program_server import NUMERIC, a_program_server

COMMANDS: Final = (spawning.COMMAND, shape_learning.COMMAND, feature_learning.COMMAND)
MODULES: Final = tuple(command[-1] for command in COMMANDS)
_CHECKOUT: Final = Path(__file__).parents[3]
_BEFORE_THEM: Final = tuple(spawning.COMMAND[1:-1])
_INTERPRETER: Final = """\
#!{python} -IS
import os, signal, sys
words = sys.argv[1:]
if tuple(words[:{count}]) != {before!r} or words[{count}] not in {modules!r}:
    os.execv({python!r}, [{python!r}, *words])
import json, socket
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = {{"words": words[{count}:], "environment": dict(os.environ), "folder": os.getcwd()}}
socket.send_fds(server, [json.dumps(asked).encode() + b"\\n"], [0, 1, 2])
answer = server.makefile().read().split()
status = int(answer[-1]) if len(answer) > 1 else 70
if status < 0:
    signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter that forks trainers. folder: it makes processes use the interpreter."""

    program: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make processes, and all that they start, use it."""
        already = [path for path in [os.environ.get("PYTHONPATH")] if path]
        return {"PYTHONPATH": os.pathsep.join([str(self.folder), *already])}


@contextlib.contextmanager
def forked_trainers(imported: Sequence[str] = (*NUMERIC, *MODULES)) -> Iterator[Interpreter]:
    """Have an interpreter ready until the block ends. imported: what its server loads before."""
    with (
        tempfile.TemporaryDirectory(prefix="interpreter-") as made,
        a_program_server(__name__, imported, checkout=_CHECKOUT) as server,
    ):
        folder = Path(made)
        program = folder / "python"
        program.write_text(
            _INTERPRETER.format(
                python=sys.executable,
                count=len(_BEFORE_THEM),
                before=_BEFORE_THEM,
                modules=MODULES,
                address=str(server.address),
            )
        )
        program.chmod(0o755)
        (folder / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(program)!r}\n")
        yield Interpreter(program, folder)


def main() -> object:
    """Be the trainer that the words name. The server's forks begin here."""
    _, module, *words = sys.argv
    sys.argv = [module, *words]
    found = importlib.import_module(module)
    return getattr(found, "LEARNING", found).main()
