"""`plimsoll status --unrecognised`: what is left alone, and what a label would have to say."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from plimsoll_operator.commands.status.unrecognised import (
    MISSING,
    Unlabelled,
    unlabelled_of,
    unrecognised_tables,
)
from plimsoll_operator.names import labels
from plimsoll_operator.pods.recognising import MAKERS
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance, Json, a_pod

A_SERVICE = a_pod("web-1", labels={}, owner=("apps/v1", "ReplicaSet", "web", "u"))
A_BARE_POD = a_pod("debug", labels={"run": "debug"})
A_STRANGER = a_pod("fit-1", owner=("example.com/v1", "Fit[red]", "fit", "u"))
A_REFUSAL = a_pod("shy", labels={labels.ENABLED: "false"})


def made(engine: str, name: str, runs: int = 3) -> list[Json]:
    (task,) = (each for each in TASKS if (each.engine, each.name) == (engine, name))
    return [task.make(Chance(seed)) for seed in range(runs)]


def text_of(found: Unlabelled, limit: int = 40) -> str:
    console = Console(width=250, record=True, file=StringIO())
    console.print(unrecognised_tables(found, limit))
    return console.export_text()


def test_pods_are_listed_by_their_maker_with_what_they_would_need() -> None:
    pods = [*made("jobset", "a TrainJob of the SDK"), A_BARE_POD, A_STRANGER]
    found = unlabelled_of(["shop"], pods)
    assert [(row.made_by, row.pods) for row in found.unrecognised] == [
        ("jobset", 3),
        ("Fit[red]", 1),
        ("nobody (a bare pod)", 1),
    ]
    text = text_of(found)
    assert "a JobSet or TrainJob whose name was generated" in text
    assert "in the labels of the pod template of the Fit[red]" in text
    assert "debug" in text


def test_what_needs_nothing_is_only_counted() -> None:
    pods = [*made("airflow", "a task"), A_SERVICE, A_REFUSAL]
    found = unlabelled_of(["shop"], pods)
    assert (found.recognised, found.services, found.refused) == (3, 1, 1)
    assert found.unrecognised == ()
    assert "every pod that could be a task's is recognised" in text_of(found)


def test_of_many_rows_the_first_are_shown() -> None:
    kinds = [a_pod("p", owner=("example.com/v1", f"Kind{i}", "x", "u")) for i in range(50)]
    assert "and 10 more" in text_of(unlabelled_of(["shop"], kinds))


def test_without_a_namespace_that_wants_it_the_label_is_named() -> None:
    assert f'{labels.ENABLED}: "true"' in text_of(unlabelled_of([], []))


def test_every_maker_has_words() -> None:
    assert set(MISSING) == set(MAKERS)
    assert all(MISSING.values())
