"""A campaign's page: its content, which agrees with the command, and the links to it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.commands.campaigns.page import page_command
from plimsoll_operator.commands.campaigns.report import shown
from plimsoll_operator.views.campaign_facts import CampaignFacts, gather_campaign
from plimsoll_operator.web.campaign.page import render_campaign_file
from plimsoll_operator.web.campaign.section import TABLED_RUNS
from plimsoll_operator.web.plots.campaign_plots import DRAWN_RUNS, effect_plot
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import Store
from tests.builders.campaigns import a_record, keep_campaign, some_runs
from tests.builders.checked_pages import asks_elsewhere, checked
from tests.builders.reports import START_S, an_attempt
from tests.rigs.browser.page_readers import asking, bare

LEARN = TaskId("shop", "learn-join")
HOSTILE = "<script>alert(1)</script>" + "y" * 231


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


def facts_of(store: Store, runs: list[CampaignRun], **changes: object) -> CampaignFacts:
    keep_campaign(store, a_record(**changes), runs)  # type: ignore[arg-type]
    return gather_campaign(store, LEARN, START_S + 900)


def needing(scenario: int, need_mib: float, **values: str) -> CampaignRun:
    return CampaignRun(
        scenario=scenario,
        state=RunState.LEARNED,
        values=values,
        memory_bytes=4 * GIB,
        created_s=START_S + scenario,
        ended_s=START_S + scenario + 20,
        peak_bytes=int(need_mib * MIB),
        runtime_s=20.0,
    )


@pytest.mark.slow
def test_the_file_is_whole_and_says_what_the_command_says(store: Store) -> None:
    facts = facts_of(store, some_runs(left=2))
    text = render_campaign_file(facts)
    page = checked(text)
    assert "script" not in page.tags
    assert asks_elsewhere(page) == []
    assert page.tags.count("figure") == 3
    console = Console(width=200, file=StringIO(), record=True)
    console.print(shown(facts))
    told = " ".join(console.export_text().split())
    said = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    for figure in (facts.saving, facts.told["bins"], "its program failed: exit code 1"):
        assert figure in told
        assert figure in said
    for effect in facts.found.effects:
        assert f"need by {effect.feature}" in told
        assert f'aria-label="Need by {effect.feature}"' in text
    assert [each.values["region"] for each in facts.found.uncertain] == ["online", "south", "south"]
    assert said.count("four of five within") == 1
    assert "Of 3 scenarios without a need, the least certain first." in said


def test_every_run_is_drawn_with_its_words_and_a_kill_as_a_cross(store: Store) -> None:
    facts = facts_of(store, some_runs())
    rows = next(each for each in facts.found.effects if each.feature == "rows")
    plot = str(effect_plot(facts, rows))
    assert plot.count('class="need"') == facts.counts.done
    assert plot.count('class="kill"') == facts.counts.killed == 1
    assert plot.count('class="ceiling"') == len(facts.found.ceilings_bytes)
    assert "killed at 2Gi; region=coast, rows=2100000" in plot
    assert "least with 100000" in plot


@pytest.mark.slow
def test_a_campaign_that_knows_nothing_yet_says_so(store: Store) -> None:
    going = facts_of(store, some_runs(left=24), ended_s=None, ending=None)
    text = render_campaign_file(going)
    checked(text)
    assert text.count("No need is known yet.") == 2
    assert "Everything: no need is known yet." in text
    assert "not known yet of what 4Gi a run request today" in text


@pytest.mark.slow
def test_what_people_wrote_is_cut_and_escaped(store: Store) -> None:
    kinds = [HOSTILE.replace("1", str(n)) for n in range(12)]
    runs = [needing(n, 100 + n, kind=kind, n="-1e300") for n, kind in enumerate(kinds)]
    runs.append(replace(runs[0], scenario=12, state=RunState.FAILED, note=HOSTILE))
    facts = facts_of(store, runs)
    page = checked(text := render_campaign_file(facts))
    assert "script" not in page.tags
    assert "12 values; shown: the 8 with the most runs." in text
    assert "The value or the need never differs." in text


@pytest.mark.slow
def test_the_page_of_thousands_of_scenarios_is_small(store: Store) -> None:
    facts = facts_of(store, [needing(n, 100 + n / 10, n=str(n)) for n in range(5_000)])
    [effect] = facts.found.effects
    plot = str(effect_plot(facts, effect))
    assert DRAWN_RUNS / 2 < plot.count('class="need"') <= DRAWN_RUNS
    assert "needed 600Mi; n=4999" in plot, "the largest is drawn"
    text = render_campaign_file(facts)
    assert f"The last {TABLED_RUNS} runs as a table" in text
    assert len(text) < 200_000


@pytest.mark.parametrize(
    "ends", [("-1.7e308", "1.7e308"), ("1e-300", "1e300"), ("7", "7"), ("-4", "3")]
)
def test_numbers_of_any_size_are_drawn(store: Store, ends: tuple[str, str]) -> None:
    runs = [needing(n, 100 + 9 * n, n=ends[n % 2], k=str(n)) for n in range(6)]
    facts = facts_of(store, [*runs, replace(runs[0], scenario=9, state=RunState.REGISTERED)])
    assert "nan" not in str([effect_plot(facts, each) for each in facts.found.effects])
    assert facts.found.improvement is not None


def test_dates_are_drawn_in_their_order_with_the_first_and_the_last_named(store: Store) -> None:
    days = [f"2026-0{1 + n % 4}-11" for n in range(8)]
    facts = facts_of(store, [needing(n, 100 + n, day=day) for n, day in enumerate(days)])
    [effect] = facts.found.effects
    plot = str(effect_plot(facts, effect))
    assert plot.count('class="need"') == 8
    assert plot.index("2026-01-11<") < plot.index("2026-04-11<")
    one = facts_of(store, [needing(0, 100, day="2026-01-11")], uid="another", began_s=START_S + 9)
    assert "2026-01-11<" in str(effect_plot(one, one.found.effects[0]))


@pytest.mark.slow
async def test_index_and_task_lead_to_it_and_it_leads_to_the_task(store: Store) -> None:
    store.observations.record([replace(an_attempt(), task=TaskId("shop", "join-sales"))])
    store.observations.record([an_attempt()])
    async with asking(bare(store)) as reader:
        _, before = await reader.get("/")
        keep_campaign(store, a_record(), some_runs())
        reader.now_s += 100
        _, index = await reader.get("/")
        _, searched = await reader.get("/?q=join")
        _, task = await reader.get("/tasks/shop/join-sales")
        _, other = await reader.get("/tasks/shop/train-demand")
        answer, campaign = await reader.get("/campaigns/shop/learn-join")
        missing, words = await reader.get("/campaigns/shop/learn-nothing")
        wrong, _ = await reader.get("/campaigns/shop/no..such..name")
    assert 'href="campaigns/shop/learn-join"' in index
    assert "23 of 24" in index
    assert 'href="../../campaigns/shop/learn-join"' in task
    for without in (before, searched, other):
        assert 'id="campaigns"' not in without
    assert answer.status == 200
    checked(campaign)
    assert 'href="../../tasks/shop/join-sales"' in campaign
    assert (missing.status, wrong.status) == (404, 404)
    assert "no campaign of this name has begun" in words


@pytest.mark.slow
def test_the_command_writes_the_file_or_says_why_not(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_campaign(store, a_record(), some_runs())
    url, out = f"sqlite:///{tmp_path}/plimsoll.db", tmp_path / "found.html"
    assert page_command("shop/learn-join", url, out, now_s=START_S) == 0
    assert "What a profiling campaign found out" in out.read_text()
    assert page_command("shop/learn-join", url, Path("-"), now_s=START_S) == 0
    assert "What a profiling campaign found out" in capsys.readouterr().out
    printed = io.BytesIO()
    with io.TextIOWrapper(printed, "ascii", errors="replace") as ascii_out:
        with redirect_stdout(ascii_out):
            assert page_command("shop/learn-join", url, Path("-"), now_s=START_S) == 0
        ascii_out.flush()
        assert printed.getvalue() == out.read_bytes(), "in UTF-8, as its first line says"
    assert page_command("shop/nothing", url, out, now_s=START_S) == 1
    assert "no campaign of this name has begun" in " ".join(capsys.readouterr().err.split())
    assert page_command("shop/learn-join", url, tmp_path / "no" / "such", now_s=START_S) == 1
