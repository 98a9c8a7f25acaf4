"""The comparison of a campaign's two orders: what is served, its charge, and when it comes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.campaigns import simulation
from benchmarks.campaigns.simulation import Compared, medians_of, reached, served_improvement
from benchmarks.scale import results_file
from benchmarks.thesis.tasks import HEAVY_1, HEAVY_2, TaskRows
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.units import MIB

TRUTH = [
    CampaignRun(
        scenario=n,
        state=RunState.LEARNED,
        values={"n": str(n)},
        memory_bytes=1000 * MIB,
        peak_bytes=(100 if n < 10 else 300) * MIB,
        runtime_s=60.0,
    )
    for n in range(20)
]


def test_an_order_has_reached_a_figure_when_it_stays_there() -> None:
    assert reached([0.1, 0.5, 0.6, 0.49, 0.51], 0.5) == 4
    assert reached([0.5, 0.51], 0.5) == 1
    assert reached([0.5, 0.6], 0.5) == 3, "later than it ever ran"


def test_what_is_served_with_all_known_saves_nearly_what_the_needs_leave() -> None:
    assert 0.6 < served_improvement(TRUTH, TRUTH, 1000 * MIB) < 0.8


def test_what_is_served_too_small_is_charged() -> None:
    known = [replace(run) for run in TRUTH[:4]]
    assert served_improvement(known, TRUTH, 1000 * MIB) < 0.5
    assert served_improvement([], TRUTH, 1000 * MIB) == 0.0


def compared(task: str, seed: int, runs: int) -> Compared:
    return Compared(
        task=task,
        seed=seed,
        plain_estimated=2 * runs,
        chosen_estimated=runs,
        plain_served=2 * runs,
        chosen_served=runs,
        plain_stopped=2 * runs,
        chosen_stopped=runs,
        plain_lost=0.0,
        chosen_lost=0.0,
        plain_wrong=0.1,
        chosen_wrong=0.0,
        final_estimated=0.6,
        final_served=0.5,
    )


def test_medians_are_those_of_each_task() -> None:
    found = [compared("a", seed, runs) for seed, runs in enumerate((9, 3, 4))]
    medians = medians_of([*found, compared("b", 0, 20)])
    assert [medians[task]["chosen_estimated"] for task in ("a", "b")] == [4, 20]
    assert medians["a"]["final_served"] == 0.5
    assert not {"task", "seed"} & medians["a"].keys()


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "status"), [(5, 0), (6, 1)])
def test_its_figures_are_kept_beside_those_of_the_other_benchmarks_of_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, status: int
) -> None:
    written = tmp_path / "bench-scale.json"
    written.write_text('{"trainings": {"speedup": 1.9}}')

    def as_if_compared(rows: TaskRows, count: int, seed: int) -> Compared:
        return compared(rows.kind.name, seed, runs)

    monkeypatch.setattr(results_file, "RESULTS", written)
    monkeypatch.setattr(simulation, "compare", as_if_compared)
    monkeypatch.setattr("sys.argv", ["simulation.py", "--seeds", "3", "--scenarios", "10"])
    assert simulation.main() == status
    kept = json.loads(written.read_text())
    assert kept["trainings"] == {"speedup": 1.9}
    assert (kept["campaigns"]["scenarios"], kept["campaigns"]["seeds"]) == (10, 3)
    for task in (HEAVY_1, HEAVY_2):
        assert kept["campaigns"][task]["chosen_estimated"] == runs
        assert kept["campaigns"][task]["plain_estimated"] == 2 * runs
