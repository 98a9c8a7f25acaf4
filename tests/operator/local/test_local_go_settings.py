"""Settings of the Go runtime in a local cluster's programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from deploy.local.layout import Layout
from deploy.local.lifecycle import GO_SETTINGS, Cluster
from deploy.local.trouble import Trouble

from tests.plan import EVERYTHING
from tests.suites import Run


def test_the_programs_are_told_nothing_of_the_users_go(tmp_path: Path) -> None:
    assert Cluster(Layout(tmp_path), {"GOGC": "20", "GOMAXPROCS": "9"}).go_settings == {}


def test_they_are_told_what_is_meant_for_them(tmp_path: Path) -> None:
    told = Cluster(Layout(tmp_path), {GO_SETTINGS: "GOGC=400  GOMAXPROCS=1"}).go_settings
    assert told == {"GOGC": "400", "GOMAXPROCS": "1"}


@pytest.mark.parametrize("words", ["400", "GOGC", "GOGC=", "=400", "GOGC = 400"])
def test_what_is_no_setting_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(Trouble, match="is no list such as 'GOGC=400 GOMAXPROCS=1'"):
        _ = Cluster(Layout(tmp_path), {GO_SETTINGS: words}).go_settings


def test_clusters_of_make_test_save_processor_time_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(GO_SETTINGS, raising=False)
    run = Run(EVERYTHING, tmp_path, tmp_path / "cluster")
    told = {"GOGC": "400", "GOMEMLIMIT": "1GiB", "GOMAXPROCS": "1"}
    assert run.cluster("node").go_settings == told
    monkeypatch.setenv(GO_SETTINGS, "GOGC=100")
    assert run.cluster("node").go_settings == {"GOGC": "100"}
