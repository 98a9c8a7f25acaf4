"""A task's runtimes on the served page, in a real browser: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_predictor.store import Store
from tests.builders.page_stores import served
from tests.builders.reports import START_S
from tests.builders.runtimes.telling_pasts import NIGHTLY, a_telling_past
from tests.rigs.browser import page_probes as probes
from tests.rigs.browser.browsers import Tab
from tests.rigs.browser.page_readers import bare

TASK = f"/tasks/{NIGHTLY}"
ASKED = f"{TASK}?node-type=n2-standard-8"
ROWS = """[...document.querySelectorAll("#runtime form ~ table tbody tr")].map(
  row => row.querySelector("th").textContent)"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("store")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    a_telling_past(store)
    with served(store, bare(store).live) as found:
        yield found
    store.close()


@pytest.mark.parametrize("width", [1280, 800, 360, 320])
@pytest.mark.parametrize("page", [TASK, ASKED, f"{TASK}?memory=much"])
def test_nothing_scrolls_sideways_or_sticks_out(
    page: str, width: int, tab: Tab, address: str
) -> None:
    tab.show(width)
    tab.open(f"{address}{page}")
    assert tab.ask(probes.OVERFLOW) == {"scrolls": 0, "over": []}
    assert tab.ask(probes.OUTSIDE) == []
    assert tab.ask(probes.SMALL) == []
    assert tab.complaints == []
    assert [each for each in tab.requests if not each.startswith("data:")] == [f"{address}{page}"]


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_the_contrast_of_aa(dark: bool, width: int, tab: Tab, address: str) -> None:
    tab.show(width, dark=dark)
    tab.open(f"{address}{ASKED}")
    found = tab.ask(probes.FAINT)
    assert found["faint"] == []
    assert found["looked"] >= 50


def test_a_what_if_is_asked_by_keyboard_and_without_scripts(tab: Tab, address: str) -> None:
    tab.scripts(run=False)
    tab.open(f"{address}{TASK}")
    assert tab.ask(ROWS) == []
    tab.ask("document.querySelector('#runtime summary').focus()")
    tab.press("Tab", 9)
    where = tab.ask(probes.FOCUS)
    assert (where["words"], where["outlined"]) == ("node-type", True)
    tab.write("n2-standard-8")
    tab.press("Enter", 13)
    tab.wait_until("location.search.includes('node-type=n2-standard-8')")
    tab.wait_until("document.readyState === 'complete'")
    assert len(tab.ask(ROWS)) == 4
    assert tab.ask("location.hash") == "#what-if"
    answer = tab.ask("document.querySelector('#runtime form ~ table').innerText")
    assert "n2-standard-8" in answer
    assert "less" in answer


@pytest.mark.parametrize("width", [1280, 360])
def test_plots_fields_and_tables_have_names_and_descriptions(
    width: int, tab: Tab, address: str
) -> None:
    tab.show(width)
    tab.open(f"{address}{ASKED}")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    told = [
        {key: str(node.get(key, {}).get("value", "")) for key in ("role", "name", "description")}
        for node in nodes
        if not node["ignored"]
    ]
    images = {each["name"]: each["description"] for each in told if each["role"] == "image"}
    assert "1 in 2 runs ends within" in images["How long the next run takes"]
    assert "longer and" in images["Runtimes, run by run"]
    named = {"image", "textbox", "combobox", "button", "table", "region", "form"}
    assert [each for each in told if each["role"] in named and not each["name"]] == []
    fields = {each["name"] for each in told if each["role"] in {"textbox", "combobox"}}
    assert {"Node type", "Memory", "Limits", "Load"} <= fields


def test_one_plot_of_each_is_shown_at_a_time(tab: Tab, address: str) -> None:
    shown = """[...document.querySelectorAll('#runtime figure svg[role=img]')].filter(
      each => each.checkVisibility()).map(each => each.getAttribute('aria-label'))"""
    for width in (1280, 360):
        tab.show(width)
        tab.open(f"{address}{TASK}")
        labels = tab.ask(shown)
        assert len(labels) == len(set(labels)) == 4


def test_pictures_for_the_docs_are_there_and_small() -> None:
    folder = Path(__file__).parents[2] / "docs" / "images"
    names = [f"page-runtime-{screen}.png" for screen in ("desktop", "phone")]
    assert max((folder / name).stat().st_size for name in names) <= 200_000
