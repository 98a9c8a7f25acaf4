"""The served page over real HTTP and a real store: what it sends."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from plimsoll_operator.web.page.serving import Pages
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import Store
from tests.builders.checked_pages import HOSTILE, checked
from tests.builders.page_stores import ACluster, a_cluster
from tests.builders.reports import START_S, a_life
from tests.rigs.browser.page_readers import asking, bare

TASK_PATH = "/tasks/shop/train-demand"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ACluster]:
    folder = tmp_path_factory.mktemp("page")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    yield a_cluster(store, 120)
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


@pytest.mark.slow
async def test_the_index_lists_tasks_with_all_that_is_told_of_them(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        answer, text = await reader.get("/?q=train-demand")
    assert (answer.status, answer.content_type) == (200, "text/html")
    checked(text)
    assert 'href="tasks/shop/train-demand"' in text
    assert "1 of 121 tasks match" in text
    row = re.findall(r"<tr role=\"row\">\n<th role=\"rowheader\".*?</tr>", text, re.DOTALL)[0]
    assert "enforce" in row
    assert "Sizing" in row
    assert "bin 3 of 7" in row


@pytest.mark.slow
async def test_totals_say_what_enforcing_would_save_and_kill(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        _, text = await reader.get("/?mode=recommend")
        _, enforced = await reader.get("/?mode=enforce")
    totals = (
        r"would save</dt><dd>\d+% <small>[\d,.]+ GB·h</small>.*have killed</dt><dd>\d+ <small>run"
    )
    assert re.search(totals, text, re.DOTALL)
    assert re.search(r'data-label="would save">\d+%<', text)
    assert "enforcing would save" not in enforced


async def test_the_index_says_what_is_lent_where_pods_may_lend(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        _, quiet = await reader.get("/?q=join")
    assert "Lending:" not in quiet
    cluster.lending = LendingNow(lent_bytes=3 * GIB, attempts=4, nodes=2, taken_back={"grew": 5})
    async with asking(cluster) as reader:
        _, text = await reader.get("/?q=join")
    cluster.lending = None
    checked(text)
    assert "Lending: 4 attempts on 2 nodes lend 3Gi now; 5 attempts took back" in text


@pytest.mark.slow
async def test_a_task_tells_why_and_how_it_fares(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        answer, text = await reader.get(TASK_PATH)
    assert answer.status == 200
    checked(text)
    for words in (
        "Why its last sizes were chosen",
        "4Gi → 320Mi",
        "Conditions",
        "Who decides its sizes",
        "A failed attempt counts as",
        "Model ",
        "needed ↓ · predicted →",
        "Lifts",
        'href="../../?q=shop%2F"',
    ):
        assert words in text, words
    assert len(text) < 400_000


@pytest.mark.slow
async def test_every_answer_forbids_all_that_is_not_needed(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        answers = [
            (await reader.get(path))[0] for path in ("/", TASK_PATH, "/no/such", "/tasks/a/b")
        ]
    assert [answer.status for answer in answers] == [200, 200, 404, 404]
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.slow
async def test_no_page_asks_anything_of_another_origin(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        texts = [(await reader.get(path))[1] for path in ("/", TASK_PATH, "/no")]
    for text in texts:
        assert " style=" not in text
        for name, value in checked(text).attributes:
            if name in {"src", "href", "action", "srcset"}:
                assert not re.match(r"[a-z]+:(?!,)|//", value or ""), value


async def test_the_page_cannot_be_written_to(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            async with reader.session.request(method, f"{reader.address}/") as answer:
                assert answer.status == 405


@pytest.mark.parametrize(
    ("named", "status"),
    [
        pytest.param("localhost:8082", 200, id="a forwarded port"),
        pytest.param("127.0.0.1", 200, id="by its address"),
        pytest.param("[::1]:8082", 200, id="by its other address"),
        pytest.param("evil.example", 421, id="a name that was made to lead here"),
        pytest.param("localhost.evil.example", 421, id="a name that begins alike"),
        pytest.param("10.0.0.7:8082", 421, id="another address"),
        pytest.param("[", 421, id="no name"),
    ],
)
async def test_on_loopback_no_other_site_can_read_it(
    cluster: ACluster, named: str, status: int
) -> None:
    async with asking(cluster) as reader:
        answer, text = await reader.get("/", Host=named)
    assert answer.status == status
    assert ("train-" in text) is (status == 200)


async def test_behind_a_proxy_it_answers_to_any_name(cluster: ACluster) -> None:
    async with asking(cluster, "0.0.0.0") as reader:
        answer, _ = await reader.get("/", Host="plimsoll.example")
    assert answer.status == 200


@pytest.mark.slow
async def test_the_page_says_what_a_task_asks_for_and_needs(store: Store) -> None:
    task = TaskId("shop", "train-demand")
    life = [replace(each, request_bytes=100 << 20) for each in a_life(13)]
    store.observations.record(life)
    cluster = bare(store)
    cluster.statuses[task] = {"asks": "too little: 100Mi, needs 210Mi"}
    async with asking(cluster) as reader:
        _, index = await reader.get("/")
        _, page = await reader.get("/tasks/shop/train-demand")
    for text in (index, page):
        assert "too little: 100Mi, needs 210Mi" in text
        assert re.search(r">-\d+%<", text) is None
        assert ">none<" in text
    assert 'data-label="asks for"' in index


async def test_of_imported_runs_alone_no_memory_time_is_shown_and_the_page_says_why(
    store: Store,
) -> None:
    store.observations.record(a_life(13, imported=20, runs=0))
    async with asking(bare(store)) as reader:
        _, index = await reader.get("/")
        _, page = await reader.get("/tasks/shop/train-demand")
    for text in (index, page):
        assert "Runs are those with a known need" in text
        assert "count in runs and OOM kills, not in GB·h" in text
        assert "0 GB·h<" not in text
    for word in ("asked", "allocated", "needed"):
        assert f'data-label="{word}">-<' in index


@pytest.mark.slow
async def test_names_and_words_from_outside_are_escaped(store: Store) -> None:
    name = HOSTILE.replace("/", "∕")
    task = TaskId("shop", name)
    store.observations.record(
        [replace(each, task=task, run=HOSTILE + each.run) for each in a_life(13)]
    )
    cluster = bare(store)
    said = {"type": HOSTILE, "status": HOSTILE, "reason": HOSTILE, "message": HOSTILE}
    cluster.statuses[task] = {
        "phase": HOSTILE,
        "champion": HOSTILE,
        "lastDecisions": [HOSTILE],
        "asks": HOSTILE,
        "wouldSave": HOSTILE,
        "conditions": [said] * 50,
    }
    async with asking(cluster) as reader:
        pages = [
            await reader.get(f"/?q={quote(HOSTILE)}"),
            await reader.get("/"),
            await reader.get(f"/tasks/shop/{quote(name, safe='')}"),
            await reader.get(f"/tasks/shop/{quote(HOSTILE.replace('/', ''), safe='')}"),
        ]
    assert [answer.status for answer, _ in pages] == [200, 200, 200, 404]
    for _, text in pages:
        page = checked(text)
        assert "img" not in page.tags
        assert page.tags.count("script") <= 1
        assert "alert(1)" not in "".join(re.findall(r"<script>.*?</script>", text, re.DOTALL))
        assert not [attribute for attribute, _ in page.attributes if attribute.startswith("on")]
    assert "&lt;script&gt;" in pages[2][1]


@pytest.mark.parametrize("name", ["a%2Fb", "..", "%2e%2e%2fx", "%00", "x" * 3000, "%F0%9F%92%A9"])
async def test_strange_addresses_are_answered_by_a_page(cluster: ACluster, name: str) -> None:
    async with asking(cluster) as reader:
        answer, text = await reader.get(f"/tasks/shop/{name}")
    assert answer.status == 404
    checked(text)


async def test_a_lost_reader_finds_the_way_home(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        _, deep = await reader.get("/a/b/c")
        _, task = await reader.get("/tasks/shop/nobody")
        _, folder = await reader.get("/tasks/")
        _, slashed = await reader.get("/tasks/shop/train/")
        _, spaced = await reader.get("/a%2Fb")
    assert 'href="../../"' in deep
    assert 'href="../"' in folder
    assert 'href="../../../"' in slashed
    assert 'href="./"' in spaced
    assert 'href="../../"' in task
    assert "No attempt of shop/nobody was observed" in task


async def test_an_empty_store_says_what_to_do(store: Store) -> None:
    async with asking(bare(store)) as reader:
        answer, text = await reader.get("/")
    assert answer.status == 200
    assert "plimsoll.dev/task" in text


@pytest.mark.slow
async def test_a_pause_of_the_cluster_is_said_on_top(cluster: ACluster) -> None:
    pause = {"metadata": {"namespace": "plimsoll", "name": "cluster"}, "spec": {"paused": True}}
    cluster.book.policies.see(pause, gone=False)
    try:
        async with asking(cluster) as reader:
            _, text = await reader.get("/")
            _, task = await reader.get(TASK_PATH)
    finally:
        cluster.book.policies.see(pause, gone=True)
    assert "<b>Paused.</b>" in text
    assert "<b>Paused.</b>" in task
    assert text.count('class="phase Paused"') == 50


async def test_what_has_not_changed_is_not_sent_again(cluster: ACluster) -> None:
    async with asking(cluster) as reader:
        first, _ = await reader.get("/")
        again, text = await reader.get("/", **{"If-None-Match": first.headers["ETag"]})
        other, _ = await reader.get("/?q=x", **{"If-None-Match": first.headers["ETag"]})
    assert (again.status, text) == (304, "")
    assert other.status == 200


@pytest.mark.slow
async def test_a_store_that_cannot_be_read_is_a_friendly_503(store: Store, tmp_path: Path) -> None:
    store.observations.record(a_life(38))
    with closing(sqlite3.connect(tmp_path / "plimsoll.db")) as vandal:
        for table in ("totals", "observations"):
            vandal.execute(f"alter table {table} rename to {table}_gone")
    async with asking(bare(store)) as reader:
        for path in ("/", TASK_PATH):
            answer, text = await reader.get(path)
            assert answer.status == 503
            assert "Reload the page" in text
            assert answer.headers["Retry-After"] == "3"
            assert "ETag" not in answer.headers
            checked(text)


async def test_a_fault_of_the_reading_beside_readers_is_logged(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("a strange row")

    monkeypatch.setattr(store.totals, "by_task", fail)
    pages = Pages(store, bare(store).live, time.monotonic)
    pages.warm()
    async with asyncio.timeout(10):
        while "a strange row" not in caplog.text:
            await asyncio.sleep(0.01)
    # What it reads after this needs the store, too.
    pages._refreshing.shutdown()
    pages.close()
    assert "the page's index could not be read anew" in caplog.text
