"""Runtimes on the served pages, over real HTTP and a real store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.profile.runtime_status import RuntimeFacts, runtime_status
from plimsoll_operator.views.runtimes.stored_forecasts import READ_RUNS
from plimsoll_operator.views.runtimes.task_runtimes import gather_runtimes
from plimsoll_operator.web.page.columns import COLUMNS
from plimsoll_operator.web.page.query import Query
from plimsoll_operator.web.page.rows import LiveTask, row_of
from plimsoll_operator.web.page.what_if_query import WhatIfQuery, what_if_query_of
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import Store, TaskSummary
from tests.builders.checked_pages import checked
from tests.builders.reports import START_S
from tests.builders.runtimes.telling_pasts import (
    AFTER_S,
    NIGHTLY,
    a_catalogue,
    a_telling_past,
    a_timed_run,
    an_explanation,
    steady_runs,
    telling_runs,
)
from tests.rigs.browser.page_readers import asking, bare, statements_of

PATH = f"/tasks/{NIGHTLY}"


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("page")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    a_telling_past(store)
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


async def page_of(store: Store, query: str = "") -> str:
    async with asking(bare(store)) as reader:
        answer, text = await reader.get(f"{PATH}{query}")
    assert answer.status == 200
    checked(text)
    return text


@pytest.mark.slow
async def test_a_task_tells_how_long_its_next_run_takes_and_how_its_runs_were(
    telling: Store,
) -> None:
    text = await page_of(telling)
    for words in (
        "Two-moded: 7",
        "1 in 2 within",
        "over 10× the usual",
        "How long the next run takes",
        "2× the usual: ",
        "longer than 99 of 100 forecast",
        "Most like <b>choppy</b>",
        "Choppy (83%): spread of the last 20 1.4: more often choppy",
        'name="node-type"',
        "<option>n2-standard-8</option>",
        "Ask its past runs",
    ):
        assert words in text, words
    crosses = re.findall(r'class="kill"><title>[^<]*longer than 99 of 100', text)
    assert 1 <= len(crosses) <= 15
    assert len(text) < 400_000


@pytest.mark.slow
async def test_without_shapes_or_reasons_a_sentence_says_so(store: Store) -> None:
    store.observations.record(steady_runs(12))
    text = await page_of(store)
    assert "Steady: half of the runs within" in text
    assert "No shapes have been learned from this cluster" in text
    assert "Not explained: reasons" in text


@pytest.mark.slow
async def test_reasons_are_shown_of_the_task_that_they_are_of(store: Store) -> None:
    store.observations.record(steady_runs(12))
    store.shapes.save_explanation(an_explanation(replace(NIGHTLY, name="another")))
    assert "Not explained: reasons" in await page_of(store)


@pytest.mark.slow
async def test_a_task_of_which_no_run_succeeded_has_no_such_section(store: Store) -> None:
    store.observations.record([replace(a_timed_run(60.0), outcome=Outcome.FAILED)])
    assert 'id="runtime"' not in await page_of(store)


@pytest.mark.slow
@pytest.mark.parametrize("runtimes_s", [[60.0], [0.0, 0.0], [5.0] * 30, [1.0, 1000.0] * 15])
async def test_few_equal_and_far_apart_runtimes_are_drawn(
    store: Store, runtimes_s: list[float]
) -> None:
    store.observations.record([a_timed_run(each, place) for place, each in enumerate(runtimes_s)])
    text = await page_of(store)
    assert 'id="runtime"' in text
    assert "nan" not in re.sub(r"<title>.*?</title>", "", text).lower().replace("finance", "")


@pytest.mark.slow
async def test_a_what_if_is_answered_in_words_and_figures(telling: Store) -> None:
    text = await page_of(telling, "?node-type=n2-standard-8")
    answer = text.partition('id="what-if"')[2]
    assert 'value="n2-standard-8"' in answer
    assert "240 runs on n2-standard-8 against 180 on other node types" in answer
    assert re.search(r"1 in 2 within</th>.*?<b>less</b>", answer, re.DOTALL)
    assert "not what caused it" in answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?node-type=nobody-has-it", "No run on nobody-has-it is known: nothing to compare."),
        ("?limit=equal", "nothing to compare"),
        ("?load=even&memory=4Gi", "nothing to compare"),
        ("?memory=much", "Memory &#39;much&#39; is no size; write 4Gi or 512Mi."),
        ("?memory=0", "above zero"),
    ],
)
async def test_what_cannot_be_told_is_said(telling: Store, query: str, words: str) -> None:
    assert words in await page_of(telling, query)


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "?node-type=%3Cscript%3Ealert(1)%3C/script%3E",
        "?memory=%22%3E%3Cscript%3E",
        f"?node-type={'x' * 5000}",
        "?limit=unequal&load=odd",
        "?node-type=%00%ff&memory=%0a",
    ],
)
async def test_what_stands_in_an_address_is_only_text(telling: Store, query: str) -> None:
    text = await page_of(telling, query)
    assert "<script>" not in text.partition('id="runtime"')[2]
    assert len(text) < 400_000


@pytest.mark.slow
async def test_the_same_what_if_is_kept_and_another_is_drawn_anew(telling: Store) -> None:
    async with asking(bare(telling)) as reader:
        _, plain = await reader.get(PATH)
        with statements_of(telling) as asked:
            _, again = await reader.get(f"{PATH}?unknown=1")
            assert asked == []
            _, other = await reader.get(f"{PATH}?limit=equal")
        assert asked
    assert plain == again != other


@pytest.mark.slow
async def test_a_page_reads_a_bounded_number_of_runs(store: Store) -> None:
    store.observations.record(steady_runs(READ_RUNS + 50))
    with statements_of(store) as asked:
        text = await page_of(store)
    assert f"The latest {READ_RUNS:,} runs" in text
    assert len(asked) < 36
    of_the_task = [each for each in asked if "observations.task = " in each]
    assert len([each for each in of_the_task if "finished_s >= " in each]) == 2
    with store.database.read() as connection:
        plan = connection.exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT run FROM observations WHERE task = 'lab/nightly-join'"
            " AND finished_s >= started_s ORDER BY ordered_s DESC, id DESC LIMIT 400"
        ).all()
    assert all("SEARCH" in str(step) and "TEMP B-TREE" not in str(step) for step in plan), plan


def test_a_row_tells_what_its_profile_says_of_runtimes(store: Store) -> None:
    store.observations.record(telling_runs(60))
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    status = {"runtime": runtime_status(RuntimeFacts(runtimes.forecast, runtimes.runtimes_s))}
    row = row_of(TaskSummary(task=NIGHTLY), LiveTask(status=status))
    assert row.runtime
    assert re.fullmatch(r"[\dms]+-[\dms]+", row.runtime)
    assert COLUMNS["runtime"].key(row) == pytest.approx(runtimes.forecast.quantile_s(0.5), rel=0.1)
    assert Query(sort="runtime").descending


@pytest.mark.parametrize("runtime", [None, "soon", [], {"text": 4, "p50Seconds": "x"}, {}])
def test_a_status_of_another_version_leaves_the_column_empty(runtime: object) -> None:
    row = row_of(TaskSummary(task=NIGHTLY), LiveTask(status={"runtime": runtime}))
    assert (row.runtime, row.runtime_p50_s) == (None, None)


def test_fields_of_the_form_are_read_and_cut() -> None:
    assert what_if_query_of({}) == WhatIfQuery()
    assert not WhatIfQuery().asked
    given = {"node-type": f" {'n' * 300} ", "memory": "4Gi", "limit": "equal", "load": "even"}
    query = what_if_query_of(given)
    assert len(query.node_type) == 253
    assert (query.limit_equal, query.even_load) == (True, True)
    assert query.scenario().memory_bytes == 4 * GIB


def test_the_builders_shapes_tell_the_tasks_apart() -> None:
    catalogue = a_catalogue()
    assert catalogue.label([300.0] * 20).name == "still-water"
    assert catalogue.label([200.0, 300.0, 500.0] * 20).name == "choppy"
