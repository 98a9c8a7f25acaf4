"""`plimsoll split` of tasks whose Jobs lease their items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.splitting.split import split_command
from plimsoll_operator.views.splitting_facts import MOST_SIZES, AskedJob
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.leased_task import leased_task_of
from plimsoll_predictor.store import Store
from tests.builders.splitting.taught_chunks import a_taught, chunks_of, uneven_taught
from tests.builders.stores import TRAIN


def stored(folder: Path, taught: dict[str, Any], job: str = "shop/train/run-1") -> str:
    address = f"sqlite:///{folder}/plimsoll.db"
    store = Store.open(address)
    store.leased_jobs.close(job, TRAIN, taught)
    store.close()
    return address


def told(
    url: str, capsys: pytest.CaptureFixture[str], asked: AskedJob | None = None
) -> dict[str, Any]:
    assert split_command(str(TRAIN), url, OutputForm.JSON, asked or AskedJob()) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_it_says_what_leased_jobs_taught_and_that_no_other_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught())
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    shown = capsys.readouterr().out
    for words in (
        "2 s, varying by",
        "0 s whatever it has, and 0.05 s until it comes",
        "50Mi, and",
        "3,990 items of 4,000 done, in 61 leases; 2 taken back, 1 refused",
        "4,000 items, 4 workers at once, 4 pods",
        "1Gi: 32 items a lease at most",
        "at first:",
        "nothing to gain in time; 80Mi, where a share would need 1.03Gi",
        "no Job of it that leases nothing is known",
        "a lease, by its items",
    ):
        assert words in shown


def test_what_it_says_can_be_read_by_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leased = told(stored(tmp_path, a_taught()), capsys)["leased"]
    assert leased["costs"]["item_s"] == pytest.approx(2.0)
    assert leased["last"]["taken_back"] == 2
    following = leased["next"]
    assert following["items"] == 30, "of 60 s at most"
    assert following["seconds"] == pytest.approx(60.0)
    assert following["memory_bytes"] == pytest.approx(80 * MIB, rel=0.02)


def test_programs_read_what_leases_of_each_size_take_and_what_they_save(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leased = told(stored(tmp_path, a_taught()), capsys)["leased"]
    sizes = {size["items"]: size for size in leased["sizes"]}
    assert sorted(sizes) == [1, 2, 4, 8, 16, 30]
    assert all(size["low_s"] < size["mean_s"] < size["high_s"] for size in sizes.values())
    assert all(
        size["low_bytes"] < size["mean_bytes"] < size["high_bytes"] for size in sizes.values()
    )
    following = leased["next"]
    assert sizes[30]["mean_s"] == following["seconds"]
    assert (following["fits"], following["limit_bytes"], leased["largest"]) == (32, GIB, 16)
    assert (following["verdict"], following["share_items"]) == ("nothing to gain", 1000)
    assert following["leases_take"]["mean_s"] == pytest.approx(2000, rel=0.05)
    assert following["shares_take"]["mean_s"] == pytest.approx(2000, rel=0.1)
    assert leased["words"]["the last job"].startswith("3,990 items of 4,000 done")


def test_leases_save_time_where_items_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leased = told(stored(tmp_path, uneven_taught()), capsys, AskedJob(items=4000, workers=16))[
        "leased"
    ]
    assert leased["next"]["verdict"] == "cut"
    assert leased["next"]["gain"] > 0.05
    gain = leased["next"]["gain"]
    assert leased["words"]["over shares"].startswith(f"{100 * gain:.0f}% less time;")


@pytest.mark.slow
def test_of_unmeasured_leases_no_memory_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught(measured=False))
    leased = told(url, capsys)["leased"]
    assert leased["next"]["fits"] is None
    assert leased["words"]["the limit"] == "1Gi, and nobody measured what leases need"
    assert leased["words"]["over shares"] == "nothing to gain"
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    shown = capsys.readouterr().out
    assert "nine of ten" in shown
    assert "memory  " not in shown.split("a lease, by its items")[1]


def test_leases_of_one_size_do_not_tell_what_a_share_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught(sizes=(4, 4, 4)))
    assert told(url, capsys)["leased"]["next"]["share_memory_bytes"] is None


def test_of_large_leases_a_few_sizes_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught(sizes=(1, 10**6), item_s=1e-5))
    sizes = [size["items"] for size in told(url, capsys)["leased"]["sizes"]]
    assert len(sizes) <= MOST_SIZES + 2
    assert (sizes[0], sizes[-1]) == (1, 10**6)


@pytest.mark.slow
def test_the_tables_fit_a_terminal_of_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    url = stored(tmp_path, a_taught())
    store = Store.open(url)
    store.observations.record(chunks_of("one", pods=40))
    store.close()
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    shown = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown, "nothing is cut off"
    tables = shown.split("a lease, by its items")[1]
    assert max(len(line.rstrip()) for line in tables.splitlines()) <= 80


def test_a_lease_is_half_of_a_share_at_most_and_fits_the_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught())
    small = told(url, capsys, AskedJob(items=40, workers=4))["leased"]["next"]
    assert (small["items"], small["shares"], small["job"]["workers"]) == (5, 4, 4)
    tight = {**a_taught(), "last": {**a_taught()["last"], "limit_bytes": 64 * MIB}}
    assert told(stored(tmp_path, tight), capsys)["leased"]["next"]["items"] < 14


def test_what_an_older_version_kept_is_shown_without_its_last_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = {name: each for name, each in a_taught().items() if name != "last"}
    url = stored(tmp_path, older)
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    shown = capsys.readouterr().out
    assert "not kept" in shown
    assert "--items and --workers" in shown
    assert told(url, capsys, AskedJob(items=40, workers=4))["leased"]["next"]["items"] == 5


@pytest.mark.slow
def test_a_task_whose_jobs_were_cut_as_well_shows_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught())
    store = Store.open(url)
    store.observations.record(chunks_of("one"))
    store.close()
    found = told(url, capsys)
    assert found["job"]["items"] == 400
    assert found["leased"]["last"]["items"] == 4000
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    shown = capsys.readouterr().out
    assert "best cut" in shown
    assert "no Job of it that leases nothing" not in shown


@pytest.mark.parametrize(
    "taught",
    [None, [], {"times": "no"}, Guided().to_document()],
    ids=["nothing", "a list", "no sums", "of a Job none of whose leases was acknowledged"],
)
def test_what_taught_nothing_is_nothing(taught: object) -> None:
    assert leased_task_of(taught) is None


def test_a_last_job_that_makes_no_sense_is_none() -> None:
    broken = {**a_taught(), "last": {**a_taught()["last"], "items": 0}}
    known = leased_task_of(broken)
    assert known is not None
    assert known.last is None


@pytest.mark.slow
def test_where_memory_counts_the_next_lease_is_smaller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = stored(tmp_path, a_taught())
    time = told(url, capsys)["leased"]["next"]
    both = told(url, capsys, AskedJob(memory_weight=1.0))["leased"]["next"]
    assert both["items"] < time["items"]
    assert both["memory_bytes"] < time["memory_bytes"]
