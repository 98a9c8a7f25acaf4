"""The agent's /metrics: served where asked for, and true."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.agent.alarm_sender import AlarmSender
from plimsoll_operator.agent.metrics import AgentMetrics, shown
from plimsoll_operator.agent.near_limit import NearLimit
from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.outbox import Key, Outbox, Waiting
from plimsoll_operator.agent.pod_cgroups import Version
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.peaks import PeakReport
from tests.rigs.processes.command_lines import run_here


def settings_in(folder: Path, port: int | None) -> AgentSettings:
    return AgentSettings(
        controller_url="http://127.0.0.1:9",
        token_file=folder / "token",
        node_name="n1",
        state_dir=folder,
        metrics_listen_host="127.0.0.1",
        metrics_listen_port=port,
    )


def a_report(*, final: bool) -> PeakReport:
    return PeakReport(
        pod_uid="uid",
        container_id=None,
        need_peak_bytes=1,
        kernel_peak_bytes=1,
        working_set_peak_bytes=1,
        anon_peak_bytes=1,
        cpu_s=0.0,
        limit_bytes=None,
        final=final,
        measured_s=0.0,
    )


def metrics_of(*, followed: int = 0, dropped: int = 0, waiting: int = 0) -> AgentMetrics:
    """Metrics of an agent with that many followed cgroups and dropped and waiting reports."""
    outbox = Outbox(2**20, 60.0, time.monotonic)
    reports = [replace(a_report(final=False), pod_uid=f"uid-{n}") for n in range(dropped + waiting)]
    outbox.restore(Waiting(report, 120.0) for report in reports[:dropped])
    outbox.offer(reports[dropped:])
    restored: dict[Key, Peaks] = {(f"uid-{n}", None): Peaks() for n in range(followed)}
    sampler = Sampler(Version.V2, restored, time.time)
    near = NearLimit(Version.V2, sampler.last, time.monotonic)
    return AgentMetrics(outbox, sampler, near, AlarmSender("n1", lambda *_: (204, ""), lambda: 0))


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


@pytest.mark.slow
def test_what_the_agent_holds_and_did_is_shown(tmp_path: Path) -> None:
    metrics = metrics_of(followed=7, dropped=2, waiting=3)
    with shown(metrics, settings_in(tmp_path, 0)) as port:
        assert port is not None
        metrics.ticked(0.02, 1_700_000_000.0)
        metrics.reported([a_report(final=True), a_report(final=False), a_report(final=False)])
        text = scraped(port)
    for line in (
        "plimsoll_agent_cgroups 7.0",
        "plimsoll_agent_reports_waiting 3.0",
        "plimsoll_agent_reports_dropped_total 2.0",
        'plimsoll_agent_reports_total{final="true"} 1.0',
        'plimsoll_agent_reports_total{final="false"} 2.0',
        "plimsoll_agent_last_tick_timestamp_seconds 1.7e+09",
        'plimsoll_agent_tick_seconds_bucket{le="0.025"} 1.0',
    ):
        assert f"{line}\n" in text


def test_nothing_is_served_unless_asked_for(tmp_path: Path) -> None:
    before = threading.active_count()
    with shown(metrics_of(), settings_in(tmp_path, None)) as port:
        assert port is None
        assert threading.active_count() == before


@pytest.mark.slow
def test_the_port_is_free_again_afterwards(tmp_path: Path) -> None:
    with shown(metrics_of(), settings_in(tmp_path, 0)) as port:
        assert port is not None
    taken = settings_in(tmp_path, port)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="in use"):
        shown(metrics_of(), taken).__enter__()


def test_its_environment_says_where_they_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[AgentSettings] = []
    monkeypatch.setattr("plimsoll_operator.processes.agent.serve", given.append)
    monkeypatch.setattr("plimsoll_operator.processes.logs.log_as_records", lambda: None)
    words = ["--controller", "http://c:8081", "--node-name", "n1", "--metrics-port", "0"]
    words += ["--token-file", str(tmp_path / "token"), "--state-dir", str(tmp_path)]
    done = run_here("agent", *words, PLIMSOLL_METRICS_LISTEN_HOST="::1")
    assert done.returncode == 0, done.stderr
    (settings,) = given
    assert settings.metrics_listen_host == "::1"
