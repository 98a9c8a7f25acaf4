"""What `make bench-rescue` says about each kind and pace of growing tasks."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from benchmarks.rescue.growing_programs import forty
from benchmarks.rescue.killed_by_kind import by_kind
from benchmarks.rescue.node import missed, tables


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
        "headroom": 128,
        "tasks": 4,
        "kills_off": 2,
        "kills_on": 1,
        "in_vain": 1,
    }
    others = [(row["kind"], row["rate_mb_s"]) for row in rows if row["kind"] != "ramp"]
    assert others == [("leak", 20), ("leak", 50), ("page cache", None), ("stair-steps", None)]


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


def test_each_missed_bar_is_named() -> None:
    held: dict[str, Any] = {
        "tasks": [{}] * 40,
        "kills_off_up_to_100": 14,
        "kills_on_up_to_100": 2,
        "over_need": ["ramp-5-90", "ramp-5-75"],
        "page_cache_raised": 0,
    }
    agent = {"on": {"cpu_share": 0.019}}
    assert missed({"tasks": held, "agent": agent}) == []
    assert missed({}) == []
    too_many = {
        **held,
        "kills_on_up_to_100": 4,
        "over_need": ["a", "b", "c"],
        "page_cache_raised": 1,
    }
    assert missed({"tasks": too_many, "agent": {"on": {"cpu_share": 0.0201}}}) == [
        "71% of kills up to 100 MB/s avoided",
        "3 given more than 1.3 × need",
        "1 page cache fillers given more",
        "the agent uses 2.01% of a core",
    ]
