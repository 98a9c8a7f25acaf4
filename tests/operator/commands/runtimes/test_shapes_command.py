"""`plimsoll shapes`: shapes learned from a store, kept, listed, and shown on the page."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.runtimes.shapes import shapes_command
from plimsoll_operator.training.shapes import runs_of
from plimsoll_operator.views.runtimes.task_runtimes import gather_runtimes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.runtimes.telling_pasts import AFTER_S, a_timed_run, timed_runs

SPREADS = {"steady": 0.02, "wide": 0.7}


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with ten tasks that hardly vary and ten that vary much."""
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store, dice = Store.open(address), random.Random(5)
    for kind, spread in SPREADS.items():
        for place in range(10):
            usual_s = dice.uniform(100, 2000)
            runtimes_s = [usual_s * dice.lognormvariate(0, spread) for _ in range(40)]
            store.observations.record(timed_runs(runtimes_s, TaskId("lab", f"{kind}-{place}")))
    store.close()
    return address


def shapes(url: str, output: OutputForm = OutputForm.JSON, *, learn: bool = False) -> int:
    return shapes_command(url, output, learn=learn, now_s=AFTER_S)


@pytest.mark.slow
def test_shapes_are_learned_kept_and_found_again(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shapes(url) == 1
    assert "--learn" in capsys.readouterr().err
    assert shapes(url, learn=True) == 0
    learned = json.loads(capsys.readouterr().out)
    assert shapes(url) == 0
    assert json.loads(capsys.readouterr().out) == learned
    assert learned["ratio"]["version"] == 1
    assert sum(each["members"] for each in learned["ratio"]["shapes"]) == 20
    assert shapes(url, OutputForm.TABLE) == 0
    assert "middle half" in capsys.readouterr().out
    store = Store.open(url)
    places = {
        kind: gather_runtimes(store, TaskId("lab", f"{kind}-3"), AFTER_S).typical
        for kind in SPREADS
    }
    store.close()
    assert places["steady"]
    assert places["wide"]
    assert places["steady"].place < places["wide"].place


@pytest.mark.slow
def test_learning_again_makes_a_version_that_keeps_the_names(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = []
    for _ in range(2):
        assert shapes(url, learn=True) == 0
        documents.append(json.loads(capsys.readouterr().out)["ratio"])
    assert [each["version"] for each in documents] == [1, 2]
    names = [[shape["name"] for shape in each["shapes"]] for each in documents]
    assert names[0] == names[1]


def test_attempts_without_a_runtime_teach_no_shape(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    failed = replace(a_timed_run(60.0, 1), outcome=Outcome.OOM_KILLED)
    store.observations.record(
        [a_timed_run(60.0), failed, replace(a_timed_run(60.0, 2), started_s=None)]
    )
    assert [each.runtime_s for each in runs_of(store)] == [60.0]
    store.close()


def test_a_store_with_too_little_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.close()
    assert shapes(address, OutputForm.TABLE, learn=True) == 1
    assert "no run of any task has succeeded yet" in capsys.readouterr().err
    store = Store.open(address)
    store.observations.record([a_timed_run(60.0)])
    store.close()
    assert shapes(address, OutputForm.TABLE, learn=True) == 1
    assert "none have been learned" in capsys.readouterr().err
