"""`plimsoll placing`: what it prints about a store, for people and for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from rich.console import Console

from plimsoll_operator.commands.placing.placing import placing_command
from plimsoll_operator.commands.placing.placing_tables import cluster_tables, task_tables
from plimsoll_operator.commands.placing.starts_told import PORT, starts_here, starts_in
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.views.placing_facts import PlacingFacts, facts_with_gains, learned_facts
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.replay.placing.world import World
from plimsoll_predictor.store import Store
from tests.builders.placing.placed_runs import Lived, four_kinds, keep, placed_runs
from tests.rigs.processes.command_lines import run_here


def a_store(folder: Path, runs: list[PlacedRun]) -> str:
    url = f"sqlite:///{folder}/plimsoll.db"
    store = Store.open(url)
    keep(store, runs)
    store.close()
    return url


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return a_store(tmp_path_factory.mktemp("store"), placed_runs(400))


@pytest.mark.slow
def test_the_matrix_the_neighbours_and_the_saving_are_told(url: str) -> None:
    done = run_here("placing", "--store", url)
    assert done.returncode == 0, done.stderr
    assert "who slows whom, from 400 runs" in done.stdout
    (wait,) = [line for line in done.stdout.splitlines() if "gets along with team/wait" in line][:1]
    assert " times, " in wait
    assert "is slowed most by team/cpu" in done.stdout
    assert "on 4 nodes of 2 places" in done.stdout
    assert "% less (" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    facts = facts_with_gains(placed_runs(200))
    for table in (cluster_tables(facts), task_tables(facts, "team/cpu")):
        printed = io.StringIO()
        Console(width=width, file=printed).print(table)
        lines = printed.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert any("team/wait" in line for line in lines)
        assert not any("…" in line for line in lines)


def shown(facts: PlacingFacts, width: int = 100) -> str:
    printed = io.StringIO()
    Console(width=width, file=printed).print(cluster_tables(facts))
    return printed.getvalue()


def test_with_one_task_nothing_is_missing_but_a_choice() -> None:
    alone = World("one", ("t/a",), np.ones(1), np.array([[1.7]]))
    facts = facts_with_gains(Lived(alone, 1).runs(400))
    assert facts.any_known
    printed = shown(facts)
    assert "only one task runs" in printed
    assert "too few slowdowns" not in printed


@pytest.mark.slow
def test_with_one_node_there_is_no_choice_of_nodes() -> None:
    facts = facts_with_gains(Lived(four_kinds(), 1, nodes=1).runs(600))
    assert facts.gains is not None
    assert "no difference: there was no choice" in shown(facts)
    assert "0.0% less to 0.0% less" not in shown(facts)


def test_rows_of_long_names_differ() -> None:
    names = tuple(f"analytics/very-long-name-of-a-nightly-report-{n}" for n in range(4))
    world = four_kinds()
    facts = learned_facts(Lived(World("long", names, world.work, world.slowdowns), 1).runs(60))
    cut = [line.split("…")[1].split()[0] for line in shown(facts, 60).splitlines() if "…" in line]
    assert {name[-2:] for name in cut} == {f"-{n}" for n in range(4)}
    assert len(cut) == 4, "below the table, names are whole"


@pytest.mark.slow
def test_one_task_is_told_beside_all_others_and_they_beside_it(url: str) -> None:
    done = run_here("placing", "team/cpu", "--store", url)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if " to " in line and "team/" in line]
    assert len([row for row in rows if row.lstrip().startswith("team/")]) == 4
    assert "team/cpu (itself)" in done.stdout
    document = json.loads(run_here("placing", "team/cpu", "--store", url, "-o", "json").stdout)
    assert document["task"] == "team/cpu"
    assert len(document["beside"]) == len(document["others_beside_it"]) == 4


@pytest.mark.slow
def test_programs_get_every_pair(url: str) -> None:
    document = json.loads(run_here("placing", "--store", url, "-o", "json").stdout)
    assert len(document["matrix"]) == 16
    assert document["saving"]["plays"] == 10


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "words", "status"),
    [
        ("team/cup", "team/cpu", 1),
        ("nobody/none", "there are team/", 1),
        ("no-slash", "no-slash", 2),
    ],
)
def test_a_task_that_is_not_there_is_answered_by_those_that_are(
    url: str, task: str, words: str, status: int
) -> None:
    done = run_here("placing", task, "--store", url)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr


METRICS = """# TYPE plimsoll_placing_starts_total counter
plimsoll_placing_starts_total{placing="recommend",node="best"} 140.0
plimsoll_placing_starts_total{placing="recommend",node="worse"} 60.0
plimsoll_placing_starts_total{placing="recommend",node="unknown"} 14.0
plimsoll_placing_starts_total{placing="enforce",node="best"} 3.0
# TYPE plimsoll_placing_lost_slowdowns_total counter
plimsoll_placing_lost_slowdowns_total{placing="recommend"} 24.0
plimsoll_placing_lost_slowdowns_total{placing="enforce"} 0.0
"""


@contextmanager
def a_controller(text: str) -> Iterator[int]:
    """A page of metrics on loopback; its port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("localhost", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.slow
def test_in_the_controllers_pod_the_schedulers_choice_stands_beside_plimsolls(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with a_controller(METRICS) as port:
        monkeypatch.setenv(PORT, str(port))
        assert placing_command(None, url, OutputForm.JSON) == 0
        document = json.loads(capsys.readouterr().out)
        assert placing_command(None, url, OutputForm.TABLE) == 0
    assert document["starts"] == [
        {"placing": "enforce", "best": 3, "worse": 0, "others": 0, "lost": 0.0},
        {"placing": "recommend", "best": 140, "worse": 60, "others": 14, "lost": 24.0},
    ]
    printed = capsys.readouterr().out
    assert "60 of 200 starts were on a worse node than Plimsoll's, by 0.40" in printed
    assert "all of 3 starts were on the node that Plimsoll would have chosen" in printed


@pytest.mark.parametrize("text", ["", "no metrics", "plimsoll_placing_starts_total nan\n"])
def test_where_nobody_tells_of_starts_all_else_is_told(text: str) -> None:
    with a_controller(text) as port:
        assert starts_here({PORT: str(port)}) == []
    assert starts_here({PORT: str(port)}) == [], "nobody listens any more"
    assert starts_here({}) == []
    assert starts_here({PORT: "tcp://10.0.0.1"}) == []


def test_starts_that_cannot_be_compared_are_counted_as_such() -> None:
    (told,) = starts_in('plimsoll_placing_starts_total{placing="recommend",node="unknown"} 7\n')
    assert told.words == "of 7 starts none can be compared"


def test_a_way_of_placing_that_nobody_uses_is_not_shown() -> None:
    zeros = "".join(
        f'plimsoll_placing_starts_total{{placing="{placing}",node="{node}"}} 0\n'
        for placing in ("recommend", "enforce")
        for node in ("best", "worse", "unknown")
    )
    assert list(starts_in(zeros)) == []
