"""``plimsoll campaign airflow``: what it triggers and prints, and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from plimsoll_operator.commands.campaigns import airflow_following as command
from tests.rigs.processes.command_lines import PLIMSOLL, Ended, run_here
from tests.rigs.servers.airflows import PASSWORD, USER, SmallAirflow, served

WHO = {"PLIMSOLL_AIRFLOW_USER": USER, "PLIMSOLL_AIRFLOW_PASSWORD": PASSWORD}
WITHIN_S = 180


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LOOK_EVERY_S", 0.001)


def sizes(folder: Path, count: int) -> Path:
    file = folder / "sizes.csv"
    file.write_text("rows\n" + "".join(f"{number}\n" for number in range(count)))
    return file


def called(airflow: SmallAirflow, file: Path, *words: str, **environment: str) -> Ended:
    given = ("campaign", "airflow", "nightly", "--configurations", str(file), *words)
    environment = {**WHO, "PLIMSOLL_AIRFLOW_URL": airflow.address, **environment}
    done = run_here(*given, folder=file.parent, **environment)
    assert PASSWORD not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def said(done: Ended) -> str:
    return " ".join((done.stdout + done.stderr).split())


def odd_ones_fail(conf: Mapping[str, Any]) -> str:
    return "failed" if conf["rows"] % 2 else "success"


@pytest.mark.slow
def test_each_configuration_is_run_once_and_so_many_at_a_time(tmp_path: Path) -> None:
    file = sizes(tmp_path, 12)
    file.write_text(file.read_text() + "3\n3\n")
    with served(SmallAirflow(looks=3)) as airflow:
        done = called(airflow, file, "--parallelism", "3")
    assert done.returncode == 0
    assert airflow.confs == [{"rows": number} for number in range(12)]
    assert airflow.most_going == 3
    assert done.stdout == "nightly: 12 succeeded\n"
    assert "12 configurations, and 2 rows left out as others are the same; 3 at a time" in said(
        done
    )
    assert {run["note"] for run in airflow.runs.values()} >= {
        "plimsoll campaign airflow: sizes, line 2"
    }


@pytest.mark.slow
def test_the_same_command_again_triggers_nothing_and_says_the_same(tmp_path: Path) -> None:
    file = sizes(tmp_path, 5)
    with served(SmallAirflow(ends=odd_ones_fail)) as airflow:
        first, second = called(airflow, file), called(airflow, file)
    assert airflow.asked["POST _trigger"] == 5
    assert (first.returncode, second.returncode) == (1, 1)
    assert first.stdout == second.stdout


@pytest.mark.slow
def test_those_that_failed_are_named_and_run_again_only_if_asked(tmp_path: Path) -> None:
    file = sizes(tmp_path, 5)
    with served(SmallAirflow(ends=odd_ones_fail)) as airflow:
        first = called(airflow, file)
        assert "nightly: 3 succeeded, 2 failed" in first.stdout
        assert 'failed: line 3, {"rows":1}, run plimsoll__sizes__' in first.stdout
        assert "--again triggers once more what failed" in first.stdout
        again = called(airflow, file, "--again")
        assert again.stdout.count("__2") == 2
        airflow.ends = lambda _: "success"
        assert called(airflow, file, "--again").returncode == 0
        assert called(airflow, file).returncode == 0
    assert len(airflow.runs) == 5 + 2 + 2
    assert [run_id[-3:] for run_id in airflow.runs][5:] == ["__2", "__2", "__3", "__3"]


@pytest.mark.slow
def test_what_is_there_is_looked_up_by_pages_and_not_one_by_one(tmp_path: Path) -> None:
    file = sizes(tmp_path, 230)
    with served(SmallAirflow(ends=odd_ones_fail)) as airflow:
        called(airflow, file, "--parallelism", "100")
        airflow.asked.clear()
        done = called(airflow, file)
        assert (airflow.asked["GET _runs"], airflow.asked["GET _run"]) == (3, 0)
        airflow.knows_patterns, airflow.page = False, 1
        other = {"dag_run_id": "scheduled", "state": "success", "conf": {}}
        airflow.runs = {**{f"scheduled {n}": other for n in range(9)}, **airflow.runs}
        airflow.asked.clear()
        one_by_one = called(airflow, file)
    assert done.stdout == one_by_one.stdout
    assert "115 succeeded, 115 failed" in done.stdout
    # The first page said that more calls are needed; each failed run has a next attempt.
    assert (airflow.asked["GET _runs"], airflow.asked["GET _run"]) == (1, 230 + 115)


@pytest.mark.slow
def test_a_script_reads_how_it_ended_and_how_far_it_was(tmp_path: Path) -> None:
    with served(SmallAirflow(ends=odd_ones_fail)) as airflow:
        done = called(airflow, sizes(tmp_path, 3), "-o", "json")
        assert done.returncode == 1
        document = json.loads(done.stdout)
        assert (document["dag"], document["name"]) == ("nightly", "sizes")
        assert document["counts"] == {"succeeded": 2, "failed": 1}
        assert document["runs"][1] == {
            "line": 3,
            "conf": {"rows": 1},
            "run_id": [*airflow.runs][1],
            "attempt": 1,
            "state": "failed",
            "note": "",
        }
        airflow.refuses = lambda _: (403, "Forbidden")
        stopped = called(airflow, sizes(tmp_path, 4), "-o", "json")
        assert stopped.returncode == 1
        assert json.loads(stopped.stdout)["counts"] == {"succeeded": 2, "failed": 1, "due": 1}
        assert "The same command continues" in said(stopped)


def paused_as_the_first_ends(airflow: SmallAirflow, looks: int) -> None:
    """It is unpaused after its state was asked for that often; its runs stand still until then."""

    def hears(request: web.Request) -> None:
        if request.method == "GET" and request.path.endswith("/nightly") and airflow.paused:
            airflow.paused = airflow.asked["GET _dag"] < looks

    def ends(conf: Mapping[str, Any]) -> str:
        airflow.paused = airflow.paused or conf["rows"] == 0
        return "success" if conf["rows"] == 0 or not airflow.paused else "queued"

    airflow.hears, airflow.ends = hears, ends


@pytest.mark.slow
def test_a_dag_that_is_paused_midway_is_told_and_waited_for(tmp_path: Path) -> None:
    with served(SmallAirflow()) as airflow:
        paused_as_the_first_ends(airflow, looks=6)
        done = called(airflow, sizes(tmp_path, 5), "--parallelism", "2")
    assert done.returncode == 0
    assert "5 succeeded" in done.stdout
    told = said(done)
    assert told.count("the DAG 'nightly' was paused: 1 run of this campaign may wait in it") == 1
    assert "`airflow dags unpause nightly`" in told
    assert told.count("the DAG 'nightly' is unpaused, and goes on") == 1


@pytest.mark.slow
def test_a_dag_that_stays_paused_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PAUSED_FOR_S", 0.05)
    file = sizes(tmp_path, 5)
    with served(SmallAirflow()) as airflow:
        paused_as_the_first_ends(airflow, looks=1_000_000)
        done = called(airflow, file, "--parallelism", "2")
        triggered = list(airflow.runs)
        assert done.returncode == 1
        assert "the DAG 'nightly' has been paused for" in said(done)
        assert "1 succeeded, 1 going on, 3 not triggered" in said(done)
        assert "The same command continues" in said(done)
        airflow.paused, airflow.ends = False, lambda _: "success"
        assert called(airflow, file).returncode == 0
    assert len(triggered) == 2
    assert list(airflow.runs)[:2] == triggered
    assert len(airflow.runs) == 5


@pytest.mark.slow
def test_another_name_is_another_campaign(tmp_path: Path) -> None:
    file = sizes(tmp_path, 2)
    with served(SmallAirflow()) as airflow:
        called(airflow, file)
        called(airflow, file, "--name", "sizes")
        called(airflow, file, "--name", "once more")
    assert len(airflow.runs) == 4


@pytest.mark.slow
def test_a_refused_configuration_is_named_and_the_others_run(tmp_path: Path) -> None:
    def refuses(conf: Mapping[str, Any]) -> tuple[int, str] | None:
        return (400, "Invalid input for param rows") if conf["rows"] == 0 else None

    with served(SmallAirflow(refuses=refuses)) as airflow:
        done = called(airflow, sizes(tmp_path, 4))
    assert done.returncode == 1
    assert "nightly: 3 succeeded, 1 refused" in done.stdout
    assert 'refused: line 2, {"rows":0}' in done.stdout
    assert "Invalid input for param rows" in done.stdout


@pytest.mark.slow
def test_a_dag_that_refuses_all_is_left_alone_after_a_few(tmp_path: Path) -> None:
    with served(SmallAirflow(refuses=lambda _: (400, "has import errors"))) as airflow:
        done = called(airflow, sizes(tmp_path, 50))
    assert done.returncode == 1
    assert airflow.asked["POST _trigger"] == 5
    assert "5 refused, 45 not triggered" in done.stdout
    assert "took none, so no others were tried" in done.stdout


@pytest.mark.slow
def test_a_run_that_was_triggered_in_between_counts_and_is_not_doubled(tmp_path: Path) -> None:
    """Another person's same command triggers it after the look-up."""

    def hears(request: web.Request) -> None:
        if request.method == "POST" and "dagRuns" in request.path and not airflow.runs:
            airflow.faults.append(500)  # it was made, but its answer was lost
            airflow.runs.update(theirs)

    file = sizes(tmp_path, 1)
    with served(SmallAirflow()) as airflow:
        called(airflow, file)
        theirs = dict(airflow.runs)
        airflow.runs.clear()
        airflow.hears = hears
        done = called(airflow, file)
    assert (done.returncode, airflow.runs) == (0, theirs)


@pytest.mark.slow
def test_a_run_that_is_deleted_as_it_goes_on_is_told(tmp_path: Path) -> None:
    def ends(_: Mapping[str, Any]) -> str:
        airflow.runs.clear()
        return "running"

    with served(SmallAirflow(ends=ends)) as airflow:
        airflow.looks = 2
        done = called(airflow, sizes(tmp_path, 1))
    assert done.returncode == 1
    assert "1 deleted" in done.stdout


def test_an_airflow_that_refuses_in_the_middle_is_told_with_how_to_continue(tmp_path: Path) -> None:
    def refuses(conf: Mapping[str, Any]) -> tuple[int, str] | None:
        return (403, "Forbidden") if conf["rows"] == 1 else None

    with served(SmallAirflow(refuses=refuses)) as airflow:
        done = called(airflow, sizes(tmp_path, 3), "--parallelism", "1")
    assert done.returncode == 1
    assert "you may not trigger runs of the DAG 'nightly'" in said(done)
    assert "1 succeeded, 2 not triggered. No more runs are triggered" in said(done)


@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        (("--password-file", "none"), {}, "No such file"),
        ((), {"PLIMSOLL_AIRFLOW_PASSWORD": ""}, "there is no password of the user 'me'"),
        (("--token-file", "none"), {}, "No such file"),
        ((), {"PLIMSOLL_AIRFLOW_TOKEN": "größe"}, "PLIMSOLL_AIRFLOW_TOKEN holds no token"),
        (("--airflow", "http://x:y@z"), {}, "--airflow holds a user or a password"),
        (("--airflow", "airflow"), {}, "--airflow is no address"),
    ],
)
def test_bad_credentials_are_told_before_anything_is_asked(
    tmp_path: Path, words: tuple[str, ...], environment: dict[str, str], told: str
) -> None:
    with served(SmallAirflow()) as airflow:
        done = called(airflow, sizes(tmp_path, 1), *words, **environment)
    assert done.returncode == 1
    assert told in said(done)
    assert not airflow.asked


@pytest.mark.slow
def test_a_password_and_a_token_are_read_from_files_and_a_token_from_the_environment(
    tmp_path: Path,
) -> None:
    password, token = tmp_path / "password", tmp_path / "token"
    password.write_text(f"{PASSWORD}\n")
    token.write_text("mine\n")
    nobody = {"PLIMSOLL_AIRFLOW_PASSWORD": ""}
    with served(SmallAirflow(tokens=["mine"])) as airflow:
        file = sizes(tmp_path, 1)
        assert called(airflow, file, "--password-file", str(password), **nobody).returncode == 0
        assert airflow.asked["POST _token"] == 1
        assert called(airflow, file, "--token-file", str(token), **nobody).returncode == 0
        assert called(airflow, file, PLIMSOLL_AIRFLOW_TOKEN="mine").returncode == 0
        assert airflow.asked["POST _token"] == 1


@pytest.mark.slow
def test_a_bad_file_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "sizes.json"
    file.write_text("[1]")
    with served(SmallAirflow()) as airflow:
        done = called(airflow, file)
        assert "sizes.json: line 1 is no mapping" in said(done)
        missing = called(airflow, tmp_path / "none.csv")
        assert "No such file" in said(missing)
    assert (done.returncode, missing.returncode) == (1, 1)
    assert not airflow.asked


@pytest.mark.slow
def test_ctrl_c_triggers_no_more_and_the_same_command_continues(tmp_path: Path) -> None:
    file = sizes(tmp_path, 6)
    with served(SmallAirflow(looks=1_000_000)) as airflow:
        words = ["campaign", "airflow", "nightly", "--configurations", str(file)]
        environment = {**os.environ, **WHO, "PLIMSOLL_AIRFLOW_URL": airflow.address}
        process = subprocess.Popen(
            [*PLIMSOLL, *words, "--parallelism", "2"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "2 going on, 4 not triggered" in line:
                break
        process.send_signal(signal.SIGINT)
        told = "".join(lines) + process.communicate(timeout=WITHIN_S)[1]
        assert process.returncode == 130, told
        assert "Traceback" not in told
        before = list(airflow.runs)
        assert len(before) == 2
        continues = " ".join(told.split()).partition("The same command continues: ")[2]
        airflow.looks = 1
        done = called(airflow, file, *continues.split()[6:])
    assert continues.split()[:6] == ["plimsoll", *words]
    assert done.returncode == 0
    assert list(airflow.runs)[:2] == before
    assert len(airflow.runs) == 6
    assert airflow.most_going == 2
    assert json.dumps(airflow.confs) == json.dumps([{"rows": number} for number in range(6)])
