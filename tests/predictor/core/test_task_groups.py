"""Light, moderate, heavy: found by clustering, the same every time."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from plimsoll_predictor.core.task_groups import GroupName, TaskUse, _points, group_tasks
from tests.builders.task_uses import A_TASK, a_task

THREE_KINDS = [
    *(a_task(f"light-{n}", 0.3 + 0.05 * n, 1 + 0.3 * n) for n in range(8)),
    *(a_task(f"moderate-{n}", 1 + 0.1 * n, 12 + n) for n in range(5)),
    a_task("train", 8, 175),
    a_task("predict", 6, 110),
]


def names(tasks: list[TaskUse]) -> dict[str, set[str]]:
    return {group.name.value: {task.task for task in group.tasks} for group in group_tasks(tasks)}


def test_kinds_that_differ_are_told_apart() -> None:
    found = names(THREE_KINDS)
    assert found["heavy"] == {"shop/train", "shop/predict"}
    assert found["moderate"] == {f"shop/moderate-{n}" for n in range(5)}
    assert found["light"] == {f"shop/light-{n}" for n in range(8)}


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_tasks_is_of_no_account(seed: int) -> None:
    shuffled = THREE_KINDS.copy()
    random.Random(seed).shuffle(shuffled)
    assert names(shuffled) == names(THREE_KINDS)


def test_groups_are_ordered_by_their_largest_need() -> None:
    groups = group_tasks(THREE_KINDS)
    assert [group.name for group in groups] == [
        GroupName.LIGHT,
        GroupName.MODERATE,
        GroupName.HEAVY,
    ]
    assert [group.most_bytes for group in groups] == sorted(g.most_bytes for g in groups)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        pytest.param([], [], id="no task"),
        pytest.param([A_TASK], ["light"], id="one"),
        pytest.param([A_TASK, a_task("b", 9, 90)], ["light", "heavy"], id="two"),
        pytest.param([A_TASK, replace(A_TASK, task="shop/twin")], ["light"], id="twins"),
        pytest.param(
            [A_TASK, a_task("b", 9, 90), replace(A_TASK, task="shop/c")],
            ["light", "heavy"],
            id="two kinds of three",
        ),
        pytest.param(
            [A_TASK, a_task("b", 3, 20), a_task("c", 9, 90)],
            ["light", "moderate", "heavy"],
            id="three",
        ),
    ],
)
def test_fewer_kinds_make_fewer_groups(tasks: list[TaskUse], expected: list[str]) -> None:
    assert [group.name.value for group in group_tasks(tasks)] == expected


def test_a_task_whose_cpu_nobody_measured_is_grouped_by_the_rest() -> None:
    blind = a_task("blind", 7, 150, used_cores=None, most_cores=None, request_cores=None)
    assert "shop/blind" in names([*THREE_KINDS, blind])["heavy"]


def test_a_task_that_used_nothing_is_light() -> None:
    assert "shop/idle" in names([*THREE_KINDS, a_task("idle", 0, 0, used_cores=0.0)])["light"]


def random_tasks(seed: int, n_tasks: int) -> list[TaskUse]:
    dice = np.random.default_rng(seed)
    tasks = []
    for place in range(n_tasks):
        kind = dice.integers(3)
        mean = float(dice.lognormal((-1, 0.5, 2)[kind], 0.5))
        most = mean * float(dice.lognormal((0.5, 1.5, 2.5)[kind], 0.4))
        tasks.append(a_task(f"t{place}", mean, most, runtime_s=float(dice.lognormal(6, 1))))
    return tasks


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", [5, 27, 300])
@pytest.mark.parametrize("seed", range(4))
def test_no_clustering_of_scikit_learn_is_tighter(seed: int, n_tasks: int) -> None:
    tasks = random_tasks(seed, n_tasks)
    points = _points(tasks)
    theirs = KMeans(n_clusters=3, n_init=10, random_state=seed).fit(points).inertia_
    group_of = {t.task: place for place, g in enumerate(group_tasks(tasks)) for t in g.tasks}
    places = np.array([group_of[task.task] for task in tasks])
    ours = sum(
        ((points[places == place] - points[places == place].mean(axis=0)) ** 2).sum()
        for place in range(3)
    )
    assert ours <= theirs * 1.001
