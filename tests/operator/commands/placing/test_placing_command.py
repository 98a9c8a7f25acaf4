"""`plimsoll placing`: what it prints of a store, for people and for programs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.commands.placing.placing_tables import cluster_tables, task_tables
from plimsoll_operator.views.placing_facts import facts_with_gains
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.store import Store
from tests.builders.placed_runs import keep, placed_runs
from tests.rigs.command_lines import run_here


def a_store(folder: Path, runs: list[PlacedRun]) -> str:
    url = f"sqlite:///{folder}/plimsoll.db"
    store = Store.open(url)
    keep(store, runs)
    store.close()
    return url


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return a_store(tmp_path_factory.mktemp("store"), placed_runs(400))


def test_the_matrix_the_neighbours_and_the_saving_are_told(url: str) -> None:
    done = run_here("placing", "--store", url)
    assert done.returncode == 0, done.stderr
    assert "who slows whom, from 400 runs" in done.stdout
    (wait,) = [line for line in done.stdout.splitlines() if "gets along with team/wait" in line][:1]
    assert " times, " in wait
    assert "is slowed most by team/cpu" in done.stdout
    assert "on 4 nodes of 2 places" in done.stdout
    assert "% less (" in done.stdout


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    facts = facts_with_gains(placed_runs(200))
    for shown in (cluster_tables(facts), task_tables(facts, "team/cpu")):
        printed = io.StringIO()
        Console(width=width, file=printed).print(shown)
        lines = printed.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert any("team/wait" in line for line in lines)
        assert not any("…" in line for line in lines)


def test_one_task_is_told_beside_all_others_and_they_beside_it(url: str) -> None:
    done = run_here("placing", "team/cpu", "--store", url)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if " to " in line and "team/" in line]
    assert len([row for row in rows if row.lstrip().startswith("team/")]) == 4
    assert "team/cpu (itself)" in done.stdout
    document = json.loads(run_here("placing", "team/cpu", "--store", url, "-o", "json").stdout)
    assert document["task"] == "team/cpu"
    assert len(document["beside"]) == len(document["others_beside_it"]) == 4


def test_programs_get_every_pair(url: str) -> None:
    document = json.loads(run_here("placing", "--store", url, "-o", "json").stdout)
    assert len(document["matrix"]) == 16
    assert document["saving"]["plays"] == 10


def test_few_runs_tell_no_saving_and_say_how_many_there_are(tmp_path: Path) -> None:
    done = run_here("placing", "--store", a_store(tmp_path, placed_runs(3)))
    assert done.returncode == 0, done.stderr
    assert "cannot tell yet, from 1 run" in done.stdout
    assert "too few slowdowns are known" in done.stdout
    assert "%" not in done.stdout


def test_a_store_that_says_nothing_of_neighbours_gets_a_sentence(tmp_path: Path) -> None:
    done = run_here("placing", "--store", a_store(tmp_path, []))
    assert (done.returncode, done.stdout) == (1, "")
    assert "knows no run that says who gets along with whom" in done.stderr


@pytest.mark.parametrize(
    ("task", "words"),
    [("team/cup", "team/cpu"), ("nobody/none", "there are team/"), ("no-slash", "no-slash")],
)
def test_a_task_that_is_not_there_is_answered_by_those_that_are(
    url: str, task: str, words: str
) -> None:
    done = run_here("placing", task, "--store", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
