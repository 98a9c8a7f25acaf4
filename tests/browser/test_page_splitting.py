"""Jobs over items on a task's page, in a real browser: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.store import Store
from tests.builders.page_stores import served
from tests.builders.splitting.taught_chunks import chunks_of, uneven_taught
from tests.builders.stores import TRAIN
from tests.rigs.browser import page_probes as probes
from tests.rigs.browser.browsers import Tab
from tests.rigs.browser.page_readers import bare

TASK = f"/tasks/{TRAIN}"
SECTIONS = ("leases", "splitting")
WEIGHT = 0.75


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('store')}/plimsoll.db")
    store.observations.record(chunks_of("one", pods=40))
    store.leased_jobs.close(f"{TRAIN}/run-1", TRAIN, uneven_taught(killed=(60, GIB)))
    cluster = bare(store)
    cluster.book.policies.set_namespace_spec(
        TRAIN.namespace, {"splitting": {"memoryWeight": WEIGHT}}
    )
    with served(store, cluster.live) as found:
        yield found
    store.close()


@pytest.mark.parametrize("width", [1400, 800, 420, 320])
def test_nothing_scrolls_sideways_sticks_out_or_is_faint(
    width: int, tab: Tab, address: str
) -> None:
    tab.show(width)
    tab.open(f"{address}{TASK}")
    assert tab.ask(probes.OVERFLOW) == {"scrolls": 0, "over": []}
    assert tab.ask(probes.OUTSIDE) == []
    assert tab.ask(probes.SMALL) == []
    for dark in (False, True):
        tab.show(width, dark=dark)
        assert tab.ask(probes.FAINT)["faint"] == []
    assert tab.complaints == []


def test_what_the_sections_draw_is_told_by_ear(tab: Tab, address: str) -> None:
    tab.show(1400)
    tab.open(f"{address}{TASK}")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    told = {
        str(node["name"]["value"]): str(node.get("description", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and node["role"]["value"] == "image"
    }
    assert told["How long leases take"].startswith("From 1.9 s of one item to ")
    assert told["What leases need"].endswith("The limit is 1Gi.")
    assert {"How long the Job takes", "What a pod needs"} <= set(told)


def test_both_sections_go_by_what_memory_counts_for_the_task(tab: Tab, address: str) -> None:
    tab.show(1400)
    tab.open(f"{address}{TASK}")
    for section in SECTIONS:
        words = tab.ask(f"document.querySelector('#{section} .note').textContent")
        assert f"By its policy, memory counts: the least of time × memory^{WEIGHT:g}" in words
    assert f"less time × memory^{WEIGHT:g}" in words


def test_what_is_in_the_legend_is_in_a_picture(tab: Tab, address: str) -> None:
    tab.show(1400)
    tab.open(f"{address}{TASK}")
    for section in SECTIONS:
        script = f"""[...document.querySelectorAll('#{section} .legend svg *')].map(
          each => each.getAttribute('class')).filter(
          each => !document.querySelector(`#{section} figure svg .${{each}}`))"""
        assert tab.ask(script) == []
