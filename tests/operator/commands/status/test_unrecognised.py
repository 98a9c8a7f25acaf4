"""`plimsoll status --unrecognised`: which pods are left alone, and the labels they need."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Console

from plimsoll_operator.commands.status.unrecognised import (
    MISSING,
    Unlabelled,
    read_unlabelled,
    unlabelled_of,
    unrecognised_tables,
)
from plimsoll_operator.kube.api_server import CORE, OURS
from plimsoll_operator.kube.errors import ApiError, Refused
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


def test_every_maker_has_words_that_name_the_label_to_write() -> None:
    assert set(MISSING) == set(MAKERS)
    assert [maker for maker, words in MISSING.items() if labels.TASK not in words] == []


class Cluster:
    """An API server's lists by path. An error is its answer."""

    def __init__(self, lists: Mapping[str, list[Json] | ApiError]) -> None:
        self.lists = lists

    async def items(self, path: str, query: Mapping[str, str] | None = None) -> list[Json]:
        without_label = query == {"labelSelector": f"!{labels.TASK}"}
        assert without_label == path.endswith("/pods")
        listed = self.lists.get(path, [])
        if isinstance(listed, ApiError):
            raise listed
        return listed


NAMESPACES, POLICIES = f"{CORE}/namespaces", f"{OURS}/sizingpolicies"


def a_policy(namespace: str, name: str = "default") -> Json:
    return {"metadata": {"namespace": namespace, "name": name}}


def read(**lists: Any) -> Unlabelled:
    pods = {f"{CORE}/namespaces/{each}/pods": [A_BARE_POD] for each in ("shop", "lab", "ops")}
    found = {NAMESPACES: lists["namespaces"], POLICIES: lists["policies"], **pods}
    return asyncio.run(read_unlabelled(Cluster(found), None))


def test_namespaces_are_read_that_ask_by_their_label_or_by_their_policy() -> None:
    shop = {"metadata": {"name": "shop"}}
    policies = [a_policy("lab"), a_policy("shop"), a_policy("ops", "another")]
    found = read(namespaces=[shop], policies=policies)
    assert found.namespaces == ("lab", "shop")
    assert sum(row.pods for row in found.unrecognised) == 2
    assert found.unread is None


def test_without_a_right_to_policies_the_rest_is_told_and_what_is_missing() -> None:
    refused = Refused("you may not list sizingpolicies")
    found = read(namespaces=[{"metadata": {"name": "shop"}}], policies=refused)
    assert found.namespaces == ("shop",)
    assert "you may not list sizingpolicies" in text_of(found)
    assert "you may not list" in text_of(read(namespaces=[], policies=refused))
