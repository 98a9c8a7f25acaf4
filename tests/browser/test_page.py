"""The served page in a real browser: wide and on a phone, light and dark, by keyboard, by ear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.views.report.task_views import gather
from plimsoll_operator.web.page.task_page import DRAWN_ATTEMPTS
from plimsoll_operator.web.report.page import TABLED_SHARE, render
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.page_stores import CEILINGS_MIB, a_cluster, served
from tests.builders.reports import START_S, an_attempt, killed
from tests.rigs.browser import page_probes as probes
from tests.rigs.browser.browsers import Tab

TASK = "/tasks/shop/train-demand"
ENDLESS = TaskId("shop", "x" * 253)
PAGES = (
    "/",
    "/?q=shop&mode=enforce&sort=task",
    "/?q=xxxxx",
    "/?q=nothing-is-called-so",
    TASK,
    f"/tasks/{ENDLESS}",
    "/no/such/page",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("store")
    opened = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def address(store: Store) -> Iterator[str]:
    endless = replace(killed(an_attempt("r" * 300)), task=ENDLESS, image="i" * 300)
    store.observations.record(
        [endless, replace(endless, attempt_uid="2", attempt=2, request_bytes=2**42)]
    )
    with served(store, a_cluster(store, 130).live) as found:
        yield found


@pytest.fixture(scope="module")
def file(store: Store, address: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report file of the same tasks."""
    path = tmp_path_factory.mktemp("file") / "report.html"
    path.write_text(render(gather(store), START_S), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize(
    "widths",
    [
        pytest.param((1280, 1160, 800), id="a window that is made narrower"),
        pytest.param((360, 320), id="phones"),
    ],
)
@pytest.mark.parametrize("page", [*PAGES, "file"])
def test_nothing_scrolls_sideways(
    page: str, widths: tuple[int, ...], tab: Tab, address: str, file: str
) -> None:
    tab.show(widths[0])
    tab.open(file if page == "file" else f"{address}{page}")
    for width in widths:
        tab.show(width)
        assert tab.ask("window.innerWidth") == width
        assert tab.ask(probes.OVERFLOW) == {"scrolls": 0, "over": []}, width
        assert tab.ask(probes.OUTSIDE) == [], width
        assert tab.ask(probes.SMALL) == [], width


@pytest.mark.parametrize("page", PAGES)
def test_the_browser_has_nothing_to_complain_of(page: str, tab: Tab, address: str) -> None:
    tab.open(f"{address}{page}")
    # The console says only that a page is missing.
    assert [each for each in tab.complaints if "404" not in each] == []
    assert [each for each in tab.requests if not each.startswith("data:")] == [f"{address}{page}"]


def test_a_script_that_is_not_ours_is_stopped_and_complained_of(tab: Tab, address: str) -> None:
    tab.open(f"{address}{TASK}")
    tab.ask("""(() => { const script = document.createElement("script");
      script.textContent = "window.stolen = 1"; document.body.append(script);
      document.body.setAttribute("style", "color: red"); })()""")
    assert tab.ask("window.stolen ?? 0") == 0
    tab.wait_until("true")
    assert len(tab.complaints) == 2


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("page", ["/", TASK, "/no/such/page", "file"])
def test_every_text_has_the_contrast_of_aa_by_day_and_by_night(
    page: str, width: int, tab: Tab, address: str, file: str
) -> None:
    tab.show(width)
    tab.open(file if page == "file" else f"{address}{page}")
    for dark in (False, True):
        tab.show(width, dark=dark)
        paper = tab.ask("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(","))) < 150) is dark
        found = tab.ask(probes.FAINT)
        assert found["faint"] == [], f"dark: {dark}"
        assert found["looked"] >= 5


def test_faint_text_would_be_found(tab: Tab) -> None:
    tab.open("data:text/html,<body style='background:white'><p style='color:silver'>faint")
    assert tab.ask(probes.FAINT) == {"looked": 1, "faint": ["1.82 faint ()"]}


def test_search_narrows_while_one_types(tab: Tab, address: str) -> None:
    tab.open(f"{address}/?sort=task")
    assert len(tab.ask(probes.ROWS)) == 50
    tab.ask("document.querySelector('input[name=q]').focus(); window.stayed = 1")
    tab.write("train-demand")
    tab.wait_until("document.querySelectorAll('table.tasks tbody tr').length === 1")
    assert tab.ask(probes.ROWS) == ["shop/train-demand"]
    assert tab.ask("window.stayed") == 1, "the page was not loaded again"
    assert tab.ask("document.getElementById('found').textContent") == "1 of 132 tasks match."
    assert "q=train-demand" in tab.ask("location.search")
    assert tab.ask("document.activeElement.name") == "q"
    assert tab.complaints == []


def test_search_and_sort_work_without_scripts(tab: Tab, address: str) -> None:
    tab.scripts(run=False)
    tab.open(address)
    tab.ask("document.querySelector('input[name=q]').focus()")
    tab.write("score")
    tab.press("Enter", 13)
    tab.wait_until("location.search.includes('q=score')")
    tab.wait_until("document.readyState === 'complete'")
    names = tab.ask(probes.ROWS)
    assert names
    assert all("score" in name for name in names)
    tab.ask("document.querySelector('th a[href*=\"sort=task\"]').click()")
    tab.wait_until("location.search.includes('sort=task')")
    tab.wait_until("document.querySelector('[aria-sort=ascending]')?.textContent.includes('task')")
    tab.wait_until("document.readyState === 'complete'")
    assert tab.ask(probes.ROWS) == sorted(names)


def test_a_column_sorts_and_turns_round_and_says_so(tab: Tab, address: str) -> None:
    tab.open(address)
    for way in ("descending", "ascending"):
        tab.ask("document.querySelector('thead a[href*=\"sort=runs\"]').click()")
        tab.wait_until(f"!!document.querySelector('[aria-sort={way}] a[href*=\"sort=runs\"]')")
        runs = tab.ask(
            "[...document.querySelectorAll('td[data-label=runs]')].map(e => +e.textContent)"
        )
        assert runs == sorted(runs, reverse=way == "descending")


def test_pages_follow_each_other(tab: Tab, address: str) -> None:
    tab.open(f"{address}/?sort=task")
    seen: list[str] = []
    for page in (1, 2, 3):
        tab.wait_until(
            f"!!document.querySelector('.pages')?.textContent.includes('Page {page} of 3')"
        )
        seen += tab.ask(probes.ROWS)
        tab.ask("document.querySelector('a[rel=next]')?.click()")
    assert len(set(seen)) == len(seen) == 132


def test_the_keyboard_gets_everywhere_in_order_and_one_sees_where_it_is(
    tab: Tab, address: str
) -> None:
    tab.open(f"{address}/?q=train")
    stops = []
    for _ in range(9):
        tab.press("Tab", 9)
        stops.append(tab.ask(probes.FOCUS))
    assert [stop["tag"] for stop in stops[:5]] == ["A", "INPUT", "SELECT", "SELECT", "BUTTON"]
    assert [stop["words"] for stop in stops[5:8]] == ["Show all", "task", "mode"]
    assert all(stop["outlined"] and stop["seen"] for stop in stops)
    tab.open(f"{address}/?q=train")
    tab.press("Tab", 9)
    tab.press("Enter", 13)
    tab.wait_until("location.hash === '#main'")
    tab.press("Tab", 9)
    assert tab.ask("document.activeElement.name") == "q"


def test_the_attempts_table_opens_by_keyboard(tab: Tab, address: str) -> None:
    tab.open(f"{address}{TASK}")
    tab.ask("document.querySelector('summary').focus()")
    tab.press("Enter", 13)
    tab.wait_until("document.querySelector('details').open")
    rows = tab.ask("document.querySelectorAll('details[open] tbody tr').length")
    assert rows == DRAWN_ATTEMPTS // TABLED_SHARE
    assert tab.ask(probes.OVERFLOW)["scrolls"] == 0


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("page", ["/", TASK, "file"])
def test_a_screen_reader_hears_what_is_shown(
    page: str, width: int, tab: Tab, address: str, file: str
) -> None:
    tab.show(width)
    tab.open(file if page == "file" else f"{address}{page}")
    told = heard(tab)
    roles = Counter(each["role"] for each in told)
    assert roles["main"] == roles["banner"] == roles["contentinfo"] == 1
    assert roles["table"] >= 1
    assert roles["columnheader"] >= 5 * roles["table"] // 2, "also where the head is out of sight"
    assert roles["rowheader"] > 5
    named = {"image", "link", "table", "button", "searchbox", "combobox", "region", "navigation"}
    assert [each for each in told if each["role"] in named and not each["name"]] == []
    images = [each for each in told if each["role"] == "image"]
    assert page == "/" or any("OOM kill" in each["description"] for each in images)
    levels = tab.ask("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_confusion_of_many_bins_is_told_row_by_row_on_a_phone(tab: Tab, address: str) -> None:
    tab.show(360)
    tab.open(f"{address}{TASK}")
    rows = tab.ask("[...document.querySelectorAll('.heat tbody tr')].map(row => row.innerText)")
    assert len(rows) == len(CEILINGS_MIB)
    shown = tab.ask("""[...document.querySelectorAll('.heat td')].filter(e => e.checkVisibility())
      .map(e => e.dataset.label + ' ' + e.textContent)""")
    assert "predicted right 41" in shown
    assert not [each for each in shown if each.endswith(" 0")]


def test_nothing_moves_for_those_who_want_stillness(tab: Tab, address: str) -> None:
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    moving = """[...document.querySelectorAll('*')].filter(each => {
      const style = getComputedStyle(each);
      return style.transitionDuration !== '0s' || style.animationName !== 'none' }).length"""
    tab.show(1280, still=True)
    tab.open(address)
    assert (tab.ask(behaviour), tab.ask(moving)) == ("auto", 0)
    tab.show(1280, still=False)
    assert tab.ask(behaviour) == "smooth"


def test_pictures_for_the_docs_are_there_and_small() -> None:
    folder = Path(__file__).parents[2] / "docs" / "images"
    names = {
        f"{what}-{screen}.png"
        for what in ("page-index", "page-task", "report")
        for screen in ("desktop", "phone")
    }
    sizes = {name: (folder / name).stat().st_size for name in names}
    assert max(sizes.values()) <= 200_000


def heard(tab: Tab) -> list[dict[str, Any]]:
    """The accessibility tree as a screen reader gets it: role, name, description."""
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    return [
        {key: str(node.get(key, {}).get("value", "")) for key in ("role", "name", "description")}
        for node in nodes
        if not node["ignored"]
    ]
