"""Fixtures of all folders: the real cluster, PostgreSQL, and how much tests draw at random."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deploy.local import lifecycle
from deploy.local.layout import layout_from
from deploy.local.machine.namespaces import is_inside_network, move_into_network

from tests.rigs.compiled_statements import share_compiled_statements
from tests.rigs.drawing import register_profiles
from tests.rigs.memory_folder import keep_files_in_memory
from tests.rigs.processes.program_server import a_program_server
from tests.rigs.servers.databases import PostgreSQL, postgresql_server
from tests.rigs.speed import Speed

keep_files_in_memory()
share_compiled_statements()
register_profiles()
# Until all tests are collected; see pytest_collection_finish.
gc.disable()


def pytest_configure() -> None:
    """Let Ctrl-C end what tests start: in a script's background it would be ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Hide the collected tests from the garbage collector: they are many, and none is garbage."""
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How often tests kill at random, how much they replay, and what speed they have to reach."""
    parser.addoption("--rounds", type=int, default=4, help="kills at random moments in a test")
    alone = "nothing else loads the machine: what is promised in seconds is held"
    whole = "public logs are replayed to their end, which takes minutes"
    parser.addoption("--whole", action="store_true", help=whole)
    parser.addoption("--alone", action="store_true", help=alone)


@pytest.fixture(scope="session")
def rounds(pytestconfig: pytest.Config) -> int:
    """How many times a test kills at a random moment."""
    found: int = pytestconfig.getoption("rounds")
    return found


@pytest.fixture(scope="session")
def speed(pytestconfig: pytest.Config) -> Speed:
    """What holds tests marked ``timed`` to their seconds, in `make bench-alone`."""
    return Speed(alone=pytestconfig.getoption("alone"))


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. The tests' process is in its network: 127.0.0.1:6443 is its API."""

    handle: lifecycle.Cluster

    @property
    def kubeconfig(self) -> Path:
        return self.handle.layout.kubeconfig

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """Run kubectl as administrator; return what it printed. Its error fails the test."""
        told = any(word.startswith("--timeout") for word in words)
        assert told or words[0] != "wait", "kubectl waits for 30 s only, unless it is told"
        done = subprocess.run(
            self.handle.kubectl(*words), input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def get(self, *words: str) -> Any:
        """Run ``kubectl get … -o json`` and read it."""
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def apply(self, manifest: Mapping[str, Any], *words: str) -> None:
        """Run ``kubectl apply`` on one object."""
        self.kubectl("apply", "-f", "-", *words, stdin=json.dumps(manifest))

    def enter(self, argv: Sequence[str]) -> list[str]:
        """Make the command line that runs another one in the cluster's network."""
        return self.handle.enter(argv)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The checkout's cluster. It stays up if it was up before, else it is taken down."""
    handle = lifecycle.Cluster(layout_from(os.environ), dict(os.environ))
    started = lifecycle.up(handle, lambda text: print(text, file=sys.stderr))
    try:
        inside = is_inside_network(handle.layout.netns)
        leave = None if inside else move_into_network(handle.layout.netns)
        try:
            yield Cluster(handle)
        finally:
            if leave is not None:
                leave()
    finally:
        if started:
            lifecycle.down(handle)


@pytest.fixture(scope="session")
def program(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """``plimsoll`` in the cluster's network, its imports done: for tests that run it often."""
    with a_program_server() as server:
        yield server.put_on_path(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server for all tests of this run."""
    with postgresql_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a new store, on either database."""
    yield from _address(request, tmp_path, empty=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database of either kind, without any table."""
    yield from _address(request, tmp_path, empty=True)


def _address(request: pytest.FixtureRequest, folder: Path, *, empty: bool) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{folder}/store.db"
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    name = server.new_database(empty=empty)
    yield server.url(name)
    server.drop(name)
