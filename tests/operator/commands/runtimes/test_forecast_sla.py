"""`plimsoll sla`: how likely a plan has ended by a time, and its words on a broken plan."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.runtimes.deadlines import BadDeadline, seconds_until, span_s
from plimsoll_operator.commands.runtimes.forecast import forecast_command
from plimsoll_operator.commands.runtimes.sla import (
    MOST_PLAN_BYTES,
    TOO_UNLIKELY,
    SlaRequest,
    sla_command,
)
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.runtimes.telling_pasts import AFTER_S, steady_runs

SHORT, LONG = TaskId("lab", "extract"), TaskId("lab", "train")
STEPS: tuple[dict[str, Any], ...] = (
    {"name": "extract", "task": "lab/extract"},
    {"name": "train", "task": "lab/train", "after": ["extract"]},
    {"name": "check", "task": "lab/extract", "after": ["extract"]},
    {"name": "publish", "task": "lab/extract", "after": ["train", "check"]},
)
FORK = {"steps": STEPS}
CHAIN = {"steps": STEPS[:2]}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a task of a minute and one of ten."""
    address = f"sqlite:///{tmp_path_factory.mktemp('store')}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(steady_runs(task=SHORT, usual_s=60))
    store.observations.record(steady_runs(task=LONG, usual_s=600))
    store.close()
    return address


def asking(folder: Path, url: str, plan: object, **changes: Any) -> SlaRequest:
    path = folder / "plan.json"
    path.write_text(plan if isinstance(plan, str) else json.dumps(plan))
    return replace(SlaRequest(path=path, store_url=url, now_s=AFTER_S), **changes)


def told(
    capsys: pytest.CaptureFixture[str], request: SlaRequest, status: int = 0
) -> Mapping[str, Any]:
    assert sla_command(request, OutputForm.JSON) == status
    found: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_a_chain_takes_as_long_as_its_steps_together(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, asking(tmp_path, url, CHAIN, within="30m"))
    assert found["method"] == "convolution"
    assert found["p50_s"] == pytest.approx(660, rel=0.1)
    assert found["chance"] > 0.9
    assert found["within_s"] == 1800
    assert found["by_s"] == AFTER_S + 1800


@pytest.mark.slow
def test_a_fork_is_decided_by_its_longer_branch(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, asking(tmp_path, url, FORK))
    assert found["method"] == "simulation"
    assert found["p50_s"] == pytest.approx(720, rel=0.1)
    assert [each["name"] for each in found["deciding_branch"]] == ["extract", "train", "publish"]
    assert found["chance"] is None, "no deadline was named"
    assert found["known_runs"] == {"lab/extract": 60, "lab/train": 60}


@pytest.mark.slow
def test_the_chance_falls_with_the_deadline(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chances = [
        told(capsys, asking(tmp_path, url, FORK, within=within))["chance"]
        for within in ("2h", "13m", "12m", "5m")
    ]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.95
    assert chances[-1] < 0.05


def test_the_plans_own_deadline_holds_unless_another_is_named(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = {**FORK, "within_s": 900}
    assert told(capsys, asking(tmp_path, url, plan))["within_s"] == 900
    assert told(capsys, asking(tmp_path, url, plan, within="1h"))["within_s"] == 3600
    by = datetime.fromtimestamp(AFTER_S + 600, UTC).isoformat()
    assert told(capsys, asking(tmp_path, url, plan, by=by))["within_s"] == pytest.approx(600)


def test_a_chance_below_what_is_needed_is_told_by_the_exit_status(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    enough = asking(tmp_path, url, FORK, within="2h", at_least=0.9)
    assert told(capsys, enough)["enough"] is True
    too_few = asking(tmp_path, url, FORK, within="5m", at_least=0.9)
    assert told(capsys, too_few, TOO_UNLIKELY)["enough"] is False
    assert sla_command(too_few, OutputForm.TABLE) == TOO_UNLIKELY
    assert "not enough, 90% was asked for" in capsys.readouterr().out


def test_the_same_plan_gives_the_same_answer_at_the_same_time(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    request = asking(tmp_path, url, FORK, within="12m")
    assert told(capsys, request) == told(capsys, request)


def test_what_has_run_and_what_has_ended_are_taken_off(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = told(capsys, asking(tmp_path, url, FORK))
    steps = [dict(each) for each in STEPS]
    steps[0]["ended"] = True
    steps[1]["elapsed_s"] = 300
    later = told(capsys, asking(tmp_path, url, {"steps": steps}))
    assert later["steps_left"] == 3
    assert fresh["p50_s"] - later["p50_s"] == pytest.approx(360, abs=60)


def test_a_table_names_the_branch_and_the_chance(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sla_command(asking(tmp_path, url, FORK, within="1h"), OutputForm.TABLE) == 0
    text = capsys.readouterr().out
    for words in (
        "a plan of 4 steps, 4 to end",
        "to end within 60 min",
        "the branch that decides",
        "publish",
        "always",
        "of each task 60 runs or more are known",
        "attempts that are killed, evicted or fail",
    ):
        assert words in text, words


def test_a_plan_that_has_ended_says_so(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = {"steps": [{"name": "a", "task": "lab/extract", "ended": True}]}
    assert sla_command(asking(tmp_path, url, plan), OutputForm.TABLE) == 0
    text = capsys.readouterr().out
    assert "all its steps have ended" in text
    assert "p99" not in text


def test_a_long_plan_says_which_times_no_known_run_tells_of(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def table(steps: int) -> str:
        names = [f"step-{place}" for place in range(steps)]
        chain = [
            {"name": name, "task": "lab/extract", "after": names[max(0, place - 1) : place]}
            for place, name in enumerate(names)
        ]
        assert sla_command(asking(tmp_path, url, {"steps": chain}), OutputForm.TABLE) == 0
        return capsys.readouterr().out

    assert "guessed" not in table(2)
    assert "simulations" not in table(2), "a chain is a sum"
    # Of 60 known runs and 120 steps, the longest is a step in two of three cases.
    assert re.search(r"guessed +from p\d\d on: in 67% a step takes longer", table(120))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        pytest.param("{", "is no JSON", id="no JSON"),
        pytest.param("[" * 100_000, "is no JSON", id="too deep"),
        pytest.param({"steps": []}, "0 steps", id="no steps"),
        pytest.param({"steps": [{"name": "a"}]}, "its task is missing", id="no task"),
        pytest.param(
            {"steps": [{"name": "a", "task": "train"}]}, "'namespace/name'", id="no namespace"
        ),
        pytest.param(
            {"steps": [{"name": "a", "task": "lab/nobody"}]},
            "knows no run of it that succeeded",
            id="an unknown task",
        ),
        pytest.param(
            {"steps": [{"name": "a", "task": "lab/train", "after": ["b"]}]},
            "which is no step here",
            id="an unknown step",
        ),
        pytest.param(
            {
                "steps": [
                    {"name": "a", "task": "lab/train", "after": ["b"]},
                    {"name": "b", "task": "lab/train", "after": ["a"]},
                ]
            },
            "in a circle",
            id="a circle",
        ),
        pytest.param(
            {"steps": [{"name": "a", "task": "lab/train", "elapsed_s": -1}]},
            "write seconds, 0 or more",
            id="a negative time",
        ),
        pytest.param(
            {"steps": [{"name": "a", "task": "lab/train", "wait_s": 1e308}]},
            "a hundred years at most",
            id="an endless wait",
        ),
        pytest.param(" " * (MOST_PLAN_BYTES + 2), "a plan is smaller", id="endless"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused_with_what_to_write(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str], plan: object, words: str
) -> None:
    assert sla_command(asking(tmp_path, url, plan), OutputForm.JSON) == 1
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"within": "soon"}, "is no span; write 90m"),
        ({"within": "0s"}, "is over at once"),
        ({"by": "tomorrow"}, "is no time; write 2026"),
        ({"by": "2020-01-01T00:00Z"}, "has passed"),
        ({"within": "1h", "by": "2027-01-01"}, "both name a deadline"),
        ({"at_least": 0.9}, "--at-least needs a deadline"),
    ],
)
def test_a_deadline_that_is_none_is_refused(
    tmp_path: Path,
    url: str,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    words: str,
) -> None:
    assert sla_command(asking(tmp_path, url, FORK, **changes), OutputForm.JSON) == 1
    assert words in capsys.readouterr().err


def test_a_plan_that_is_not_there_is_named(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    request = SlaRequest(path=tmp_path / "absent.json", store_url=url, now_s=AFTER_S)
    assert sla_command(request, OutputForm.JSON) == 1
    assert "absent.json: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "h", "1.5h", "-1h", "1m1h", "9" * 70 + "s", "1h 30m"])
def test_what_is_no_span_is_none(text: str) -> None:
    with pytest.raises(BadDeadline):
        span_s(text)


def test_a_time_without_a_zone_is_utc() -> None:
    assert seconds_until("1970-01-01T01:00", 0.0) == seconds_until("1970-01-01T03:00+02:00", 0.0)


@pytest.mark.slow
def test_a_chain_of_tasks_can_be_asked_for_a_chance_near_one(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    request = asking(tmp_path, url, CHAIN, within="365d", at_least=0.9999)
    found = told(capsys, request)
    assert found["enough"] is True
    assert found["chance_most"] == 1.0


def test_a_run_longer_than_forecasts_can_tell_is_enough_for_no_deadline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A training takes thirty days."""
    url = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(url)
    store.observations.record(steady_runs(task=LONG, usual_s=30 * 86_400))
    store.close()
    plan = {"steps": [{"name": "train", "task": str(LONG)}]}
    request = asking(tmp_path, url, plan, within="20d", at_least=0.9)
    found = told(capsys, request, TOO_UNLIKELY)
    assert found["chance_least"] <= found["chance"] < 0.1
    assert found["chance_most"] > 0.99
    assert sla_command(request, OutputForm.TABLE) == TOO_UNLIKELY
    table = capsys.readouterr().out
    assert "more than 16 d   99 in 100" in table
    assert "a step takes more than 16 d: none counts as ended" in table
    assert forecast_command(str(LONG), url, Installation(), OutputForm.TABLE, now_s=AFTER_S) == 0
    assert "more than 16 d   99 in 100" in capsys.readouterr().out
    running = {"steps": [{"name": "train", "task": str(LONG), "elapsed_s": 25 * 86_400}]}
    assert sla_command(asking(tmp_path, url, running), OutputForm.TABLE) == 0
    assert re.search("p50 +unknown +1 in 2", capsys.readouterr().out)


@pytest.mark.slow
def test_it_is_a_command_that_reads_a_pipe(url: str) -> None:
    command = [sys.executable, "-P", "-m", "plimsoll_operator", "sla", "-", "--store", url]
    done = subprocess.run(
        [*command, "--within", "2h", "--output", "json"],
        input=json.dumps(FORK),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["chance"] > 0.9
