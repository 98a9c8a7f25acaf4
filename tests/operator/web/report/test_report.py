"""The report page: what it shows, what it escapes, how large it may get."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from plimsoll_operator.commands.sizes.report import report_command
from plimsoll_operator.profile.phases import Phase
from plimsoll_operator.views.kill_costs import RESCUED, SUFFIX
from plimsoll_operator.views.report.counting import figures_of, lifts_of, points_of
from plimsoll_operator.views.report.records import Figures, ReportData, total
from plimsoll_operator.views.report.task_views import DETAILED_TASKS, LISTED_TASKS, gather
from plimsoll_operator.views.report.thinning import points_per_plot, thin
from plimsoll_operator.web.plots import size_plots as plots
from plimsoll_operator.web.plots.axes import (
    Scale,
    even_ticks,
    linear_ticks_bytes,
    log_ticks_bytes,
)
from plimsoll_operator.web.report.page import render
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN, REQUEST
from plimsoll_predictor.store import DecisionRecord, Store
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

HOSTILE = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "input"}


class Checked(HTMLParser):
    """Fails on a tag that is not closed in order; keeps tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(page: str) -> Checked:
    parser = Checked()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def asks_elsewhere(page: Checked) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in page.attributes
        if name in {"src", "href", "srcset", "action"}
        and not (value or "").startswith(("#", "data:"))
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


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
    assert (task.phase, task.champion) == (Phase.LEARNING, REQUEST)
    assert (task.figures.runs, task.figures.requested_gb_h) == (1, 0.0)


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
                attempt_uid=f"{rescued.attempt_uid}{SUFFIX}",
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
    assert f"In all, {costs}" in text


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


def test_a_kill_below_the_request_is_allocated_but_not_asked_for_twice() -> None:
    small = killed(an_attempt("r"))
    retry = replace(an_attempt("r", 2), allocation_bytes=GIB)
    figures = figures_of([small, retry])
    assert (figures.runs, figures.attempts, figures.oom_kills, figures.retries) == (1, 2, 1, 1)
    hours = 600 / 3600
    assert figures.requested_gb_h == pytest.approx(4 * GIB / 1e9 * hours)
    assert figures.allocated_gb_h == pytest.approx(1.5 * GIB / 1e9 * hours)


def test_imported_history_is_no_saving_of_ours() -> None:
    past = replace(an_attempt("past"), peak_source=PeakSource.IMPORTED)
    assert figures_of([past, an_attempt()]) == replace(figures_of([an_attempt()]), imported=1)
    assert lifts_of(points_of([killed(past)]), limit=10) == ()


def test_totals_add_up() -> None:
    one, two = figures_of(a_life(1)), figures_of(a_life(2))
    both = total(Figures, [one, two])
    assert both.runs == one.runs + two.runs
    assert both.saved_gb_h == pytest.approx(one.saved_gb_h + two.saved_gb_h)


def test_a_lift_tells_what_followed() -> None:
    chain = [killed(an_attempt("r")), replace(an_attempt("r", 2), allocation_bytes=GIB)]
    [lift] = lifts_of(points_of(chain), limit=10)
    assert (lift.allocation_bytes, lift.lift_outcome) == (512 * MIB, Outcome.SUCCEEDED)
    assert lift.lifted_to_bytes == points_of(chain)[0].lifted_to_bytes == GIB
    [open_lift] = lifts_of(points_of(chain[:1]), limit=10)
    assert (open_lift.lifted_to_bytes, open_lift.lift_outcome) == (None, None)


def test_thinning_keeps_every_kill_and_both_ends() -> None:
    attempts = [an_attempt(f"r{n}") for n in range(5000)]
    attempts[1234::500] = [killed(each) for each in attempts[1234::500]]
    thinned = thin(points_of(attempts), 100)
    places = [place for place, _ in thinned.points]
    assert len(places) == 100
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0, 4999)
    assert sum(point.killed for _, point in thinned.points) == len(attempts[1234::500])
    assert thinned.words == "100 of 5,000 attempts are drawn, all 8 kills among them"


def test_more_kills_than_room_keeps_the_newest_and_says_so() -> None:
    thinned = thin(points_of([killed(an_attempt(f"r{n}")) for n in range(300)]), 100)
    assert [place for place, _ in thinned.points] == list(range(200, 300))
    assert thinned.words is not None
    assert "the last 100 of 300 kills" in thinned.words


def test_few_points_are_all_drawn_and_nothing_is_said() -> None:
    thinned = thin(points_of([an_attempt()]), points_per_plot(1))
    assert (len(thinned.points), thinned.words) == (1, None)


def test_the_timeline_puts_larger_sizes_higher_and_crosses_each_kill() -> None:
    chain = [killed(an_attempt("r")), replace(an_attempt("r", 2), allocation_bytes=GIB)]
    drawn = plots.timeline(thin(points_of(chain), 100))
    assert len(re.findall(r'<path class="kill"|class="kill"', drawn)) == 1
    assert drawn.count('class="lift"') == 2
    dashes = re.search(r'd="([^"]*)" class="allocation"', drawn)
    assert dashes
    heights = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)h", dashes[1])]
    assert heights[1] < heights[0]
    [need] = re.findall(r'cy="([\d.]+)" r="[\d.]+" class="need"', drawn)
    assert float(need) > heights[1]


def test_a_need_equal_to_its_allocation_lies_on_the_diagonal() -> None:
    even = replace(an_attempt(), allocation_bytes=300 * MIB)
    wide = replace(an_attempt("r2"), allocation_bytes=4 * GIB)
    drawn = plots.diagonal(thin(points_of([even, wide]), 10))
    ends = re.search(r'x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" class="even"', drawn)
    assert ends
    x1, y1, x2, y2 = map(float, ends.groups())
    places = [tuple(map(float, p)) for p in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    (even_x, even_y), (wide_x, wide_y) = places
    assert even_y == pytest.approx(y1 + (even_x - x1) / (x2 - x1) * (y2 - y1), abs=0.2)
    assert wide_x == even_x
    assert wide_y < even_y


def test_the_histogram_counts_every_need_once_and_marks_each_ceiling() -> None:
    needs = [100 * MIB, 110 * MIB, 900 * MIB]
    assert sum(plots.bar_counts(needs, 954 * MIB)) == 3
    drawn = plots.histogram(needs, (128 * MIB, 160 * MIB, GIB))
    assert drawn.count('class="ceiling"') == 3
    tops = re.findall(r'y="([\d.]+)" class="ceiling-label"', drawn)
    assert tops[0] != tops[1], "labels close to each other stand in two rows"


def test_plots_of_nothing_are_empty_pictures_not_errors() -> None:
    nothing = thin([], 100)
    for drawn in (plots.timeline(nothing), plots.diagonal(nothing), plots.histogram([], [])):
        assert drawn.startswith("<svg")
        assert "nan" not in drawn


def test_scales_map_ends_to_ends_and_keep_outliers_on_the_edge() -> None:
    across = Scale(low=0, high=10, start=100, end=0)
    assert (across(0), across(10), across(5), across(99)) == (100, 0, 50, 0)
    doubling = Scale(low=1, high=16, start=0, end=4, log=True)
    assert [doubling(value) for value in (1, 2, 4, 8, 16)] == [0, 1, 2, 3, 4]
    assert Scale(low=3, high=3, start=0, end=10)(3) == 5


def test_ticks_are_round_and_few() -> None:
    assert linear_ticks_bytes(4.2 * GIB) == [0, GIB, 2 * GIB, 3 * GIB, 4 * GIB]
    assert log_ticks_bytes(100 * MIB, 5 * GIB)[0] == 128 * MIB
    assert len(log_ticks_bytes(1, 2**60)) <= 7
    assert even_ticks(0, finest=0) == [0]


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
