"""A real PostgreSQL for tests: Debian's, as an unprivileged user, gone when they end."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from plimsoll_predictor.store import Store
from tests.rigs.servers.ports import free_port

USER = "plimsoll"
PASSWORD = "a-test's-password"
_TEMPLATE = "plimsoll_template"
_STOPS_WITHIN_S = 60.0
_STILL = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
_GUARD = """
trap '' INT TERM HUP
cat
if read -r head < data/postmaster.pid; then
  kill -CONT $head $(cat /proc/$head/task/$head/children)
  "$1" stop -D data -w -m immediate
fi
cd / && rm -rf "$0"
"""
"""Waits for the end of the process that started it, however it ends, then removes the server."""
_SETTINGS = {
    # Nothing here outlives the tests: a power cut may lose it.
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "log_min_messages": "warning",
}


@dataclass(slots=True)
class PostgreSQL:
    """One server with many databases. listen: addresses besides the socket and 127.0.0.1."""

    folder: Path
    port: int
    listen: str = "127.0.0.1"
    _templated: bool = field(default=False, init=False)

    def url(self, database: str, host: str | None = None) -> str:
        """A database's address; by the socket, or by TCP to ``host``."""
        secret = PASSWORD.replace("'", "%27")
        if host is None:
            return f"postgresql://{USER}:{secret}@/{database}?host={self.folder}&port={self.port}"
        return f"postgresql://{USER}:{secret}@{host}:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {**_SETTINGS, "listen_addresses": self.listen, "port": str(self.port)}
        words = [f"-c {name}={value}" for name, value in settings.items()]
        log = self.folder / "log"
        self._pg(
            "pg_ctl", "start", "-w", "-l", str(log), "-o", " ".join([*words, f"-k {self.folder}"])
        )

    def stop(self, how: str = "fast") -> None:
        """End it. how: fast ends all connections; immediate is a crash."""
        self._pg("pg_ctl", "stop", "-w", "-m", how)

    @contextmanager
    def away(self, how: str = "fast") -> Iterator[None]:
        """The server is stopped inside the block."""
        self.stop(how)
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def standing_by(self) -> Iterator[None]:
        """It is a standby inside the block, without a primary; then it takes over."""
        self.stop()
        (self.folder / "data" / "standby.signal").touch()
        self.start()
        try:
            yield
        finally:
            self._pg("pg_ctl", "promote", "-w")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """All its processes stand still inside the block: connections stay open without answers."""
        processes = [self._head()]
        try:
            # The head first: from then on it has no new children.
            _stop(processes[0])
            processes = self.processes()
            for process in processes[1:]:
                _stop(process)
            yield
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def processes(self) -> list[int]:
        """The server's and its children's numbers."""
        head = self._head()
        children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
        return [head, *map(int, children)]

    def _head(self) -> int:
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def new_database(self, *, empty: bool = False) -> str:
        """Make a database and return its name; with the store's tables, if not empty."""
        name = f"t{secrets.token_hex(6)}"
        if not empty and not self._templated:
            self._create(_TEMPLATE, "template1")
            Store.open(self.url(_TEMPLATE), busy_timeout_s=30.0).close()
            self._templated = True
        self._create(name, "template1" if empty else _TEMPLATE)
        return name

    def drop(self, database: str) -> None:
        """Remove a database, even if it is in use."""
        with self.administering() as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database))
            )

    @contextmanager
    def administering(self, database: str = "postgres") -> Iterator[psycopg.Connection[Any]]:
        """A superuser's connection."""
        with psycopg.connect(
            host=str(self.folder),
            port=self.port,
            user=_owner() or os.environ.get("USER", "root"),
            dbname=database,
            autocommit=True,
        ) as connection:
            yield connection

    def make(self) -> None:
        """Make the data folder, once."""
        data = self.folder / "data"
        self._run(
            "initdb",
            "-D",
            str(data),
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
        )
        with (data / "pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write("host all all 0.0.0.0/0 scram-sha-256\n")

    def let_in(self) -> None:
        """Make the database user that has the tests' name."""
        with self.administering() as connection:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                    sql.Identifier(USER), sql.Literal(PASSWORD)
                )
            )

    def _create(self, name: str, template: str) -> None:
        with self.administering() as connection:
            # PostgreSQL 15's default, to write each page to the log, takes three times as long.
            copy = " STRATEGY file_copy" if connection.info.server_version >= 150_000 else ""
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}" + copy).format(
                    *map(sql.Identifier, (name, USER, template))
                )
            )

    def _pg(self, program: str, *words: str) -> None:
        self._run(program, "-D", str(self.folder / "data"), *words)

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [str(_binaries() / program), *words],
            user=_owner(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        log = self.folder / "log"
        said = log.read_text() if done.returncode and log.exists() else ""
        assert done.returncode == 0, f"{program}: {done.stdout}{said}"


@contextmanager
def postgresql_server(listen: str = "127.0.0.1") -> Iterator[PostgreSQL]:
    """A server of its own, in a folder of its own; ended and removed afterwards.

    listen: addresses for TCP, such as ``*`` for pods.
    """
    # Not in pytest's folder: only root can read that, and the server is another user.
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-pg-"))
    if (owner := _owner()) is not None:
        shutil.chown(folder, owner)
    with _guarded(folder):
        server = PostgreSQL(folder, free_port(), listen)
        server.make()
        server.start()
        server.let_in()
        yield server


def _guarded(folder: Path) -> subprocess.Popen[bytes]:
    """End the server in a folder and remove both, at the end of the block or of this process."""
    return subprocess.Popen(
        ["sh", "-c", _GUARD, str(folder), str(_binaries() / "pg_ctl")],
        # Processes of an interrupted run are found by their environment.
        env={"PATH": os.defpath}, user=_owner(), cwd=folder, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _stop(process: int) -> None:
    """Stop a process, and wait until it stands still. A connection's may just have ended."""
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        os.kill(process, signal.SIGSTOP)
        until_s = time.monotonic() + _STOPS_WITHIN_S
        while psutil.Process(process).status() not in _STILL:
            assert time.monotonic() < until_s, f"process {process} does not stop"
            time.sleep(0.001)


def _owner() -> str | None:
    """PostgreSQL will not run as root; Debian's package brings a user for it."""
    return "postgres" if os.geteuid() == 0 else None


def _binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("postgres")
    assert elsewhere, "the tests need PostgreSQL; as root: apt-get install postgresql"
    return Path(elsewhere).parent
