"""`plimsoll what-if`: what past runs say about other conditions, and when they cannot tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.runtimes.what_if import what_if_command
from plimsoll_operator.views.runtimes.scenarios import BadScenario, scenario_of
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.store import Store
from tests.builders.runtimes.telling_pasts import NIGHTLY, steady_runs, telling_runs
from tests.rigs.processes.command_lines import run_here


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a task that is a fifth faster on one kind of node."""
    address = f"sqlite:///{tmp_path_factory.mktemp('store')}/plimsoll.db"
    store = Store.open(address)
    faster = [
        replace(each, finished_s=(each.started_s or 0) + 0.8 * (each.runtime_s or 0))
        if each.node_type == "n2-standard-8"
        else each
        for each in steady_runs(420)
    ]
    store.observations.record(faster)
    store.close()
    return address


def told(capsys: pytest.CaptureFixture[str], url: str, scenario: Scenario) -> Any:
    assert what_if_command(str(NIGHTLY), scenario, url, OutputForm.JSON) == 0
    return json.loads(capsys.readouterr().out)


def of_measure(found: Any, name: str) -> Any:
    return next(each for each in found["changes"] if each["measure"] == name)


@pytest.mark.slow
def test_a_faster_kind_of_node_is_told_with_its_interval(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, url, Scenario(node_type="n2-standard-8"))
    middle = of_measure(found, "p50")
    assert middle["verdict"] == "less"
    assert middle["low"] <= -0.2 <= middle["high"] < 0
    assert found["now"]["usual_s"] > found["then"]["usual_s"]
    assert any("what went along with it, not what caused it" in each for each in found["words"])


@pytest.mark.slow
def test_what_made_no_difference_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(steady_runs(420))
    store.close()
    found = told(capsys, address, Scenario(node_type="n2-standard-8"))
    assert of_measure(found, "p50")["verdict"] == "cannot-tell"
    assert any("the data cannot tell" in each for each in found["words"])


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(Scenario(node_type="nobody-has-it"), id="a node type nobody has"),
        pytest.param(Scenario(memory_bytes=64 * GIB), id="a size it never had"),
        pytest.param(Scenario(limit_equal=True), id="limits nobody recorded"),
        pytest.param(Scenario(even_load=True), id="loads nobody recorded"),
    ],
)
def test_conditions_that_no_run_had_are_answered_plainly(
    url: str, capsys: pytest.CaptureFixture[str], scenario: Scenario
) -> None:
    found = told(capsys, url, scenario)
    assert "nothing to compare" in found["words"][0]
    assert {each["verdict"] for each in found["changes"]} == {"too-few"}


@pytest.mark.slow
def test_a_table_holds_the_sentences(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = Scenario(node_type="n2-standard-8")
    sentences = told(capsys, url, scenario)["words"]
    assert what_if_command(str(NIGHTLY), scenario, url, OutputForm.TABLE) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"{NIGHTLY} on n2-standard-8" in text
    for sentence in sentences:
        assert " ".join(sentence.split())[:80] in text


def test_of_a_task_that_is_not_there_the_nearest_is_told(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = Scenario(even_load=True)
    assert what_if_command("lab/nightly-jion", scenario, url, OutputForm.TABLE) == 1
    assert "did you mean lab/nightly-join?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("memory", "words"),
    [("4GBB", "is no size; write 4Gi"), ("", "is no size"), ("0", "above zero"), ("-1Gi", "size")],
)
def test_a_size_that_is_none_is_refused(memory: str, words: str) -> None:
    with pytest.raises(BadScenario, match=words):
        scenario_of(node_type=None, memory=memory, limit_equal=False, even_load=False)


def test_nothing_imagined_is_refused() -> None:
    with pytest.raises(BadScenario, match="a what-if needs a condition"):
        scenario_of(node_type=None, memory=None, limit_equal=False, even_load=False)


@pytest.mark.slow
def test_it_is_a_command(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(telling_runs(40))
    store.close()
    command = ["what-if", str(NIGHTLY), "--store", address, "--output", "json"]
    conditions = ["--limit", "equal", "--memory", "4Gi", "--even-load"]
    done = run_here(*command, *conditions)
    asked = json.loads(done.stdout)["scenario"]
    assert asked == {"limit_equal": True, "even_load": True, "memory_bytes": 4 * GIB}
    nothing = run_here(*command)
    assert nothing.returncode == 2
