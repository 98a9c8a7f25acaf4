"""Screenshots of the page and of the report file, for the docs.

``python -m tests.rigs.browser.page_pictures [FOLDER]``, docs/images by default.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from plimsoll_operator.views.report.task_views import gather
from plimsoll_operator.web.report.page import render
from plimsoll_predictor.store import Store
from tests.builders.campaigns import a_record, keep_campaign, some_runs
from tests.builders.page_stores import a_cluster, served
from tests.builders.placing.placed_runs import Lived, a_shop, keep
from tests.builders.reports import START_S
from tests.builders.runtimes.telling_pasts import NIGHTLY, a_telling_past
from tests.rigs.browser.browsers import Tab, a_browser
from tests.rigs.browser.page_readers import bare

WIDTHS = {"desktop": 1280, "phone": 390}
TASKS = 300
MOST_BYTES = 200_000


def main(folder: Path) -> None:
    """Take them all."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        store = Store.open(f"sqlite:///{scratch}/plimsoll.db", clock=lambda: START_S)
        cluster = a_cluster(store, TASKS)
        report = Path(scratch) / "report.html"
        report.write_text(render(gather(store), START_S), encoding="utf-8")
        with served(store, cluster.live) as address, a_browser(Path(scratch) / "profile") as tab:
            for name, width in WIDTHS.items():
                _take(tab, folder / f"page-index-{name}.png", address, width)
                _take(
                    tab,
                    folder / f"page-task-{name}.png",
                    f"{address}/tasks/shop/train-demand",
                    width,
                )
                _take(tab, folder / f"report-{name}.png", report.as_uri(), width)
            tab.show(1280, dark=True)
            tab.open(f"{address}/tasks/shop/train-demand")
            _small(tab, folder / "page-task-dark.png")
        store.close()
        _runtimes(folder, Path(scratch))
        _placing(folder, Path(scratch))
        _campaign(folder, Path(scratch))
    for each in sorted(folder.glob("*.png")):
        print(f"{each} {each.stat().st_size:,} bytes")


def _runtimes(folder: Path, scratch: Path) -> None:
    """A picture of one task's runtimes, with a what-if."""
    store = Store.open(f"sqlite:///{scratch}/runtimes.db", clock=lambda: START_S)
    a_telling_past(store)
    live = bare(store).live
    with served(store, live) as address, a_browser(scratch / "another-profile") as tab:
        for name, width in WIDTHS.items():
            tab.show(width, dark=name == "phone")
            tab.open(f"{address}/tasks/{NIGHTLY}?node-type=n2-standard-8")
            _small(tab, folder / f"page-runtime-{name}.png", only="#runtime")
    store.close()


def _placing(folder: Path, scratch: Path) -> None:
    """A picture of which task slows which: twelve kinds of a drawn world."""
    store = Store.open(f"sqlite:///{scratch}/placing.db", clock=lambda: START_S)
    keep(store, Lived(a_shop(), seed=0, nodes=10, load=0.5).runs(1_500))
    with (
        served(store, bare(store).live) as address,
        a_browser(scratch / "a-third-profile") as tab,
    ):
        for name, width in WIDTHS.items():
            tab.show(width, dark=name == "phone")
            tab.open(address)
            _small(tab, folder / f"page-placing-{name}.png", only="#placing")
    store.close()


def _campaign(folder: Path, scratch: Path) -> None:
    """A picture of a campaign that runs."""
    store = Store.open(f"sqlite:///{scratch}/campaign.db", clock=lambda: START_S)
    keep_campaign(store, a_record(ended_s=None, ending=None), some_runs(left=5))
    with (
        served(store, bare(store).live) as address,
        a_browser(scratch / "a-fourth-profile") as tab,
    ):
        for name, width in WIDTHS.items():
            tab.show(width, dark=name == "phone")
            tab.open(f"{address}/campaigns/shop/learn-join")
            _small(tab, folder / f"page-campaign-{name}.png", only="#campaign")
    store.close()


def _take(tab: Tab, out: Path, address: str, width: int) -> None:
    tab.show(width)
    tab.open(address)
    _small(tab, out)


def _small(tab: Tab, out: Path, only: str | None = None) -> None:
    """The top of the page, or of an element, cut so that the file is small."""
    height = 1500
    tab.picture(out, height=height, only=only)
    while out.stat().st_size > MOST_BYTES:
        height = int(0.9 * height)
        tab.picture(out, height=height, only=only)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))
