"""`plimsoll split`: what is known about a task's chunks, and how its Jobs are best cut."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.splitting.split import split_command
from plimsoll_operator.views.splitting_facts import AskedJob
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import Store
from tests.builders.splitting.taught_chunks import chunks_of
from tests.builders.stores import TRAIN, an_attempt


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(chunks_of("one"))
    store.close()
    return address


@pytest.mark.slow
def test_it_says_what_the_last_job_would_take_cut_otherwise(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert split_command(str(TRAIN), url, OutputForm.JSON, AskedJob()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["job"] == {"items": 400, "workers": 4, "pods": 8, "limit_bytes": GIB}
    assert told["verdict"] == "cut"
    assert told["pods"] > 8
    by_pods = {plan["pods"]: plan["mean_s"] for plan in told["plans"]}
    assert by_pods[told["pods"]] < by_pods[8]
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    assert "less time" in capsys.readouterr().out


@pytest.mark.slow
def test_where_no_job_leased_it_recommends_leases(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 0
    assert "they share a task's first run well, too" in capsys.readouterr().out


@pytest.mark.slow
def test_where_memory_counts_the_cut_is_by_both(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = AskedJob(memory_weight=1.0)
    assert split_command(str(TRAIN), url, OutputForm.JSON, asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["memory_weight"] == 1.0
    chosen = next(plan for plan in told["plans"] if plan["pods"] == told["pods"])
    assert chosen["memory_bytes"] < told["plans"][0]["memory_bytes"]
    assert split_command(str(TRAIN), url, OutputForm.TABLE, asked) == 0
    assert "less time × memory^1" in capsys.readouterr().out


def test_it_says_that_chunks_failed_or_hung_and_what_follows(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = AskedJob(items=100, pods=100)
    assert split_command(str(TRAIN), url, OutputForm.TABLE, job) == 0
    before = capsys.readouterr().out
    assert "failures" not in before
    assert "hung" not in before
    store = Store.open(url)
    failed, hung, *others = chunks_of("two", 4)
    hung = replace(hung, finished_s=(hung.started_s or 0.0) + 1e8)
    store.observations.record([replace(failed, outcome=Outcome.EVICTED), hung, *others])
    store.close()
    assert split_command(str(TRAIN), url, OutputForm.TABLE, job) == 0
    told = capsys.readouterr().out
    assert "1 of the latest chunks failed or was taken away: no pod does more items" in told
    assert "1 of the latest chunks took so long that it must have hung: its time does not" in told
    assert "as it is, 100 pods" in told


def test_another_job_is_cut_by_the_same_chunks(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert split_command(str(TRAIN), url, OutputForm.JSON, AskedJob(items=8000, workers=2)) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["job"]["items"], told["job"]["workers"], told["job"]["pods"]) == (8000, 2, 2)


@pytest.mark.parametrize(
    ("task", "asked", "words"),
    [
        ("shop/nobody", AskedJob(), "knows no such task"),
        (str(TRAIN), AskedJob(items=5, pods=9), "9 pods cannot share 5 items"),
        ("nobody", AskedJob(), "nobody"),
    ],
)
def test_what_it_cannot_tell_it_says(
    url: str, task: str, asked: AskedJob, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert split_command(task, url, OutputForm.TABLE, asked) == 1
    assert words in capsys.readouterr().err


def test_a_task_that_is_mistyped_is_named_with_those_that_are_near(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert split_command(f"{TRAIN}x", url, OutputForm.TABLE, AskedJob()) == 1
    words = " ".join(capsys.readouterr().err.split())
    assert words.startswith(f"plimsoll split: {TRAIN}x: ")
    assert words.endswith(f"knows no such task; did you mean {TRAIN}?")


def test_a_task_whose_jobs_have_no_items_is_told_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'plain.db'}"
    store = Store.open(url)
    store.observations.record([an_attempt("a").built])
    store.close()
    assert split_command(str(TRAIN), url, OutputForm.TABLE, AskedJob()) == 1
    words = " ".join(capsys.readouterr().err.split())
    assert "write the annotation plimsoll.dev/items on its Jobs" in words
    assert "plimsoll.dev/leases" in words
