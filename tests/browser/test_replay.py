"""The replay's page in a real browser: everything is drawn, wide, on a phone, light and dark."""

from __future__ import annotations

import html
import json
import tempfile
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.commands.past_runs.replay import ReplayRequest, replay_command
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.traces import write_trace
from tests.builders.replays import GB, a_run
from tests.rigs.browser.colours import contrast, luminance
from tests.rigs.browser.headless import console_of, run

PROBE = """<script>
const look = page => {
  const seen = page.contentDocument, box = element => element.getBoundingClientRect();
  const style = element => page.contentWindow.getComputedStyle(element);
  const texts = [...seen.querySelectorAll("svg[role=img] text")];
  const outside = texts.filter(text => {
    const inside = box(text.closest("svg")), own = box(text);
    const across = own.left < inside.left - 1 || own.right > inside.right + 1;
    return across || own.bottom > inside.bottom + 1 || own.top < inside.top - 1;
  });
  const names = [...seen.querySelectorAll("svg text.name")];
  const overlaps = names.filter((one, place) => names.slice(place + 1).some(other =>
    one.closest("svg") === other.closest("svg") && box(one).top < box(other).bottom - 3
    && box(other).top < box(one).bottom - 3));
  document.body.textContent = JSON.stringify({
    width: seen.documentElement.scrollWidth,
    plots: [...seen.querySelectorAll("svg[role=img]")].filter(e => box(e).height > 100).length,
    requests: page.contentWindow.performance.getEntriesByType("resource").length,
    outside: outside.map(text => text.textContent),
    overlaps: overlaps.map(text => text.textContent),
    failures: seen.querySelectorAll("svg[role=img] path.kill").length,
    paper: style(seen.querySelector("section")).backgroundColor,
    names: names.map(text => style(text).fill),
  });
};
</script><iframe src="replay.html" onload="look(this)" style="border:0;height:3000px;width:%dpx">
</iframe>"""
"""Run beside the page and not in it: the page's own policy forbids scripts."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace whose needs vary, so that every rule fails now and then."""
    folder = tmp_path_factory.mktemp("replay")
    rows = [
        a_run(line)
        .of("AB"[line % 2])
        .at(97 * line, 97 * line + 5, 97 * line + 400)
        .needing(GB + (line * 7919 % 1009) * GB // 200)
        .row
        for line in range(2, 400)
    ]
    write_trace(folder / "past.csv", rows)
    request = ReplayRequest(traces=[folder / "past.csv"], html_file=folder / "replay.html")
    assert replay_command(request, 1_750_000_000.0, Console(quiet=True)) == 0
    return folder / "replay.html"


@cache
def probe(browser: str, page: Path, width: int, *words: str) -> dict[str, object]:
    outer = page.parent / f"probe-{width}.html"
    outer.write_text(PROBE % width)
    asked = (*words, "--allow-file-access-from-files", "--dump-dom", outer.as_uri())
    done = run(browser, Path(tempfile.mkdtemp(dir=page.parent)), *asked)
    body = done.stdout.partition("<body>")[2].partition("</body>")[0]
    found: dict[str, object] = json.loads(html.unescape(body))
    return found


def test_the_browser_has_nothing_to_complain_of(browser: str, page: Path, tmp_path: Path) -> None:
    words = ("--enable-logging=stderr", "--v=0", "--dump-dom", page.as_uri())
    assert console_of(run(browser, tmp_path, *words).stderr) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_everything_is_drawn_inside_the_page(width: int, browser: str, page: Path) -> None:
    facts = probe(browser, page, width)
    assert facts["plots"] == 2 + len(POLICIES)
    assert (facts["outside"], facts["overlaps"], facts["requests"]) == ([], [], 0)
    assert int(str(facts["failures"])) > 10
    assert int(str(facts["width"])) <= width


@pytest.mark.parametrize(
    ("words", "dark"), [((), False), (("--blink-settings=preferredColorScheme=0",), True)]
)
def test_every_policys_name_can_be_read(
    words: tuple[str, ...], dark: bool, browser: str, page: Path
) -> None:
    facts = probe(browser, page, 1280, *words)
    paper, names = str(facts["paper"]), facts["names"]
    assert (luminance(paper) < 0.05) is dark
    assert isinstance(names, list)
    assert len(names) == 2 * len(POLICIES)
    assert [name for name in names if contrast(name, paper) < 3] == []
