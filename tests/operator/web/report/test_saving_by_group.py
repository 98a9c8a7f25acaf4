"""The report's groups of tasks, and what sizing saves by group."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.views.report.counting import cpu_figures_of
from plimsoll_operator.views.report.records import ModelFigures, TaskReport
from plimsoll_operator.views.report.saving_by_group import NAMED_TASKS, gather_groups
from plimsoll_operator.views.report.task_views import gather
from plimsoll_operator.web.report.page import render
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.store import Store
from tests.builders.reports import (
    START_S,
    a_life,
    a_report,
    a_task_report,
    an_attempt,
    model_figures,
)


def runs_of(
    name: str, *, need_bytes: int, cores: float, asked: float | None = 4.0
) -> list[Observation]:
    """Ten runs of ten minutes."""
    return [
        replace(
            an_attempt(f"{name}-{place}"),
            task=TaskId("shop", name),
            peak_bytes=need_bytes,
            cpu_s=600.0 * cores,
            peak_cores=cores * 2,
            request_cores=asked,
            started_s=START_S + 700 * place,
            finished_s=START_S + 700 * place + 600,
        )
        for place in range(10)
    ]


def a_store(folder: Path, *tasks: list[Observation]) -> Store:
    store = Store.open(str(folder / "store.db"))
    for runs in tasks:
        store.observations.record(runs)
    return store


def text_of(page: str) -> str:
    body = page[page.index("<body>") :]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


@pytest.mark.slow
def test_the_page_shows_each_group_and_what_it_would_save(tmp_path: Path) -> None:
    store = a_store(
        tmp_path,
        runs_of("light", need_bytes=GIB // 8, cores=0.25),
        runs_of("moderate", need_bytes=GIB, cores=0.5),
        runs_of("heavy", need_bytes=3 * GIB, cores=2.0),
    )
    text = text_of(render(gather(store), START_S))
    store.close()
    assert "Groups of tasks light, up to 128Mi 1 moderate, up to 1Gi 1 heavy, up to 3Gi 1" in text
    # Four cores were asked for; 1.2 times what was used is enough.
    assert "CPU light 1 4 cores 0.25 cores 0.3 cores 92.5%" in text
    assert "CPU heavy 1 4 cores 2 cores 2.4 cores 40.0%" in text
    # 1.1 times the largest need of 4Gi asked for.
    assert "Memory light 1 4.3 GB 0.13 GB 0.15 GB 96.6%" in text
    assert "Memory all tasks, once 3 12.9 GB 4.4 GB 4.9 GB 62.2%" in text
    assert "CPU all tasks, once 3 12 cores 2.8 cores 3.3 cores 72.5%" in text


def test_groups_of_one_task_each_have_no_table_of_their_own(tmp_path: Path) -> None:
    """Without CPU, such as of imported runs, it would have the rows of the table by task."""
    gib_by_name = {"light": 0.1, "moderate": 1.0, "heavy": 9.0, "as-heavy": 9.0}
    light, moderate, heavy, as_heavy = (
        [
            replace(run, cpu_s=None, peak_cores=None)
            for run in runs_of(name, need_bytes=int(gib * GIB), cores=1.0, asked=None)
        ]
        for name, gib in gib_by_name.items()
    )
    store = a_store(tmp_path, light, moderate, heavy)
    page = render(gather(store), START_S)
    assert "By group" not in page
    assert "heavy task 1 (shop/heavy)" in page
    store.observations.record(as_heavy)
    assert "<h3>By group</h3>" in render(gather(store), START_S)
    store.close()


def test_a_task_of_too_few_runs_saves_nothing_yet(tmp_path: Path) -> None:
    few = runs_of("young", need_bytes=GIB, cores=1.0)[:4]
    store = a_store(tmp_path, few, runs_of("known", need_bytes=GIB, cores=1.0))
    groups = gather(store).groups
    store.close()
    assert groups is not None
    sized = {task.task: task.sized_cores for group in groups.groups for task in group.tasks}
    assert sized == {"shop/young": 4.0, "shop/known": 1.2}


def test_one_task_alone_makes_no_groups(tmp_path: Path) -> None:
    store = a_store(tmp_path, runs_of("only", need_bytes=GIB, cores=1.0))
    data = gather(store)
    store.close()
    assert data.groups is None
    assert "Groups of tasks" not in render(data, START_S)


@pytest.mark.slow
def test_only_the_tasks_of_the_report_are_grouped(tmp_path: Path) -> None:
    names = [f"t{place}" for place in range(NAMED_TASKS + 4)]
    store = a_store(tmp_path, *(runs_of(name, need_bytes=GIB, cores=1.0) for name in names))
    some = gather(store, [TaskId("shop", name) for name in names[:2]]).groups
    everything = gather(store)
    store.close()
    assert some is not None
    assert [task.task for group in some.groups for task in group.tasks] == ["shop/t0", "shop/t1"]
    assert f"and {4} more" in text_of(render(everything, START_S))


@pytest.mark.slow
def test_tasks_whose_cpu_nobody_measured_are_grouped_by_memory(tmp_path: Path) -> None:
    blind = [replace(run, cpu_s=None, peak_cores=None) for run in a_life(seed=1)]
    other = [
        replace(run, task=TaskId("shop", "b"), attempt_uid=f"b{run.attempt_uid}") for run in blind
    ]
    store = a_store(tmp_path, blind, other)
    groups = gather(store).groups
    store.close()
    assert groups is not None
    assert {row.resource.value for row in groups.by_group} == {"Memory"}


def test_a_page_without_groups_is_as_it_was() -> None:
    page = render(a_report(a_task_report(a_life(seed=1))), START_S)
    assert "Groups of tasks" not in page


def test_a_tasks_section_shows_the_cpu_it_was_given(tmp_path: Path) -> None:
    sized = [
        replace(run, allocated_cores=1.0) for run in runs_of("train", need_bytes=GIB, cores=0.5)
    ]
    store = a_store(tmp_path, sized)
    text = text_of(render(gather(store), START_S))
    store.close()
    # Ten runs of ten minutes at four cores asked for, one allocated, half a core used.
    expected = "CPU saved 75% CPU asked 6.67 core·h CPU allocated 1.67 core·h CPU used 0.833 core·h"
    assert expected in text
    assert "busiest minute 1 core " in text


@pytest.mark.slow
def test_a_task_that_asks_for_too_little_saves_nothing_and_is_told_so(tmp_path: Path) -> None:
    """The demo's tasks ask for 100m, and use two and a half times as much."""
    greedy = runs_of("greedy", need_bytes=6 * GIB, cores=0.2575, asked=0.1)
    sized = [replace(run, allocated_cores=0.309) for run in greedy]
    store = a_store(tmp_path, sized, runs_of("other", need_bytes=GIB, cores=0.5))
    text = text_of(render(gather(store), START_S))
    store.close()
    assert "CPU saved none CPU asked 0.167 core·h too little" in text
    assert "asks for too little: 4Gi, needs 6Gi" in text
    assert "0.1 cores 0.26 cores 0.31 cores asks for too little" in text
    assert re.search(r"-\d[\d.]*%", text) is None


def test_only_tasks_that_ask_for_too_little_make_a_column_of_it(tmp_path: Path) -> None:
    store = a_store(tmp_path, runs_of("modest", need_bytes=GIB, cores=0.5))
    page = render(gather(store), START_S)
    store.close()
    assert "asks for" not in text_of(page).partition("By task")[2].partition("modest")[0]


def _with_model(report: TaskReport, model: ModelFigures) -> TaskReport:
    assert report.detail is not None
    trained = model if report.task.name == "train" else None
    return replace(report, detail=replace(report.detail, model=trained))


def test_after_is_never_below_what_the_same_runs_used(tmp_path: Path) -> None:
    """The bins' counts come from the training, which had many small runs."""
    small = runs_of("train", need_bytes=GIB // 8, cores=0.5)
    short = [replace(run, finished_s=(run.started_s or 0.0) + 1) for run in small]
    large = [
        replace(run, attempt_uid=f"large-{run.attempt_uid}", run=f"large-{run.run}")
        for run in runs_of("train", need_bytes=3 * GIB, cores=0.5)
    ]
    other = runs_of("other", need_bytes=GIB, cores=0.5)
    store = a_store(tmp_path, short, large, other)
    bins = Bins((GIB // 4, 3 * GIB + GIB // 4), (10, 10), (0.0, 0.0), (600.0, 600.0))
    model = replace(model_figures(), bins=bins)
    reports = [a_task_report(short + large, "train"), a_task_report(other, "other")]
    groups = gather_groups(store, [_with_model(each, model) for each in reports])
    store.close()
    assert groups is not None
    uses = {task.task: task for group in groups.groups for task in group.tasks}
    assert uses["shop/train"].used_bytes == 3 * GIB
    assert uses["shop/train"].sized_bytes == 3 * GIB + GIB // 4
    for row in (*groups.by_group, *groups.task_level, *groups.run_level):
        assert row.used is not None
        assert row.after >= row.used


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"cpu_s": None}, id="nobody measured"),
        pytest.param({"request_cores": None}, id="nothing was asked for"),
        pytest.param({"peak_source": PeakSource.IMPORTED}, id="history"),
        pytest.param({"outcome": Outcome.FAILED}, id="failed"),
        pytest.param({"started_s": None}, id="no start"),
    ],
)
def test_runs_that_tell_nothing_of_cpu_show_none(change: dict[str, Any]) -> None:
    runs = [replace(run, **change) for run in runs_of("train", need_bytes=GIB, cores=0.5)]
    assert cpu_figures_of(runs) is None
