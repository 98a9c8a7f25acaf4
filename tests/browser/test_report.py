"""The report page in a real browser: nothing fails, everything is drawn, wide and on a phone."""

from __future__ import annotations

import html
import json
import tempfile
from functools import cache
from pathlib import Path

import pytest

from plimsoll_operator.web.report.page import render
from tests.builders.reports import START_S, a_life, a_report, a_task_report
from tests.rigs.browser.colours import contrast, luminance
from tests.rigs.browser.headless import console_of, run

PROBE = """<script>
const facts = {};
const kids = page => {
  const seen = page.contentDocument, box = element => element.getBoundingClientRect();
  facts.width = seen.documentElement.scrollWidth;
  facts.sections = seen.querySelectorAll("section").length;
  facts.plots = [...seen.querySelectorAll("svg[role=img]")].filter(e => box(e).height > 150).length;
  facts.kills = seen.querySelectorAll("figure:first-of-type path.kill").length;
  facts.requests = page.contentWindow.performance.getEntriesByType("resource").length;
  facts.paper = page.contentWindow.getComputedStyle(seen.body).backgroundColor;
  facts.ink = page.contentWindow.getComputedStyle(seen.body).color;
  const need = seen.querySelector("circle.need");
  facts.need = page.contentWindow.getComputedStyle(need).fill;
  const bar = seen.querySelector(".held .asked"), small = seen.querySelector(".held .allocated");
  facts.share = (box(small).width / box(bar).width).toFixed(3);
  const texts = [...seen.querySelectorAll("svg[role=img] text")];
  facts.outside = texts.filter(text => {
    const inside = box(text.closest("svg")), own = box(text);
    const across = own.left < inside.left - 1 || own.right > inside.right + 1;
    return across || own.bottom > inside.bottom + 1;
  }).length;
  document.body.textContent = JSON.stringify(facts);
};
</script><iframe src="report.html" onload="kids(this)" style="border:0;height:3000px;width:%dpx">
</iframe>"""
"""Run beside the page and not in it: the page's own policy forbids scripts."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks, one of them long enough to be thinned."""
    life, long = a_life(2), a_life(3, imported=900, runs=500)
    data = a_report(a_task_report(life), a_task_report(long, "join-sales"))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(data, START_S), encoding="utf-8")
    return path


@cache
def probe(browser: str, page: Path, width: int, *words: str) -> dict[str, str]:
    """Facts about the page laid out ``width`` pixels wide, as text."""
    outer = page.parent / f"probe-{width}.html"
    outer.write_text(PROBE % width)
    done = run(
        browser,
        Path(tempfile.mkdtemp(dir=page.parent)),
        *words,
        "--allow-file-access-from-files",
        "--dump-dom",
        outer.as_uri(),
    )
    body = done.stdout.partition("<body>")[2].partition("</body>")[0]
    facts = json.loads(html.unescape(body))
    return {name: str(value) for name, value in facts.items()}


def test_the_browser_has_nothing_to_complain_of(browser: str, page: Path, tmp_path: Path) -> None:
    words = ("--enable-logging=stderr", "--v=0", "--dump-dom", page.as_uri())
    done = run(browser, tmp_path, *words)
    assert console_of(done.stderr) == []
    assert "shop/join-sales" in done.stdout
    assert done.stdout.count("<section") == 3


def test_the_console_is_really_read(browser: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<script>console.error('seen')</script>")
    words = ("--enable-logging=stderr", "--v=0", "--dump-dom", bad.as_uri())
    assert len(console_of(run(browser, tmp_path / "p", *words).stderr)) == 1


@pytest.mark.parametrize("width", [1280, 400])
def test_everything_is_drawn_inside_the_page(width: int, browser: str, page: Path) -> None:
    facts = probe(browser, page, width)
    assert facts["sections"] == "3"
    assert facts["plots"] == "8"
    assert int(facts["kills"]) > 0
    assert facts["outside"] == "0"
    assert facts["requests"] == "0"
    assert int(facts["width"]) <= width


def test_bars_are_as_long_as_what_they_stand_for(browser: str, page: Path) -> None:
    facts = probe(browser, page, 1280)
    figures = [a_task_report(life).figures for life in (a_life(2), a_life(3, 900, 500))]
    asked = sum(each.requested_gb_h for each in figures)
    allocated = sum(each.allocated_gb_h for each in figures)
    assert float(facts["share"]) == pytest.approx(allocated / asked, abs=0.005)


def test_light_and_dark_both_have_ink_on_paper(browser: str, page: Path) -> None:
    light = probe(browser, page, 1280)
    dark = probe(browser, page, 1280, "--blink-settings=preferredColorScheme=0")
    assert contrast(light["ink"], light["paper"]) > 10
    assert contrast(dark["ink"], dark["paper"]) > 10
    assert luminance(dark["paper"]) < 0.05
    assert luminance(light["paper"]) > 0.8
    assert contrast(light["need"], light["paper"]) > 3
    assert contrast(dark["need"], dark["paper"]) > 3
