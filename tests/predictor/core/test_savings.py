"""What sizing saves by group, in the form of the thesis's Tables 12 and 13."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.savings import Resource, Way, by_group, run_level, task_level
from plimsoll_predictor.core.task_groups import TaskUse, group_tasks
from plimsoll_predictor.core.units import GB
from tests.builders.task_uses import A_TASK, a_task

LIGHT = [a_task(f"light-{n}", 0.3, 4.2, request_bytes=55.0 * GB) for n in range(3)]
MODERATE = [a_task(f"moderate-{n}", 1, 19.5, request_bytes=42.0 * GB) for n in range(2)]
HEAVY = [
    a_task("one", 3.5, 175, request_bytes=350.0 * GB, sized_bytes=50.0 * GB, most_cores=5.0),
    a_task("two", 3.4, 110, request_bytes=100.0 * GB, sized_bytes=30.0 * GB, most_cores=0.8),
]
ALL = group_tasks([*LIGHT, *MODERATE, *HEAVY])


def test_the_task_level_rows_are_those_of_table_12() -> None:
    rows = [(r.way, r.resource, r.label, r.tasks, r.before, r.after) for r in task_level(ALL)]
    assert rows == [
        (Way.MANUAL, Resource.CPU, "non-parallel", 6, 4.0, 1.0),
        (Way.MANUAL, Resource.MEMORY, "light", 3, 55 * GB, 5 * GB),
        (Way.MANUAL, Resource.MEMORY, "moderate", 2, 42 * GB, 20 * GB),
        (Way.PREDICTED, Resource.MEMORY, "heavy task 1 (shop/one)", 1, 350 * GB, 50 * GB),
        (Way.PREDICTED, Resource.MEMORY, "heavy task 2 (shop/two)", 1, 100 * GB, 30 * GB),
    ]


def test_one_run_of_every_task_is_the_sum() -> None:
    memory, cpu = run_level(ALL)
    assert memory.before == (3 * 55 + 2 * 42 + 350 + 100) * GB
    assert memory.after == (3 * 5 + 2 * 20 + 50 + 30) * GB
    # The task that uses five cores keeps the four it asks for.
    assert (cpu.before, cpu.after) == (28.0, 6 * 1.0 + 4.0)
    assert [f"{row.improved:.1%}" for row in (memory, cpu)] == ["80.7%", "64.3%"]


def test_each_group_has_its_memory_and_its_cpu() -> None:
    rows = by_group(ALL)
    assert [(row.label, row.resource.value) for row in rows] == [
        (name, resource)
        for name in ("light", "moderate", "heavy")
        for resource in ("Memory", "CPU")
    ]
    light = rows[0]
    assert (light.before, light.used, light.after) == (55 * GB, 0.3 * GB, 5 * GB)
    assert light.improved == pytest.approx(50 / 55)


def test_tasks_sized_by_themselves_are_not_given_their_groups_one_size() -> None:
    sized = [replace(task, sized_bytes=2.0 * GB, sized_cores=0.5) for task in LIGHT]
    memory, cpu = by_group(group_tasks(sized))
    assert (memory.way, memory.after, cpu.after) == (Way.PREDICTED, 2 * GB, 0.5)


def test_a_parallel_task_that_needs_less_than_it_asks_has_a_row() -> None:
    parallel = replace(A_TASK, most_cores=3.0, request_cores=8.0, sized_cores=3.5)
    first, *_ = task_level(group_tasks([parallel]))
    assert (first.label, first.before, first.after) == ("parallel", 8.0, 3.5)


@pytest.mark.parametrize(
    ("task", "resources"),
    [
        pytest.param(replace(A_TASK, request_bytes=None), {Resource.CPU}, id="no memory asked"),
        pytest.param(replace(A_TASK, request_cores=None), {Resource.MEMORY}, id="no CPU asked"),
        pytest.param(
            replace(A_TASK, used_cores=None, most_cores=None),
            {Resource.MEMORY},
            id="nobody measured the CPU",
        ),
    ],
)
def test_what_nobody_asked_or_measured_has_no_row(task: TaskUse, resources: set[Resource]) -> None:
    groups = group_tasks([task])
    for table in (by_group, task_level, run_level):
        assert {row.resource for row in table(groups)} == resources


def test_many_heavy_tasks_share_a_row() -> None:
    heavy = [a_task(f"heavy-{n}", 30, 150) for n in range(6)]
    labels = [row.label for row in task_level(group_tasks([*LIGHT, *MODERATE, *heavy]))]
    assert labels == ["non-parallel", "light", "moderate", "heavy"]


def test_asking_too_little_shows_as_a_loss() -> None:
    short = replace(A_TASK, request_bytes=1.0 * GB)
    memory = by_group(group_tasks([short]))[0]
    assert memory.improved == -1.0
