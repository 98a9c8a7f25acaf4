"""A campaign's page in a real browser: wide and narrow, light and dark, served and as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_operator.views.campaign_facts import gather_campaign
from plimsoll_operator.web.campaign.page import render_campaign_file
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.campaigns import a_record, keep_campaign, some_runs
from tests.builders.page_stores import served
from tests.builders.reports import START_S
from tests.rigs.browser import page_probes as probes
from tests.rigs.browser.browsers import Tab
from tests.rigs.browser.page_readers import bare

ENDLESS = "e" * 63


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses: of a campaign under way, of one with long names, of a file, of the index."""
    folder = tmp_path_factory.mktemp("store")
    store = Store.open(f"sqlite:///{folder}/plimsoll.db", clock=lambda: START_S)
    keep_campaign(store, a_record(ended_s=None, ending=None), some_runs(left=5))
    keep_campaign(store, a_record(ENDLESS), some_runs())
    file: Path = folder / "campaign.html"
    facts = gather_campaign(store, TaskId("shop", "learn-join"), START_S)
    file.write_text(render_campaign_file(facts), encoding="utf-8")
    with served(store, bare(store).live) as address:
        yield {
            "going": f"{address}/campaigns/shop/learn-join",
            "endless": f"{address}/campaigns/shop/{ENDLESS}",
            "file": file.as_uri(),
            "index": f"{address}/",
        }
    store.close()


@pytest.mark.parametrize("width", [1280, 800, 360, 320])
@pytest.mark.parametrize("page", ["going", "endless", "file", "index"])
def test_nothing_scrolls_sideways_or_sticks_out(
    page: str, width: int, tab: Tab, pages: dict[str, str]
) -> None:
    tab.show(width)
    tab.open(pages[page])
    assert tab.ask("document.querySelectorAll('#campaign, #campaigns').length") == 1
    tab.ask("document.querySelectorAll('#campaign details').forEach(each => each.open = true)")
    assert tab.ask(probes.OVERFLOW) == {"scrolls": 0, "over": []}
    assert tab.ask(probes.OUTSIDE) == []
    assert tab.ask(probes.SMALL) == []
    assert tab.complaints == []


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_the_contrast_of_aa(
    dark: bool, width: int, tab: Tab, pages: dict[str, str]
) -> None:
    tab.show(width, dark=dark)
    for page in ("going", "file"):
        tab.open(pages[page])
        assert tab.ask(probes.FAINT)["faint"] == []


def test_plots_have_names_and_descriptions(tab: Tab, pages: dict[str, str]) -> None:
    tab.show(1280)
    tab.open(pages["going"])
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    told = [
        {key: str(node.get(key, {}).get("value", "")) for key in ("role", "name", "description")}
        for node in nodes
        if not node["ignored"]
    ]
    images = {each["name"]: each["description"] for each in told if each["role"] == "image"}
    assert "least with" in images["Need by rows"]
    assert "least with south" in images["Need by region"]
