"""What `make bench-rescue` says of each kind and pace of growing tasks."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from benchmarks.live_rescue import tables
from benchmarks.rescue_kinds import by_kind
from benchmarks.rescue_tasks import forty


def test_forty_tasks_are_counted_once_by_kind_and_pace() -> None:
    batch = forty(seed=1)
    beyond = [task.name for task in batch if task.beyond]
    rows = by_kind(batch, beyond, ["ramp-100-160"], ["ramp-100-160", "stairs-90"])
    assert sum(row["tasks"] for row in rows) == 40
    assert sum(row["kills_off"] for row in rows) == len(beyond) == 20
    hundred = next(row for row in rows if row["rate_mb_s"] == 100)
    assert hundred == {
        "kind": "ramp",
        "rate_mb_s": 100,
        "headroom_mib": 128,
        "tasks": 4,
        "kills_off": 2,
        "kills_on": 1,
        "in_vain": 1,
    }
    others = [(row["kind"], row["rate_mb_s"]) for row in rows if row["kind"] != "ramp"]
    assert others == [("leak", None), ("page cache", None), ("stair-steps", None)]


def test_the_printed_tables_have_a_row_for_each_of_them() -> None:
    batch = forty(seed=1)
    found = {
        "tasks": batch,
        "by_kind": by_kind(batch, [], [], []),
        **dict.fromkeys(("kills_off", "kills_on", "leaks_killed", "raised"), 0),
        **dict.fromkeys(("kills_off_up_to_100", "kills_on_up_to_100", "raised_by_agent"), 0),
        **dict.fromkeys(("page_cache_raised", "agent_cpu_share", "agent_cpu_share_off"), 0),
        **{key: [] for key in ("in_vain", "over_need", "over_need_at_any_time", "granted_s")},
    }
    console = Console(width=200, file=StringIO(), record=True)
    for table in tables({"tasks": found}):
        console.print(table)
    text = console.export_text()
    assert "ramp of 400 MB/s" in text
    assert "stair-steps" in text
