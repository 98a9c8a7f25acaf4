"""How much CPU a node's pods get, as it is written for the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from deploy.local.machine.cgroups import limit_cpu
from deploy.local.trouble import Trouble


def test_a_share_of_a_core_is_a_quota_in_each_period(tmp_path: Path) -> None:
    (tmp_path / "cpu" / "node-1").mkdir(parents=True)
    limit_cpu("node-1", 0.25, tmp_path)
    written = {path.name: path.read_text() for path in (tmp_path / "cpu" / "node-1").iterdir()}
    assert written == {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "5000"}


def test_where_all_hierarchies_are_one_both_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "node-1").mkdir()
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    limit_cpu("node-1", 1.5, tmp_path)
    assert (tmp_path / "node-1" / "cpu.max").read_text() == "30000 20000"


def test_a_cgroup_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="the cgroup node-1"):
        limit_cpu("node-1", 0.5, tmp_path)
