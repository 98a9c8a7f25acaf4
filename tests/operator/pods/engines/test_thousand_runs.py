"""Hundreds of runs of each engine's tasks: one task each, and never two under one name.

A soak makes thousands. The names that engines draw differ between any two runs.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.table import ENGINES
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.recognising import CRONJOB, JOB, MAKERS, patch_for_recognised, recognise
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance, Json, Task
from tests.builders.pods import APod
from tests.rigs.drawing import drawn

RUNS = drawn(250)


@cache
def names_of(task: Task) -> tuple[str | None, ...]:
    """The names of its runs; made once for all tests here."""
    return tuple(named(task.make(Chance(seed))) for seed in range(RUNS))


def named(pod: Json) -> str | None:
    """The task of a pod without a label, by the label that it gets; None if it gets none."""
    found = recognise(pod)
    if found.why is not None:
        return None
    metadata = pod["metadata"]
    its = {**metadata.get("labels", {}), labels.TASK: labels.AUTO}
    identity = identify({**pod, "metadata": {**metadata, "labels": its}})
    assert identity is not None
    assert identity.task.name == found.task
    return identity.task.name


@pytest.mark.parametrize("task", [pytest.param(each, id=f"{each.engine}: {each.name}")
                                  for each in TASKS])  # fmt: skip
def test_hundreds_of_runs_are_one_task(task: Task) -> None:
    recognised = [name for name in names_of(task) if name is not None]
    assert len(set(recognised)) == (1 if task.recognised else 0)
    assert len(recognised) >= task.recognised * RUNS


@pytest.mark.parametrize("without", [False, True], ids=["with labels", "without any"])
def test_a_recognised_pod_gets_one_label_and_keeps_the_rest(without: bool) -> None:
    pod = TASKS[0].make(Chance(1))
    if without:
        pod["metadata"].pop("labels")
    before = APod(pod).built()
    after = APod(pod).patched(patch_for_recognised(pod)).built()
    assert after["metadata"]["labels"].pop(labels.TASK) == labels.AUTO
    before["metadata"].setdefault("labels", {})
    assert after == before


def test_no_two_tasks_have_one_name() -> None:
    tasks: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for task in TASKS:
        for name in {each for each in names_of(task) if each is not None}:
            tasks[name].add((task.engine, task.name))
    assert [name for name, of in tasks.items() if len(of) > 1] == []


def test_every_engine_of_the_table_has_pods_here() -> None:
    assert {task.engine for task in TASKS if task.recognised == 1} == set(MAKERS)
    assert set(MAKERS) == {engine.name for engine in ENGINES} | {JOB, CRONJOB}


@pytest.mark.parametrize("task", [pytest.param(each, id=f"{each.engine}: {each.name}")
                                  for each in TASKS if each.recognised])  # fmt: skip
def test_an_author_who_refuses_is_heard(task: Task) -> None:
    pod = APod(task.make(Chance(1)))
    assert named(pod.with_labels({labels.ENABLED: "false"}).built()) is None
    assert named(pod.with_labels({labels.TASK: ""}).built()) is None
