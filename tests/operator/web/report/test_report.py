"""The report page: what it shows, what it escapes, how large it may get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.commands.sizes.report import report_command
from plimsoll_operator.profile.phases import Phase
from plimsoll_operator.views.report.counting import figures_of
from plimsoll_operator.views.report.records import Figures, ReportData, total
from plimsoll_operator.views.report.task_views import DETAILED_TASKS, LISTED_TASKS, gather
from plimsoll_operator.web.report.page import render
from plimsoll_operator.wording.figure_words import words_for_gb_h
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN, REQUEST
from plimsoll_predictor.store import DecisionRecord, Store
from plimsoll_predictor.store.attempts.decisions import RESCUED, rescue_of
from tests.builders.checked_pages import HOSTILE, asks_elsewhere, checked
from tests.builders.reports import (
    START_S,
    TASK,
    a_life,
    a_model,
    a_report,
    a_task_report,
    an_attempt,
    killed,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


@pytest.mark.slow
def test_the_page_is_whole_and_asks_nothing_of_anyone() -> None:
    page = checked(render(a_report(a_task_report(a_life(1))), START_S))
    assert "script" not in page.tags
    assert asks_elsewhere(page) == []
    assert page.tags.count("svg") > 3


def test_everything_that_came_from_outside_is_escaped() -> None:
    hostile = [replace(each, run=f"{HOSTILE}{each.run}") for each in a_life(4, runs=40)]
    report = a_task_report([killed(hostile[0]), *hostile], name=HOSTILE)
    assert report.detail is not None
    detail = replace(
        report.detail,
        decisions=tuple(replace(said, words=HOSTILE) for said in report.detail.decisions),
        training_failure=HOSTILE,
    )
    text = render(a_report(replace(report, detail=detail)), START_S)
    page = checked(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "&lt;script&gt;" in text


def test_an_endless_name_does_not_blow_up_the_page() -> None:
    text = render(a_report(a_task_report([an_attempt("r" * 100_000)], name="n" * 100_000)), START_S)
    assert len(text) < 60_000


def test_an_empty_store_says_what_to_do(store: Store) -> None:
    text = render(gather(store), START_S)
    checked(text)
    assert "No attempt has been observed yet" in text
    assert "plimsoll.dev/task" in text


def test_one_run_without_model_or_request_still_makes_a_page(store: Store) -> None:
    store.observations.record(
        [replace(an_attempt(), request_bytes=None, allocation_bytes=None, started_s=None)]
    )
    data = gather(store)
    checked(render(data, START_S))
    [task] = data.tasks
    # Without experts, decide() gives the largest need with headroom.
    assert (task.phase, task.champion) == (Phase.SIZING, MAX_SEEN)
    assert (task.figures.runs, task.figures.requested_gb_h) == (1, 0.0)


def test_of_imported_runs_alone_a_report_shows_no_memory_time(store: Store) -> None:
    store.observations.record(a_life(13, imported=20, runs=0))
    text = render(gather(store), START_S)
    assert "0 GB·h<" not in text
    assert text.count("<dt>asked</dt><dd>-</dd>") == 1
    assert 'data-label="asked">-<' in text


def test_without_experts_and_a_need_the_request_decides(store: Store) -> None:
    store.observations.record([replace(an_attempt(), outcome=Outcome.FAILED, peak_bytes=None)])
    [task] = gather(store).tasks
    assert (task.phase, task.champion) == (Phase.COLD_START, REQUEST)


def test_attempts_of_which_nothing_is_known_are_no_error() -> None:
    bare = Observation(attempt_uid="u", task=TASK, run="r", outcome=Outcome.FAILED)
    text = render(a_report(a_task_report([bare, replace(bare, finished_s=1e300)])), START_S)
    checked(text)


@pytest.mark.slow
def test_a_thousand_runs_of_fifty_tasks_stay_a_few_megabytes() -> None:
    life = a_life(5, imported=500, runs=500)
    one = len(render(a_report(a_task_report(life)), START_S))
    fifty = len(render(a_report(*[a_task_report(life, f"t{n}") for n in range(50)]), START_S))
    assert one < 300_000
    assert fifty < 6_200_000


@pytest.mark.slow
def test_the_store_is_read_into_what_the_page_shows(store: Store) -> None:
    life = a_life(6, imported=20, runs=80)
    store.observations.record(life)
    costs = {"max-seen": {"cost_gb_h": 1.5, "failed_attempts": 0}}
    store.models.save(TASK, a_model(), {"out_of_time_costs": costs})
    store.trainings.record_failure(TASK, "killed by signal 9", START_S)
    store.keep(
        decided=[
            DecisionRecord(
                task=TASK,
                attempt_uid="u",
                at_s=START_S,
                words="300Mi because",
                allocation_bytes=300 * MIB,
                request_bytes=None,
                reason="predicted",
            )
        ]
    )
    [report] = gather(store).tasks
    assert report.figures == figures_of(life)
    assert (report.champion, report.phase) == (MAX_SEEN, Phase.SIZING)
    assert report.detail is not None
    assert report.detail.model is not None
    assert report.detail.model.version == a_model().version
    [(expert, cost)] = report.detail.out_of_time_costs.items()
    assert (expert, cost.cost_gb_h) == ("max-seen", 1.5)
    assert report.detail.training_failure == "killed by signal 9"
    text = render(gather(store), START_S)
    assert "300Mi because" in text
    assert "killed by signal 9" in text


def test_what_kills_and_rescues_cost_is_on_the_page_and_summed(store: Store) -> None:
    rescued = replace(an_attempt("r2"), peak_bytes=450 * MIB)
    store.observations.record([killed(an_attempt("r1")), rescued])
    store.keep(
        decided=[
            DecisionRecord(
                task=TASK,
                attempt_uid=rescue_of(rescued.attempt_uid),
                at_s=START_S + 300,
                words="r2: memory 400Mi → 512Mi: it grows",
                allocation_bytes=512 * MIB,
                request_bytes=400 * MIB,
                reason=RESCUED,
            )
        ]
    )
    text = render(gather(store), START_S)
    assert "memory 400Mi → 512Mi: it grows" in text
    costs = "1 kill lost 10 min and 0.0895 GB·h; 1 rescue kept 5 min of work"
    assert text.count(costs) == 2
    assert f"In all, over the latest 2 attempts: {costs}" in text


def test_older_attempts_than_are_read_are_owned_up_to(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_operator.views.report.task_views.READ_ATTEMPTS", 10)
    store.observations.record(a_life(6, imported=0, runs=30))
    data = gather(store)
    assert data.tasks[0].detail is not None
    assert (len(data.tasks[0].detail.points), data.tasks[0].figures.attempts) == (10, 10)
    assert "older ones are kept but not shown" in render(data, START_S)
    assert "older ones" not in render(a_report(a_task_report(a_life(6))), START_S)


def test_the_overview_counts_all_that_is_kept_of_every_task_and_sections_what_was_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_operator.views.report.task_views.READ_IN_ALL", 10)
    monkeypatch.setattr("plimsoll_operator.views.report.task_views.DETAILED_TASKS", 1)
    small = [replace(each, task=TaskId("shop", "small")) for each in a_life(7, imported=0, runs=9)]
    store.observations.record(a_life(6, imported=5, runs=30) + small[:12])
    data = gather(store)
    summaries = store.totals.by_task().values()
    asked = total(Figures, [report.kept for report in data.tasks]).requested_gb_h
    assert asked == pytest.approx(sum(each.requested_gb_h for each in summaries))
    large = data.tasks[0]
    assert large.figures.attempts == 10
    assert large.kept.attempts >= 35
    text = render(data, START_S)
    overview = text[text.index('id="overview"') : text.index('id="task-0"')]
    assert f'data-label="asked">{words_for_gb_h(large.kept.requested_gb_h)}<' in overview
    assert f'data-label="runs">{large.kept.runs}<' in overview


def test_only_what_was_asked_for_is_gathered(store: Store) -> None:
    other = TaskId("lab", "other")
    store.observations.record([an_attempt(), replace(an_attempt("o1"), task=other)])
    assert [report.task for report in gather(store, tasks=[other]).tasks] == [other]


@pytest.mark.slow
def test_many_tasks_are_listed_and_the_heaviest_get_a_section(store: Store) -> None:
    many = LISTED_TASKS + 3
    store.observations.record(
        [
            replace(an_attempt(f"r{n}"), task=TaskId("shop", f"t{n}"), request_bytes=(n + 1) * MIB)
            for n in range(many)
        ]
    )
    data = gather(store)
    assert (len(data.tasks), data.omitted) == (LISTED_TASKS, 3)
    assert sum(report.detail is not None for report in data.tasks) == DETAILED_TASKS
    assert data.tasks[0].task == TaskId("shop", f"t{many - 1}")
    text = render(data, START_S)
    checked(text)
    assert "3 more tasks are not listed" in text
    assert f"<dt>tasks</dt><dd>{many}</dd>" in text
    assert f"<dt>runs</dt><dd>{many}</dd>" in text
    assert data.kept.requested_gb_h == pytest.approx(
        sum(each.requested_gb_h for each in store.totals.by_task().values())
    )


@pytest.mark.slow
def test_plimsoll_report_writes_the_page_to_a_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/plimsoll.db"
    opened = Store.open(url)
    opened.observations.record([an_attempt()])
    opened.close()
    out = tmp_path / "report.html"
    out.write_text("old")
    assert report_command(str(TASK), url, out, now_s=START_S) == 0
    checked(out.read_text())
    assert sorted(path.name for path in tmp_path.glob("*report*")) == ["report.html"]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        pytest.param("shop/nobody", "no attempt was observed", id="an unknown task"),
        pytest.param("nobody", "write 'shop/train'", id="not a task's name"),
    ],
)
def test_plimsoll_report_of_what_is_not_there_says_so_and_leaves_the_file(
    task: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    Store.open(f"sqlite:///{tmp_path}/p.db").close()
    assert report_command(task, f"sqlite:///{tmp_path}/p.db", out, now_s=START_S) == 1
    assert words in capsys.readouterr().err
    assert out.read_text() == "old"


def test_plimsoll_report_into_no_folder_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "none" / "report.html"
    Store.open(f"sqlite:///{tmp_path}/p.db").close()
    assert report_command(None, f"sqlite:///{tmp_path}/p.db", out, now_s=START_S) == 1
    assert "no report was written" in capsys.readouterr().err


def test_a_report_of_no_tasks_is_a_page_too() -> None:
    checked(render(ReportData(), START_S))


def test_the_page_says_why_each_kill_and_each_other_end_was_one() -> None:
    child = replace(killed(an_attempt("r1")), cause=Cause.CHILD)
    after = replace(killed(an_attempt("r1", 2)), cause=Cause.NEAR_LIMIT)
    full = replace(an_attempt("r2"), outcome=Outcome.FAILED, cause=Cause.CUDA, peak_bytes=None)
    before_causes = replace(killed(an_attempt("r3")), cause=None)
    text = render(a_report(a_task_report([child, after, full, before_causes])), START_S)
    checked(text)
    table = text[text.rindex("-lifts") :]
    assert table.count('<td role="cell">a child process was killed at the limit</td>') == 1
    assert "SIGKILL near its limit again</td>" in table
    assert '<td role="cell">not known</td>' in table
    assert "OOM-killed (a child process was killed at the limit): needs more than 512Mi" in text
    assert "the GPU&#39;s memory was full</td>" in text
