"""A real Prometheus on loopback, with a past made by promtool or with targets to scrape."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rigs.servers.ports import free_port

START_WITHIN_S = 300.0
MISSING = "Debian's prometheus is not installed: apt-get install --no-install-recommends prometheus"


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running server."""

    url: str

    def query(self, promql: str, at_s: float | None = None) -> list[dict[str, Any]]:
        """The series of an instant query; an error of the server fails the test."""
        asked = {"query": promql, **({} if at_s is None else {"time": f"{at_s:.3f}"})}
        return list(self._get("query", asked)["result"])

    def query_range(self, promql: str, start_s: float, end_s: float) -> list[dict[str, Any]]:
        """The series of a query over time, some sixty steps."""
        step_s = max(1.0, (end_s - start_s) / 60)
        asked = {"query": promql, "start": str(start_s), "end": str(end_s), "step": f"{step_s:.3f}"}
        return list(self._get("query_range", asked)["result"])

    def until(self, promql: str, within_s: float = 180.0) -> list[dict[str, Any]]:
        """Wait until the query has an answer."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if found := self.query(promql):
                return found
            time.sleep(0.2)
        raise AssertionError(f"no answer within {within_s:.0f} s: {promql}")

    def _get(self, endpoint: str, asked: Mapping[str, str]) -> Any:
        url = f"{self.url}/api/v1/{endpoint}?{urllib.parse.urlencode(asked)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{asked['query']}: {error.read().decode()}") from error
        assert body["status"] == "success", body
        return body["data"]


@contextmanager
def a_prometheus(
    folder: Path,
    *,
    past: str | None = None,
    scraping: Sequence[Mapping[str, Any]] = (),
    flags: Sequence[str] = (),
) -> Iterator[Prometheus]:
    """A server for as long as the context is open.

    past: OpenMetrics text for blocks. scraping: scrape_configs. flags: more command-line flags.
    """
    program, promtool = shutil.which("prometheus"), shutil.which("promtool")
    assert program, MISSING
    assert promtool, MISSING
    data = folder / "data"
    data.mkdir(parents=True)
    if past is not None:
        (folder / "past.om").write_text(past)
        make = (promtool, "tsdb", "create-blocks-from", "openmetrics", "past.om", str(data))
        done = subprocess.run(make, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    settings = {"global": {"scrape_interval": "1s"}, "scrape_configs": list(scraping)}
    (folder / "prometheus.yml").write_text(json.dumps(settings))
    port = free_port()
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
        *flags,
    ]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_ready(url, process, folder / "log")
            yield Prometheus(url)
        finally:
            process.terminate()


def _wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_WITHIN_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"Prometheus is not ready: {log.read_text()}")
