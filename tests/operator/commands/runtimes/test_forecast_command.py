"""`plimsoll forecast`: for a task, a pod's run, and for missing ones."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.task_names import NothingToExplain
from plimsoll_operator.commands.runtimes import forecast as forecast_module
from plimsoll_operator.commands.runtimes.forecast import (
    forecast_command,
    run_of,
)
from plimsoll_operator.commands.runtimes.forecast_tables import forecast_table
from plimsoll_operator.views.runtimes.running_run import Punctuality, RunningRun
from plimsoll_operator.views.runtimes.task_runtimes import Anomaly, gather_runtimes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store import ForecastScore, Store, UnsavedRuntimes
from tests.builders.controller.ledgers import ended
from tests.builders.pods import a_pod
from tests.builders.runtimes.telling_pasts import (
    AFTER_S,
    NIGHTLY,
    a_catalogue,
    a_steady_store,
    a_timed_run,
    steady_runs,
    telling_runs,
    timed_runs,
)
from tests.rigs.processes.command_lines import run_here


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a steady task of five minutes."""
    return a_steady_store(tmp_path)


def forecast(
    url: str,
    output: OutputForm = OutputForm.TABLE,
    named: str = str(NIGHTLY),
    kubeconfig: Path | None = None,
) -> int:
    path = None if kubeconfig is None else str(kubeconfig)
    return forecast_command(named, url, Installation(kubeconfig=path), output, now_s=AFTER_S)


def document(capsys: pytest.CaptureFixture[str], url: str, named: str = str(NIGHTLY)) -> Any:
    assert forecast(url, OutputForm.JSON, named) == 0
    return json.loads(capsys.readouterr().out)


def a_run(elapsed_s: float | None, finished_s: float | None = None, *, url: str) -> RunningRun:
    store = Store.open(url)
    forecast = gather_runtimes(store, NIGHTLY, AFTER_S).forecast
    store.close()
    started_s = None if elapsed_s is None else AFTER_S - elapsed_s
    return RunningRun(
        name="nightly-join-x7", forecast=forecast, now_s=AFTER_S,
        started_s=started_s, finished_s=finished_s,
    )  # fmt: skip


@pytest.mark.slow
def test_a_task_is_told_its_quantiles_in_seconds_and_in_words(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = document(capsys, url)
    quantiles = [told[f"p{share}_s"] for share in (50, 75, 90, 95, 99)]
    assert quantiles == sorted(quantiles)
    assert quantiles[0] == pytest.approx(300, rel=0.1)
    assert told["known_runs"] == 60
    assert told["longer_than_10_times_usual"] <= told["longer_than_2_times_usual"] < 0.1
    assert told["variation"]["form"] == "steady"
    assert forecast(url) == 0
    text = capsys.readouterr().out
    for words in (
        str(NIGHTLY),
        "1 in 2",
        "19 in 20",
        "over 2× the usual",
        "its newest runs alone, 60, usually 5 min",
        "steady: half of the runs within",
        "how long it takes",
        "← p50",
        "last attempts",
    ):
        assert words in text, words


@pytest.mark.slow
def test_yaml_holds_what_json_does(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = document(capsys, url)
    assert forecast(url, OutputForm.YAML) == 0
    assert yaml.safe_load(capsys.readouterr().out) == told


@pytest.mark.slow
def test_the_histograms_rows_hold_all_of_the_forecast(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    forecast(url)
    text = capsys.readouterr().out
    rows = text.partition("how long it takes")[2].partition("last attempts")[0].splitlines()
    shares = [
        float(row.split("%")[0].split()[-1]) for row in rows if "%" in row and "below" not in row
    ]
    assert sum(shares) == pytest.approx(100, abs=2)


@pytest.mark.slow
def test_the_time_of_a_killed_attempt_is_no_runtime(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = document(capsys, url)
    store = Store.open(url)
    killed = [
        replace(a_timed_run(9000.0, 100 + place), outcome=outcome)
        for place, outcome in enumerate((Outcome.OOM_KILLED, Outcome.FAILED, Outcome.EVICTED))
    ]
    store.observations.record(killed)
    store.close()
    after = document(capsys, url)
    for figure in ("known_runs", "p50_s", "p99_s", "variation"):
        assert after[figure] == before[figure], figure
    newest = after["last_runs"][:3]
    assert {each["outcome"] for each in newest} == {"oom-killed", "failed", "evicted"}
    assert {each["anomaly"] for each in newest} == {None}


def test_runs_beyond_their_own_forecast_are_marked(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record([*steady_runs(), a_timed_run(3000.0, 60), a_timed_run(30.0, 61)])
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    store.close()
    assert [runtimes.anomaly(each) for each in runtimes.past[-2:]] == [Anomaly.LONG, Anomaly.SHORT]
    marked = [each for each in runtimes.past[:-2] if runtimes.anomaly(each)]
    assert len(marked) <= 3, "of 60 runs that are alike"


@pytest.mark.parametrize("stored", [None, 0.001])
def test_runs_beyond_all_forecasts_are_marked_only_if_others_are_shorter(
    tmp_path: Path, stored: float | None
) -> None:
    store, long_s = Store.open(f"sqlite:///{tmp_path}/plimsoll.db"), 25 * DAY_S
    slow = TaskId("lab", "slow")
    store.observations.record(timed_runs([long_s] * 40, slow))
    store.observations.record([*steady_runs(), a_timed_run(long_s, 60)])
    if stored is not None:
        scores = {f"{slow}-{place}": ForecastScore(stored) for place in range(40)}
        store.runtimes.save(UnsavedRuntimes(through=0, scores=scores), {0})
    slows, others = (gather_runtimes(store, task, AFTER_S) for task in (slow, NIGHTLY))
    store.close()
    assert {slows.anomaly(each) for each in slows.past} == {None}
    assert others.anomaly(others.past[-1]) is Anomaly.LONG
    run = RunningRun(name="x", forecast=slows.forecast, now_s=long_s, started_s=0.0)
    assert run.punctuality is Punctuality.IN_TIME


@pytest.mark.parametrize("very_short_s", [0.0, 0.1, 0.5])
def test_runs_of_a_very_short_task_are_no_anomalies(tmp_path: Path, very_short_s: float) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record([*timed_runs([very_short_s] * 40), a_timed_run(60.0, 40)])
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    store.close()
    marked = [runtimes.anomaly(each) for each in runtimes.past]
    assert marked == [*[None] * 40, Anomaly.LONG]


@pytest.mark.slow
def test_what_was_forecast_at_submission_counts_before_what_would_have_been(
    tmp_path: Path,
) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record(steady_runs())
    newest = store.runtimes.history(NIGHTLY)[-1]
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    assert runtimes.anomaly(newest) is None
    with store.database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE observations SET forecast_share = 0.999 WHERE attempt_uid = ?",
            (newest.attempt_uid,),
        )
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    store.close()
    assert runtimes.anomaly(runtimes.past[-1]) is Anomaly.LONG


@pytest.mark.slow
def test_a_typical_shape_is_named_where_shapes_were_learned(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert document(capsys, url)["typical_shape"] is None
    store = Store.open(url)
    store.shapes.save_catalogue(a_catalogue(), AFTER_S)
    store.close()
    told = document(capsys, url)["typical_shape"]
    assert (told["name"], told["version"]) == ("still-water", 3)
    assert told["share"] > 0.9


@pytest.mark.slow
def test_a_task_whose_runs_all_failed_says_that_none_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record([replace(a_timed_run(60.0), outcome=Outcome.FAILED)])
    store.close()
    told = document(capsys, address)
    assert (told["known_runs"], told["usual_s"], told["variation"]) == (0, None, None)
    assert forecast(address) == 0
    assert "no run of it is known: this is what runs of lab" in capsys.readouterr().out


def test_one_run_is_enough_to_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(timed_runs([120.0]))
    store.close()
    told = document(capsys, address)
    assert told["known_runs"] == 1
    assert told["p50_s"] == pytest.approx(120, rel=0.35)
    assert told["trend"] is None


def test_a_runtime_of_no_seconds_counts_as_the_smallest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(timed_runs([0.0] * 12))
    store.close()
    assert document(capsys, address)["p50_s"] < 2


@pytest.mark.slow
def test_looking_changes_nothing(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(url.removeprefix("sqlite:///"))
    before = file.read_bytes()
    assert document(capsys, url) == document(capsys, url)
    assert file.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elapsed_s", "punctuality"),
    [(None, Punctuality.WAITING), (60.0, Punctuality.IN_TIME), (3600.0, Punctuality.RUNNING_LONG)],
)
def test_a_run_is_late_by_its_own_forecast(
    url: str, elapsed_s: float | None, punctuality: Punctuality
) -> None:
    assert a_run(elapsed_s, url=url).punctuality is punctuality


@pytest.mark.slow
def test_the_expected_finish_is_conditioned_on_what_has_passed(url: str) -> None:
    early, late = a_run(60.0, url=url), a_run(3600.0, url=url)
    for run in (early, late):
        half_s, most_s = run.ends_by_s(0.5), run.ends_by_s(0.95)
        assert half_s is not None
        assert most_s is not None
        assert AFTER_S <= half_s <= most_s
    assert early.to_dict()["ends_by_p50_s"] == pytest.approx(AFTER_S - 60 + 300, abs=30)


@pytest.mark.slow
def test_a_run_that_ended_expects_no_end(url: str) -> None:
    run = a_run(600.0, finished_s=AFTER_S - 300, url=url)
    assert run.punctuality is Punctuality.ENDED
    assert run.elapsed_s == 300
    assert run.ends_by_s(0.5) is None


@pytest.mark.parametrize(
    ("place", "share", "words"),
    [
        pytest.param(59, 0.999, "took 5 min; 99.9% of its forecast are shorter", id="forecast"),
        pytest.param(99, None, "took 5 min │", id="never forecast"),
    ],
)
def test_an_ended_pod_is_held_against_the_forecast_that_it_was_given(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: int,
    share: float | None,
    words: str,
) -> None:
    uid = f"{NIGHTLY}-{place}"
    store = Store.open(url)
    store.runtimes.save(UnsavedRuntimes(through=0, scores={uid: ForecastScore(0.999)}), {0})
    store.close()
    pod = a_pod().named("x7", uid=uid).in_namespace("lab").labelled("nightly-join")
    over = ended(pod, at="2026-01-01T00:05:00Z").built()
    monkeypatch.setattr(forecast_module, "find_pod", lambda *_: over)
    told = document(capsys, url, "lab/x7")
    assert told["run"]["share_below_elapsed"] == share
    assert (told["run"]["known_runs"], told["run"]["runtime_given_elapsed"]) == (None, None)
    last = told["last_runs"][0]["share_of_forecast_below"]
    assert (last == share) is (share is not None), "the table of attempts says the same"
    assert forecast(url, named="lab/x7") == 0
    assert words in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_running_pod_is_told_in_the_terminal(url: str) -> None:
    store = Store.open(url)
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    store.close()
    console = Console(width=160, record=True, file=StringIO())
    console.print(forecast_table(runtimes, a_run(3600.0, url=url), ()))
    text = " ".join(console.export_text().split())
    for words in ("pod nightly-join-x7", "is running long", "runs for 60 min", "ends by (1 in 2)"):
        assert words in text, words


def test_a_pods_run_is_read_from_the_pod() -> None:
    named = TaskId("lab", "nightly-join-x7")
    pod = a_pod().named(named.name).labelled("nightly-join").in_namespace("lab").built()
    pod["metadata"]["uid"] = "u-1"
    pod["status"] = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": pod["spec"]["containers"][0]["name"],
                "restartCount": 0,
                "state": {"running": {"startedAt": "2026-10-31T00:00:00Z"}},
            }
        ],
    }
    task, status = run_of(pod, named)
    assert (task, status.attempt_uid, status.ended) == (NIGHTLY, "u-1", False)


def test_a_pod_that_is_not_plimsolls_is_told_how_to_become_so() -> None:
    pod = a_pod().unlabelled().built()
    with pytest.raises(NothingToExplain, match=r"label its template plimsoll\.dev/task"):
        run_of(pod, TaskId("lab", "x"))


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("lab/nightly-jion", "did you mean lab/nightly-join?"),
        ("nightly-join", "is not 'namespace/name'"),
    ],
)
def test_of_a_name_that_is_not_there_the_nearest_are_told(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str, words: str
) -> None:
    assert forecast(url, named=named, kubeconfig=tmp_path / "absent") == 1
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""


@pytest.mark.slow
def test_what_came_from_outside_cannot_colour_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(
        [replace(each, node_type="[red]\x1b[31mn") for each in telling_runs(12)]
    )
    store.close()
    assert forecast(address) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "[red]" in text


@pytest.mark.slow
def test_it_is_a_command(url: str) -> None:
    done = run_here("forecast", str(NIGHTLY), "--store", url, "--output", "json")
    assert json.loads(done.stdout)["task"] == str(NIGHTLY)
