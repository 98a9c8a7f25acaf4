"""``plimsoll replay``: its figures, its words, its page."""

from __future__ import annotations

import errno
import io
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from plimsoll_operator.commands.past_runs.replay import ReplayRequest, replay_command
from plimsoll_operator.web.plots.axes import decade_ticks, even_ticks, time_unit
from plimsoll_operator.web.replay.plots import apart, frontiers, waste_over_time
from plimsoll_operator.wording.figure_words import number_words
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.replay.sizes.engine import DecideAt
from plimsoll_predictor.replay.sizes.figures import CLOUD_POINTS, CURVE_POINTS
from plimsoll_predictor.replay.sizes.playing import Setting, play
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.traces import Trace, write_trace
from plimsoll_predictor.store import Store
from tests.builders.checked_pages import HOSTILE
from tests.builders.replays import GB, START_S, a_run

NOW_S = 1_750_000_000.0
VOID = {"meta", "link", "br", "img"}
FIELDS = {
    "trace",
    "policy",
    "decide",
    "first_size",
    "rows",
    "waste_gb_h",
    "cold_gb_h",
    "warm_gb_h",
    "optimistic_gb_h",
    "failed_attempts",
    "first_fit_rate",
    "lost_h",
    "never_fit",
    "ms_per_decision",
    "ms_per_update",
    "left_out",
    "shifted",
    "trained",
}


def some_rows(count: int = 30, task: str = "A") -> list[TraceRow]:
    return [
        a_run(line)
        .of(task)
        .at(100 * line, 100 * line, 100 * line + 250)
        .needing(GB + line * GB // 40)
        .row
        for line in range(2, count + 2)
    ]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "some.csv.gz"
    write_trace(path, some_rows())
    return path


def replayed(**asked: object) -> tuple[int, str]:
    """The exit status and the output, a hundred columns wide."""
    printed = io.StringIO()
    request = ReplayRequest(**asked)  # type: ignore[arg-type]
    status = replay_command(request, NOW_S, Console(file=printed, width=100))
    return status, printed.getvalue()


def figures(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(path.read_text())
    return found


@pytest.mark.slow
def test_the_figures_have_all_that_was_promised_for_each_trace_and_policy(
    tmp_path: Path, trace: Path
) -> None:
    other = tmp_path / "other.csv"
    write_trace(other, some_rows(5, task="B"))
    out = tmp_path / "out.json"
    assert replayed(traces=[trace, other], json_file=out)[0] == 0
    found = figures(out)
    assert [(each["trace"], each["policy"]) for each in found] == [
        (name, policy) for name in ("some", "other") for policy in POLICIES
    ]
    assert all(set(each) == FIELDS for each in found)


def test_the_first_size_and_the_moment_of_decision_reach_the_policy(
    tmp_path: Path, trace: Path
) -> None:
    wastes: list[float] = []
    for setting in (Setting(), Setting(first_size=0.5), Setting(decide_at=DecideAt.START)):
        out = tmp_path / "out.json"
        asked = {"traces": [trace], "policies": ("preset",), "setting": setting}
        assert replayed(**asked, json_file=out)[0] == 0
        (found,) = figures(out)
        assert (found["first_size"], found["decide"]) == (setting.first_size, setting.decide_at)
        wastes.append(float(str(found["waste_gb_h"])))
    assert wastes[1] < wastes[0] == wastes[2]


def test_the_table_names_the_policies_and_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_trace(path, some_rows(4))
    text = path.read_text()
    path.write_text(text + text.splitlines()[1] + "\n")
    status, printed = replayed(traces=[path])
    assert status == 0
    assert all(f" {name} " in printed for name in POLICIES)
    assert "t: 4 runs, decided at submit" in printed
    assert "1 left out: repeats an earlier row (line 6)" in printed
    assert "…" not in printed


def test_on_a_narrow_terminal_names_and_the_first_figure_stay(tmp_path: Path, trace: Path) -> None:
    out, printed = tmp_path / "out.json", io.StringIO()
    request = ReplayRequest(traces=[trace], json_file=out)
    assert replay_command(request, NOW_S, Console(file=printed, width=40)) == 0
    rows = [line.split() for line in printed.getvalue().splitlines()]
    for each in figures(out):
        waste = number_words(float(str(each["waste_gb_h"])))
        assert [each["policy"], waste] in [row[:2] for row in rows], rows
    said = " ".join(printed.getvalue().split())
    assert "…" not in said
    assert "too narrow for optimistic, failed, first fit, ms" in said


def test_only_the_policies_asked_for_are_replayed_in_the_usual_order(
    tmp_path: Path, trace: Path
) -> None:
    out = tmp_path / "out.json"
    replayed(traces=[trace], policies=("tovar", "preset", "tovar"), json_file=out)
    assert [each["policy"] for each in figures(out)] == ["preset", "tovar"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({}, "name a trace", id="nothing to replay"),
        pytest.param({"policies": ("best",)}, "there is no policy 'best'", id="no such policy"),
        pytest.param({"setting": Setting(first_size=0)}, "first-size is a share", id="no size"),
        pytest.param(
            {"setting": Setting(first_size=1.5)}, "got 1.5 instead", id="too large a size"
        ),
        pytest.param({"traces": [Path("/nowhere/x.csv")]}, "cannot be read", id="no such trace"),
        pytest.param(
            {"json_file": Path("/nowhere/x.json")}, "no folder /nowhere", id="no such folder"
        ),
        pytest.param(
            {"html_file": Path("/tmp")}, "/tmp cannot be written: it is a folder", id="a folder"
        ),
        pytest.param(
            {"json_file": Path("/proc/x.json")}, "/proc/x.json cannot be written", id="no right"
        ),
        pytest.param({"from_store": "train"}, "not 'namespace/name'", id="no task"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    tmp_path: Path, trace: Path, asked: dict[str, object], words: str
) -> None:
    usual = {} if not asked or "from_store" in asked else {"traces": [trace]}
    status, printed = replayed(**(usual | asked))
    assert status == 1
    assert words in printed.replace("\n", " ")
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({"traces": ["gone.csv"]}, "gone.csv cannot be read", id="a trace"),
        pytest.param({"html_file": "."}, "it is a folder", id="the page"),
        pytest.param({"json_file": "/proc/x.json"}, "/proc/x.json cannot", id="the figures"),
    ],
)
def test_nothing_is_played_before_all_files_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Path, asked: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    traces = [trace, *map(Path, asked.pop("traces", []))]
    files = {name: Path(file) for name, file in asked.items()}
    status, printed = replayed(traces=traces, policies=("preset",), **files)
    assert status == 1
    assert words in printed
    assert "runs, decided at" not in printed


def test_a_disk_that_is_full_at_the_end_is_told_with_the_named_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/hidden")

    monkeypatch.setattr("os.replace", full)
    out = tmp_path / "out.json"
    status, printed = replayed(traces=[trace], policies=("preset",), json_file=out)
    assert status == 1
    said = " ".join(printed.split())
    assert f"{out} cannot be written: No space left on device" in said.replace("- ", "-")
    assert [each.name for each in tmp_path.iterdir()] == [trace.name]


def test_a_tasks_own_history_is_replayed_from_the_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = Store.open(url)
    store.observations.record(
        [
            Observation(
                attempt_uid=f"u{place}",
                task=TaskId("shop", "train"),
                run=f"r{place}",
                outcome=Outcome.SUCCEEDED,
                request_bytes=8 * GB,
                peak_bytes=GB,
                peak_source=PeakSource.AGENT,
                submitted_s=START_S + 100 * place,
                started_s=START_S + 100 * place,
                finished_s=START_S + 100 * place + 36,
            )
            for place in range(10)
        ]
    )
    store.close()
    out = tmp_path / "out.json"
    asked = {"from_store": "shop/train", "store_url": url, "policies": ("preset", "max-seen")}
    assert replayed(**asked, json_file=out)[0] == 0
    status, said = replayed(**(asked | {"from_store": "shop/trian"}))
    assert (status, "did you mean shop/train?" in said) == (1, True)
    preset, largest = figures(out)
    assert (preset["trace"], preset["rows"]) == ("shop/train", 10)
    assert preset["waste_gb_h"] == pytest.approx(10 * 7 * 0.01)
    assert largest["waste_gb_h"] == pytest.approx(7 * 0.01)


# ---- the page ------------------------------------------------------------------------------------


class Checked(HTMLParser):
    """Fails on a tag that is not closed in order; keeps the tags and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page_of(tmp_path: Path, *traces: Path, **asked: object) -> str:
    out = tmp_path / "out.html"
    status, printed = replayed(traces=traces, html_file=out, **asked)
    assert status == 0, printed
    return out.read_text()


def checked(page: str) -> Checked:
    parser = Checked()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.slow
def test_the_page_has_three_kinds_of_plots_for_each_trace(tmp_path: Path, trace: Path) -> None:
    page = page_of(tmp_path, trace)
    found = checked(page)
    labels = re.findall(r'aria-label="([^"]*)"', page)
    assert [label.partition(":")[0] for label in labels] == [
        "Waste over time, policy by policy",
        "Waste against failed attempts by each policy&#39;s knob",
        *["First allocation against need"] * len(POLICIES),
    ]
    assert set(POLICIES) <= {words.strip() for words in found.words}


@pytest.mark.slow
def test_the_page_fetches_nothing_and_runs_nothing(tmp_path: Path, trace: Path) -> None:
    page = page_of(tmp_path, trace)
    assert "script" not in checked(page).tags
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page


def test_a_hostile_task_is_text_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x'<b>y.csv"
    write_trace(path, some_rows(6, task=HOSTILE))
    page = page_of(tmp_path, path)
    assert not {"script", "img", "b"} & set(checked(page).tags)
    assert "alert(1)" in page


@pytest.mark.slow
def test_every_policy_has_a_colour_on_the_page(tmp_path: Path, trace: Path) -> None:
    page = page_of(tmp_path, trace)
    for name in POLICIES:
        own = name.replace(".", "-")
        assert page.count(f"--{own}:") == 2, f"{name} needs a light and a dark colour"
        assert f".policy-{own} {{ --own: var(--{own}); }}" in page


@pytest.mark.slow
def test_a_large_trace_makes_no_large_page(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    write_trace(path, some_rows(4000))
    page = page_of(tmp_path, path, policies=("max-seen",))
    assert len(page) < 200_000
    assert page.count('class="need faint"') + page.count("kill slight") <= CLOUD_POINTS + 2
    (curve,) = re.findall(r'<path d="([^"]*)" class="curve policy-max-seen"', page)
    assert curve.count("L") <= CURVE_POINTS + 1


def test_a_trace_of_one_run_without_any_waste_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    write_trace(path, [a_run().asking(GB).needing(GB).row])
    assert "nan" not in page_of(tmp_path, path).lower().replace("nanum", "")


def test_names_that_would_overlap_are_moved_apart_and_stay_on_the_plot() -> None:
    assert apart([10, 12, 50], (0, 100)) == [10, 24, 50]
    assert apart([90, 95, 100], (0, 100)) == [72, 86, 100]


def test_no_name_of_a_policy_lies_below_its_plot() -> None:
    rows = [a_run(line).asking(GB).needing(GB).row for line in range(2, 5)]
    trace = Trace(name="equal", rows=rows, left_out={}, shifted=0, unasked=0)
    played = [play(trace, policy, Setting()) for policy in POLICIES.values()]
    for picture in (waste_over_time(played), frontiers(played)):
        heights = re.findall(r'<text x="[^"]*" y="([^"]*)" class="name', picture)
        assert len(heights) == len(POLICIES)
        assert max(map(float, heights)) <= 380 - 38 + 4, "the axis, and half a line"


def test_ticks_are_round_and_within_the_axis() -> None:
    assert decade_ticks(2200, 5800) == [3000, 4000, 5000]
    assert even_ticks(0.32) == pytest.approx([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    assert time_unit(90) == ("minutes", 60.0)
    assert time_unit(5 * 86400) == ("days", 86400.0)
