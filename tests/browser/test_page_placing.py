"""Which task slows which on the served page, in a real browser: wide, narrow, light, dark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plimsoll_predictor.store import Store
from tests.builders.page_stores import served
from tests.builders.placing.placed_runs import Lived, a_shop, keep
from tests.builders.reports import START_S
from tests.rigs.browser import page_probes as probes
from tests.rigs.browser.browsers import Tab
from tests.rigs.browser.page_readers import bare

PAGES = ("/", "/tasks/shop/train-sales")
DRAWN = """[...document.querySelectorAll('#placing figure svg[role=img]')].filter(
  each => each.checkVisibility()).map(each => each.querySelectorAll('rect').length)"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("store")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    keep(store, Lived(a_shop(), seed=0, nodes=10, load=0.5).runs(800))
    with served(store, bare(store).live) as found:
        yield found
    store.close()


@pytest.mark.parametrize("width", [1280, 800, 360, 320])
@pytest.mark.parametrize("page", PAGES)
def test_nothing_scrolls_sideways_or_sticks_out(
    page: str, width: int, tab: Tab, address: str
) -> None:
    tab.show(width)
    tab.open(f"{address}{page}")
    assert tab.ask("document.querySelectorAll('#placing, #neighbours').length") == 1
    assert tab.ask(probes.OVERFLOW) == {"scrolls": 0, "over": []}
    assert tab.ask(probes.OUTSIDE) == []
    assert tab.ask(probes.SMALL) == []
    assert tab.complaints == []


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_the_contrast_of_aa(dark: bool, width: int, tab: Tab, address: str) -> None:
    tab.show(width, dark=dark)
    for page in PAGES:
        tab.open(f"{address}{page}")
        assert tab.ask(probes.FAINT)["faint"] == []


def test_a_phone_gets_fewer_tasks_and_the_table_has_all_of_them(tab: Tab, address: str) -> None:
    for width, cells in ((1280, 144), (360, 25)):
        tab.show(width)
        tab.open(f"{address}/")
        assert tab.ask(DRAWN) == [cells]
        tab.ask("document.querySelector('#placing details').open = true")
        assert tab.ask("document.querySelectorAll('#placing tbody td').length") == 144
        assert tab.ask("document.documentElement.scrollWidth") <= width


def test_the_picture_and_the_table_have_names_and_descriptions(tab: Tab, address: str) -> None:
    tab.show(1280)
    tab.open(f"{address}/")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    told = [
        {key: str(node.get(key, {}).get("value", "")) for key in ("role", "name", "description")}
        for node in nodes
        if not node["ignored"]
    ]
    images = {each["name"]: each["description"] for each in told if each["role"] == "image"}
    assert "slowdowns known; the largest is of shop/" in images["Who slows whom"]
