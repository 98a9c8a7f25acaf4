"""``plimsoll import``: what it keeps and prints, and its exit status."""

from __future__ import annotations

import gzip
import io
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.commands.past_runs.import_file import ImportRules, import_command
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store

TRAIN = TaskId("shop", "train-demand")
HEADER = "namespace,task,run,finished_s,outcome,allocation_bytes,peak_bytes,feature.rows"


def a_row(run: int, *, outcome: str = "succeeded", peak_bytes: str = "500000000") -> str:
    return f"shop,train-demand,r{run},{1_700_000_000 + run},{outcome},1000000000,{peak_bytes},{run}"


@dataclass(frozen=True, slots=True)
class Done:
    """How an import ended."""

    status: int
    said: str
    kept: int


def run_import(
    folder: Path, *rows: str, strict: bool = False, content: bytes | None = None
) -> Done:
    path, database = folder / "history.csv", folder / "store.db"
    path.write_bytes("\n".join((HEADER, *rows)).encode() if content is None else content)
    out = io.StringIO()
    console = Console(file=out, width=200)
    status = import_command(path, str(database), ImportRules(strict=strict), console=console)
    return Done(status, out.getvalue(), count(database))


def count(database: Path) -> int:
    if not database.exists():
        return 0
    store = Store.open(str(database))
    kept = len(store.observations.of_task(TRAIN))
    store.close()
    return kept


@pytest.mark.parametrize("strict", [False, True])
def test_rows_of_a_time_to_come_are_left_out(tmp_path: Path, strict: bool) -> None:
    path, database, out = tmp_path / "history.csv", tmp_path / "store.db", io.StringIO()
    path.write_text("\n".join((HEADER, a_row(0), a_row(4000))))
    rules = ImportRules(strict=strict, now_s=1_700_000_000.0)
    status = import_command(path, str(database), rules, console=Console(file=out, width=200))
    assert (status, count(database)) == ((1, 0) if strict else (0, 1))
    assert "line 3: finished_s is in the future; is its time zone missing?" in out.getvalue()


@pytest.mark.slow
def test_a_good_file_is_kept_and_summed_up(tmp_path: Path) -> None:
    done = run_import(
        tmp_path, *(a_row(run) for run in range(2500)), a_row(2500, outcome="oom-killed")
    )
    assert (done.status, done.kept) == (0, 2501)
    assert "2501 new, 0 known before, 0 bad rows left out" in done.said
    row = next(line for line in done.said.splitlines() if "shop/train-demand" in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == [
        "shop/train-demand",
        "2501",
        "2501",
        "1",
        "954Mi",
    ]


def test_importing_a_file_again_doubles_nothing(tmp_path: Path) -> None:
    rows = [a_row(run) for run in range(10)]
    run_import(tmp_path, *rows)
    again = run_import(tmp_path, *rows, a_row(10))
    assert (again.status, again.kept) == (0, 11)
    assert "1 new, 10 known before" in again.said


def test_a_past_that_is_too_old_to_be_kept_is_told(tmp_path: Path) -> None:
    old = [a_row(run) for run in range(3)]
    words = "shop/train-demand last ran more than 400 days ago: it is forgotten within hours"
    assert words in run_import(tmp_path, *old).said
    new = old[0].replace("1700000000", str(int(time.time())))
    assert "days ago" not in run_import(tmp_path, *old, new).said


def test_bad_rows_are_told_and_the_good_ones_kept(tmp_path: Path) -> None:
    done = run_import(tmp_path, a_row(1), a_row(2, peak_bytes="-1"), a_row(3))
    assert (done.status, done.kept) == (0, 2)
    assert "line 3: peak_bytes '-1' is negative" in done.said
    assert "1 bad row left out" in done.said


def test_with_strict_one_bad_row_keeps_all_out(tmp_path: Path) -> None:
    done = run_import(tmp_path, a_row(1), a_row(2, peak_bytes="-1"), strict=True)
    assert (done.status, done.kept) == (1, 0)
    assert "line 3: peak_bytes '-1' is negative" in done.said
    assert "nothing was kept" in done.said


@pytest.mark.slow
def test_with_strict_a_good_file_is_kept(tmp_path: Path) -> None:
    done = run_import(tmp_path, a_row(1), a_row(2), strict=True)
    assert (done.status, done.kept) == (0, 2)


def test_of_many_bad_rows_the_first_twenty_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    done = run_import(tmp_path, a_row(0), *(a_row(run, peak_bytes="?") for run in range(1, 31)))
    assert done.said.count("is not a number") == 20
    assert "... and 10 more bad rows" in done.said
    assert done.kept == 1
    one_more = run_import(tmp_path, a_row(0), *(a_row(run, peak_bytes="?") for run in range(1, 22)))
    assert "... and 1 more bad row\n" in one_more.said


def test_of_many_long_named_tasks_on_a_pipe_each_shown_one_can_be_told_from_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.csv"
    tasks = [f"{place:02}-{'x' * 120}-{place:02}" for place in range(60)]
    rows = [a_row(run).replace("train-demand", task) for run, task in enumerate(tasks)]
    rows.append(a_row(61).replace(",succeeded", f",{'?' * 90} succeeded"))
    path.write_text("\n".join((HEADER, *rows)))
    assert import_command(path, str(tmp_path / "store.db")) == 0
    said = capsys.readouterr().out
    assert [task in said for task in tasks] == [True] * 50 + [False] * 10
    assert "and 10 more tasks" in said
    assert len(said.splitlines()) < 65
    assert next(line for line in said.splitlines() if "line 62" in line).endswith("deleted")


def a_torn_file(*first: str) -> bytes:
    rows = [HEADER, *first, *(a_row(100 + run) for run in range(5000))]
    whole = gzip.compress("\n".join(rows).encode())
    return whole[: len(whole) // 2]


@pytest.mark.parametrize("strict", [False, True])
def test_that_a_file_is_damaged_is_told_however_many_bad_rows_it_has(
    tmp_path: Path, strict: bool
) -> None:
    torn = a_torn_file(*(a_row(run, peak_bytes="?") for run in range(25)))
    done = run_import(tmp_path, content=torn, strict=strict)
    assert "the file is damaged from here on" in done.said
    assert "... and 5 more bad rows" in done.said
    assert (done.status, done.kept > 1000) == (1, not strict)


def test_a_damaged_file_without_bad_rows_is_no_success(tmp_path: Path) -> None:
    done = run_import(tmp_path, content=a_torn_file())
    assert (done.status, done.kept > 1000) == (1, True)
    assert "0 bad rows left out" in done.said
    assert "only the rows before it were kept" in done.said.splitlines()[-1]
    assert run_import(tmp_path, content=a_torn_file(), strict=True).status == 1


def test_a_file_of_bad_rows_only_is_a_failure(tmp_path: Path) -> None:
    assert run_import(tmp_path, a_row(1, peak_bytes="?")).status == 1


def test_a_file_without_rows_is_a_failure(tmp_path: Path) -> None:
    done = run_import(tmp_path)
    assert (done.status, done.kept) == (1, 0)
    assert "history.csv has a header and no rows" in done.said


def test_what_a_file_says_is_shown_as_it_is(tmp_path: Path) -> None:
    done = run_import(tmp_path, a_row(1, outcome="[bold]oops[/bold]"))
    assert "'[bold]oops[/bold]'" in done.said


def test_a_file_that_is_no_history_leaves_no_store_behind(tmp_path: Path) -> None:
    done = run_import(tmp_path, content=b"\x89PNG\r\n\x1a\n\0\0\0\r")
    assert done.status == 1
    assert "history.csv is not a text file in UTF-8" in done.said
    assert not (tmp_path / "store.db").exists()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    assert import_command(tmp_path / "none.csv", str(tmp_path / "store.db"), console=console) == 1
    assert "none.csv cannot be read: No such file or directory" in out.getvalue()


@pytest.mark.parametrize(
    ("rows", "strict", "words"),
    [
        pytest.param(["x"], True, "nothing was kept of {file}", id="strict"),
        pytest.param(["x"], False, "no row of {file} could be used", id="bad rows only"),
        pytest.param(None, False, "{file} is empty", id="an empty file"),
    ],
)
def test_why_nothing_was_imported_is_on_stderr_with_the_files_name(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: list[str] | None,
    strict: bool,
    words: str,
) -> None:
    path = tmp_path / "history.csv"
    path.write_text("" if rows is None else "\n".join((HEADER, *rows)))
    for shown, file in ((None, str(path)), ("standard input", "standard input")):
        rules = ImportRules(strict=strict)
        assert import_command(path, str(tmp_path / "store.db"), rules, shown=shown) == 1
        said = capsys.readouterr()
        assert words.format(file=file) in " ".join(said.err.split())
        assert "plimsoll import" not in said.out


def test_a_store_that_is_no_store_is_named(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("CREATE TABLE dag_run (id INTEGER)")
    connection.close()
    path, out = tmp_path / "history.csv", io.StringIO()
    path.write_text(f"{HEADER}\n{a_row(1)}\n")
    console = Console(file=out, width=200)
    assert import_command(path, str(tmp_path / "store.db"), console=console) == 1
    assert "holds tables of something else" in out.getvalue()


def test_an_attempt_that_plimsoll_observed_itself_stays_as_it_is(tmp_path: Path) -> None:
    seen = Observation(
        attempt_uid="pod-1",
        task=TRAIN,
        run="job:1",
        outcome=Outcome.SUCCEEDED,
        peak_bytes=700_000_000,
        peak_source=PeakSource.AGENT,
        finished_s=1_700_000_000.0,
    )
    store = Store.open(str(tmp_path / "store.db"))
    store.observations.record([seen])
    store.close()
    header = "namespace,task,attempt_uid,finished_s,runtime_s,peak_bytes"
    rows = [f"shop,train-demand,pod-{n},170000000{n},60,500000000" for n in (1, 2)]
    done = run_import(tmp_path, content="\n".join((header, *rows)).encode())
    assert "1 new, 1 known before" in done.said
    store = Store.open(str(tmp_path / "store.db"))
    assert seen in store.observations.of_task(TRAIN)
    store.close()
