"""Campaigns as the store has them, with runs of every kind."""

from __future__ import annotations

from itertools import product
from typing import Final

from plimsoll_operator.campaigns.status import State
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import CampaignRecord, Store
from tests.builders.reports import START_S

ROWS: Final = (100_000, 300_000, 600_000, 900_000, 1_500_000, 2_100_000)
REGIONS: Final = {"coast": 260, "north": 60, "online": 120, "south": 20}
"""A region's constant need, MiB."""


def a_record(name: str = "learn-join", **changes: object) -> CampaignRecord:
    """A campaign of shop/join-sales, whose pods request 4Gi."""
    known: dict[str, object] = {
        "uid": f"uid-{name}",
        "namespace": "shop",
        "name": name,
        "task": "shop/join-sales",
        "reference_bytes": 4 * GIB,
        "began_s": START_S,
        "ended_s": START_S + 900.0,
        "ending": "AllRun",
    }
    return CampaignRecord(**{**known, **changes})  # type: ignore[arg-type]


def need_bytes(rows: int, region: str) -> int:
    """More rows need more memory, in some regions faster."""
    return int((70 + REGIONS[region] + rows / 2_000 * (1 + REGIONS[region] / 400)) * MIB)


def some_runs(left: int = 0) -> list[CampaignRun]:
    """Runs of 24 scenarios, one killed and lifted, one failed. left: scenarios not run."""
    runs: list[CampaignRun] = []
    for scenario, (rows, region) in enumerate(product(ROWS, REGIONS)):
        values = {"rows": str(rows), "region": region}
        run = CampaignRun(scenario=scenario, values=values, memory_bytes=2 * GIB)
        if scenario >= len(ROWS) * len(REGIONS) - left:
            runs.append(run)
        elif scenario == 3:
            runs.append(_ended(run, RunState.FAILED, note="its program failed: exit code 1"))
        elif need_bytes(rows, region) > 2 * GIB:
            runs.append(_ended(run, RunState.KILLED, note="killed"))
            runs.append(_ended(run, RunState.LEARNED, attempt=2, memory_bytes=4 * GIB, lifts=1))
        else:
            runs.append(_ended(run, RunState.LEARNED))
    return runs


def keep_campaign(store: Store, record: CampaignRecord, runs: list[CampaignRun]) -> None:
    """Store a campaign as the controller leaves it."""
    store.campaigns.begin(record, runs)


def _ended(run: CampaignRun, state: RunState, **changes: object) -> CampaignRun:
    rows, region = int(run.values["rows"]), run.values["region"]
    at_s = START_S + 30.0 * run.scenario
    known: dict[str, object] = {
        "scenario": run.scenario,
        "values": run.values,
        "memory_bytes": run.memory_bytes,
        "state": state,
        "created_s": at_s,
        "ended_s": at_s + 20.0,
        "attempt_uid": f"pod-{run.scenario}-{changes.get('attempt', 1)}",
        "runtime_s": 4.0 + rows / 100_000,
        "peak_bytes": need_bytes(rows, region) if state is RunState.LEARNED else None,
    }
    return CampaignRun(**{**known, **changes})  # type: ignore[arg-type]


def run_of(scenario: int, state: RunState, attempt: int = 1, note: str = "") -> CampaignRun:
    learned = state is RunState.LEARNED
    return CampaignRun(
        scenario=scenario,
        attempt=attempt,
        state=state,
        values={"n": str(scenario)},
        memory_bytes=500 * MIB,
        created_s=10.0,
        ended_s=70.0,
        runtime_s=60.0,
        peak_bytes=(100 + scenario) * MIB if learned else None,
        note=note,
    )


RUNS = (
    *(run_of(place, RunState.LEARNED) for place in range(4)),
    run_of(4, RunState.KILLED, note="killed at 500Mi"),
    run_of(4, RunState.RUNNING, attempt=2),
    run_of(5, RunState.FAILED, note="its program failed"),
    run_of(6, RunState.REGISTERED),
)
STATE = State(generation=2, runs=RUNS, reference_bytes=400 * MIB)
