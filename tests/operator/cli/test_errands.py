"""A command without a store runs in the controller's pod, with the words that people gave it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from plimsoll_operator.commands.reaching import in_controller
from plimsoll_operator.commands.reaching.in_controller import Errand
from plimsoll_predictor.tables.history import read_history, write_history
from tests.builders.stores import an_attempt
from tests.rigs.processes.command_lines import run_here


@pytest.fixture
def errands(monkeypatch: pytest.MonkeyPatch) -> list[Errand]:
    sent: list[Errand] = []

    def send(errand: Errand) -> int:
        sent.append(errand)
        return 0

    monkeypatch.setattr(in_controller, "run_in_controller", send)
    return sent


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param("explain a/b -o json", "explain a/b --output json", id="a short option"),
        pytest.param("models a/b", "models a/b", id="options that were not given are not sent"),
        pytest.param("shapes --learn", "shapes --learn", id="a flag has no value"),
        pytest.param("report a/b --out -", "report a/b --out -", id="output that is printed"),
        pytest.param("report --out x.html", "report --out -", id="a file that stays here"),
        pytest.param(
            "export a/b c/d --out h.csv.gz",
            "export a/b c/d --out - --stdout-ending .gz",
            id="the ending of a file that stays here",
        ),
        pytest.param(
            "what-if a/b --limit equal --even-load",
            "what-if a/b --limit equal --even-load",
            id="a choice is sent as its word",
        ),
        pytest.param("train a/b --seed 3", "train a/b --seed 3", id="a number"),
    ],
)
def test_the_words_that_were_given_are_sent(given: str, sent: str, errands: list[Errand]) -> None:
    done = run_here(*given.split(), "--context", "lab", "--installed-in", "plimsoll")
    assert done.returncode == 0
    [errand] = errands
    assert list(errand.words) == sent.split()
    where = errand.installation
    assert (where.context, where.installed_in) == ("lab", "plimsoll")


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
@pytest.mark.parametrize("command", ["report", "export", "campaign page a/b"])
def test_a_file_that_cannot_be_written_is_named_before_anything_is_asked(
    tmp_path: Path, command: str, name: str
) -> None:
    out = tmp_path / "none" / name
    told = run_here(
        *command.split(), "--out", str(out), "--kubeconfig", str(tmp_path), COLUMNS="300"
    )
    assert told.returncode == 1
    assert f"{out}: there is no folder {out.parent}" in told.stderr


@pytest.mark.slow
def test_a_file_to_read_is_sent_and_one_to_write_comes_back(
    errands: list[Errand], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("{}")
    run_here("sla", str(plan), "--within", "2h")
    run_here("export", "--out", str(tmp_path / "history.csv"))
    assert (list(errands[0].words), errands[0].stdin) == (["sla", "-", "--within", "2h"], plan)
    assert (errands[1].stdin, errands[1].out) == (None, tmp_path / "history.csv")


def test_parquet_is_sent_as_csv_and_made_of_csv_that_comes_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    past, out = tmp_path / "past.parquet", tmp_path / "again.parquet"
    write_history(past, lambda: [[an_attempt("a").built, an_attempt("b").built]])
    sent: list[bytes] = []

    def take_in_and_give_back(errand: Errand) -> int:
        if errand.stdin is not None:
            sent.append(gzip.decompress(errand.stdin.read_bytes()))
        elif errand.out is not None:
            assert list(errand.words)[-1] == ".gz"
            errand.out.write_bytes(gzip.compress(sent[0]))
        return 0

    monkeypatch.setattr(in_controller, "run_in_controller", take_in_and_give_back)
    assert run_here("import", str(past)).returncode == 0
    assert sent[0].startswith(b"namespace,task,")
    done = run_here("export", "--out", str(out), COLUMNS="300")
    assert (done.returncode, done.stderr) == (0, f"{out}: written\n")
    assert out.read_bytes().startswith(b"PAR1")
    assert list(read_history(out)) == list(read_history(past))
    assert sorted(tmp_path.iterdir()) == [out, past]


def test_parquet_that_cannot_be_made_leaves_the_file_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "history.parquet"
    out.write_bytes(b"PAR1 of yesterday")

    def give_back_what_no_history_has(errand: Errand) -> int:
        assert errand.out is not None
        errand.out.write_text("namespace,task,finished_s\na,b,never\n")
        return 0

    monkeypatch.setattr(in_controller, "run_in_controller", give_back_what_no_history_has)
    done = run_here("export", "--out", str(out), COLUMNS="300")
    assert done.returncode == 1
    assert f"plimsoll export: {out}, line 2: " in done.stderr
    assert out.read_bytes() == b"PAR1 of yesterday"
    assert list(tmp_path.iterdir()) == [out]


def test_a_damaged_parquet_file_is_told_and_not_sent(errands: list[Errand], tmp_path: Path) -> None:
    past = tmp_path / "past.parquet"
    past.write_bytes(b"PAR1 and no more")
    done = run_here("import", str(past), COLUMNS="300")
    assert (done.returncode, errands) == (1, [])
    assert f"plimsoll import: {past} is a damaged Parquet file" in done.stderr


def test_a_file_that_the_controller_refused_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(in_controller, "run_in_controller", lambda _: 1)
    path = tmp_path / "history.csv"
    path.write_text("task\n")
    done = run_here("import", str(path), COLUMNS="300")
    assert done.returncode == 1
    assert f"plimsoll import: {path} was not imported, or not to its end" in done.stderr


def test_what_can_be_refused_here_is_not_sent(errands: list[Errand]) -> None:
    assert run_here("what-if", "a/b").returncode == 2
    assert errands == []
