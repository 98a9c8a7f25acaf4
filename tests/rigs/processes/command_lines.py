"""The command line, run within the tests' process or as one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pytest

from plimsoll_operator.__main__ import main

PLIMSOLL: Final = (sys.executable, "-P", "-m", "plimsoll_operator")
OF_A_CLUSTER: Final = ("KUBECONFIG", "PLIMSOLL_KUBECONFIG", "PLIMSOLL_STORE_URL")
"""Variables of the environment that name a cluster; the commands do not get them."""

Ended = subprocess.CompletedProcess[str]


def run_here(*words: str, folder: Path | None = None, **environment: str) -> Ended:
    """Run the command line in this process: a start and its imports cost seconds."""
    return called_here(main, ("plimsoll", *words), folder, environment)


def called_here(
    program: Callable[[], object],
    argv: Sequence[str],
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
) -> Ended:
    """Call a program's main function; return what it printed and its exit status."""
    # Of bytes, like a real one: output of other programs is passed on unchanged.
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    status: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", list(argv))
        patch.setattr(os, "environ", _environment(folder, {"COLUMNS": "80", **(environment or {})}))
        if folder is not None:
            patch.chdir(folder)
        try:
            program()
        except SystemExit as end:
            status = end.code or 0
    assert isinstance(status, int)
    return Ended(list(argv), status, _text(out), _text(err))


def run_apart(*words: str, folder: Path | None = None, **environment: str) -> Ended:
    """Run the command line as people do, in a process of its own."""
    return subprocess.run(
        [*PLIMSOLL, *words],
        cwd=folder,
        env=_environment(folder, environment),
        capture_output=True,
        text=True,
        check=False,
    )


def _text(printed: io.TextIOWrapper) -> str:
    printed.seek(0)
    return printed.read()


def _environment(folder: Path | None, changes: dict[str, str]) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k not in OF_A_CLUSTER}
    home = {"HOME": str(folder)} if folder is not None else {}
    return {**inherited, **home, **changes}
