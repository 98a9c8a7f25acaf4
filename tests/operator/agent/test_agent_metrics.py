"""The agent's /metrics: served where asked for, and true."""

from __future__ import annotations

import socket
import threading
import urllib.request
from pathlib import Path

import pytest

from plimsoll_operator.agent.metrics import AgentMetrics, Held, shown
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.peaks import PeakReport

HELD = Held(waiting=lambda: 3, dropped=lambda: 2, followed=lambda: 7)


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


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


@pytest.mark.slow
def test_what_the_agent_holds_and_did_is_shown(tmp_path: Path) -> None:
    metrics = AgentMetrics(HELD)
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
    with shown(AgentMetrics(HELD), settings_in(tmp_path, None)) as port:
        assert port is None
        assert threading.active_count() == before


@pytest.mark.slow
def test_the_port_is_free_again_afterwards(tmp_path: Path) -> None:
    with shown(AgentMetrics(HELD), settings_in(tmp_path, 0)) as port:
        assert port is not None
    taken = settings_in(tmp_path, port)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="in use"):
        shown(AgentMetrics(HELD), taken).__enter__()
