"""The demo's two programs, really run at small sizes, and their measurement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from demo.measure import Measured, measure, own_cgroup
from demo.runs.workload import JOIN_SALES, PROGRAMS, TRAIN_DEMAND
from demo.tasks import join_sales, train_demand

from plimsoll_predictor.core.units import GIB, MIB

TASKS = Path(train_demand.__file__).parent


def run_task(task: str, *arguments: str) -> str:
    program = [sys.executable, "-W", "error", str(TASKS / PROGRAMS[task]), *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout


def measured(task: str, *arguments: str) -> Measured:
    return measure([sys.executable, str(TASKS / PROGRAMS[task]), *arguments], 4 * GIB)


def without_time(line: str) -> str:
    return line.partition(" seconds=")[0]


@pytest.mark.slow
def test_training_learns_something_and_prints_one_line() -> None:
    line = run_task(TRAIN_DEMAND, "--rows", "3000", "--columns", "8")
    assert line.count("\n") == 1
    assert line.startswith("train-demand rows=3000 columns=8 rmse=")
    assert train_demand.train(20_000, 8, seed=1) < train_demand.train(300, 8, seed=1)


@pytest.mark.slow
def test_the_same_seed_trains_the_same_model_and_another_seed_another() -> None:
    assert train_demand.train(2_000, 6, seed=1) == train_demand.train(2_000, 6, seed=1)
    assert train_demand.train(2_000, 6, seed=1) != train_demand.train(2_000, 6, seed=2)


@pytest.mark.parametrize("region", sorted(join_sales.REGIONS))
def test_every_region_joins_and_counts_each_sale_once_per_promotion(region: str) -> None:
    promotions = join_sales.REGIONS[region].promotions
    answer = join_sales.margins(join_sales.REGIONS[region], 2_000, seed=1)
    assert answer["sales"].sum() == 2_000 * promotions


@pytest.mark.slow
def test_the_same_seed_joins_the_same_sales() -> None:
    arguments = ("--rows", "2000", "--region", "online", "--seed", "5")
    first, second = run_task(JOIN_SALES, *arguments), run_task(JOIN_SALES, *arguments)
    assert without_time(first) == without_time(second)
    assert first.count("\n") == 1


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        pytest.param(TRAIN_DEMAND, ["--rows", "5", "--columns", "8"], id="too few rows"),
        pytest.param(TRAIN_DEMAND, ["--rows", "500", "--columns", "1"], id="too few columns"),
        pytest.param(JOIN_SALES, ["--rows", "0", "--region", "north"], id="no sales"),
        pytest.param(JOIN_SALES, ["--rows", "9", "--region", "moon"], id="an unknown region"),
    ],
)
def test_senseless_arguments_are_refused_in_words(
    task: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    program = train_demand if task == TRAIN_DEMAND else join_sales
    with pytest.raises(SystemExit, match="2"):
        program.main(arguments)
    assert "error:" in capsys.readouterr().err


@pytest.mark.slow
def test_memory_grows_with_the_rows_and_differs_by_region() -> None:
    few = measured(JOIN_SALES, "--rows", "50000", "--region", "coast")
    many = measured(JOIN_SALES, "--rows", "600000", "--region", "coast")
    elsewhere = measured(JOIN_SALES, "--rows", "600000", "--region", "north")
    assert few.exit_code == many.exit_code == elsewhere.exit_code == 0
    assert many.peak_bytes > 2 * few.peak_bytes
    assert many.peak_bytes > 1.8 * elsewhere.peak_bytes


@pytest.mark.slow
def test_the_measured_peak_is_that_of_the_work() -> None:
    program = "data = bytearray(200 * 2**20); data[::4096] = b'x' * (200 * 256)"
    seen = measure([sys.executable, "-c", program], 4 * GIB)
    assert 200 * MIB < seen.peak_bytes < 260 * MIB
    assert seen.finished_s > seen.started_s


def test_a_failing_program_is_seen_to_fail() -> None:
    assert measure([sys.executable, "-c", "raise SystemExit(3)"], GIB).exit_code == 3


def test_the_memory_cgroup_is_found_in_both_versions() -> None:
    root = Path("/cgroups")
    v1 = "9:name=systemd:/\n4:memory:/batch/one\n0::/\n"
    assert own_cgroup(v1, root) == root / "memory" / "batch" / "one"
    assert own_cgroup("0::/user.slice/a.scope\n", root) == root / "user.slice" / "a.scope"
    assert own_cgroup("9:name=systemd:/\n", root) is None
