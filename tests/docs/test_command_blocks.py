"""A test runs every command that a page shows, or it is listed as not run, and checked."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_predictor.core.units import MIB
from tests.builders.runtimes.runtime_logs import a_log_run, write_log
from tests.docs.elsewhere import ELSEWHERE, README, entry_for
from tests.docs.pages import Block, Page, all_pages, pages_of_people
from tests.docs.walking import WALKED_HERE, WALKED_ON_A_CLUSTER, Walk, walked
from tests.rigs.processes.program_server import COMMANDS, NUMERIC, PLIMSOLL, a_program_server

PAGES = all_pages()
BLOCKS = [block for page in pages_of_people() for block in page.blocks("sh")]
PATIENCE_S = 300
"""Readers may have a busy machine, too."""
TRACE = "task_id\tname\tstatus\tsubmit\tstart\tcomplete\trealtime\tmemory\tpeak_rss\tcpus\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_stand_in_blocks_that_say_so(page: Page) -> None:
    for language in ("bash", "shell", "console", "zsh"):
        assert page.blocks(language) == []
    if page.name.startswith("docs/"):
        for block in page.blocks(""):
            assert not block.text.startswith(("plimsoll ", "kubectl ", "helm ", "make ")), block


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_command_is_walked_or_known_to_be_run_elsewhere(block: Block) -> None:
    for command in block.commands():
        entry = entry_for(block.page, command)
        if entry is not None:
            entry.check(command)
        else:
            assert block.page in (*WALKED_ON_A_CLUSTER, *WALKED_HERE), (
                f"{block}: no test runs {command!r}; walk its page, or add it to elsewhere.py"
            )


@pytest.mark.parametrize("name", [*WALKED_ON_A_CLUSTER, *WALKED_HERE])
def test_a_block_is_walked_as_a_whole(name: str) -> None:
    page = Page(name)
    for block in walked(page):
        left_out = [
            command
            for command in block.commands()
            if entry_for(name, command) is not None and not command.startswith("export ")
        ]
        assert left_out == [], block


@pytest.mark.parametrize("name", [*WALKED_ON_A_CLUSTER, *WALKED_HERE])
def test_what_a_page_waits_for_may_take_long_and_its_walk_takes_longer(name: str) -> None:
    for block in walked(Page(name)):
        for command in block.commands():
            assert "--timeout" in command or not command.startswith("kubectl wait "), command
        bounds_s = waits_s(block)
        assert min(bounds_s, default=PATIENCE_S) >= PATIENCE_S, block
        assert sum(bounds_s) < Walk.within_s, block


def waits_s(block: Block) -> list[int]:
    """How long its commands wait at most, each as often as it is run."""
    loop = re.search(r"^for \w+ in (.+); do$", block.text, re.MULTILINE)
    bounds = re.findall(r"--timeout[ =](\d+)(s|m)\b", block.text)
    once = [int(number) * (60 if unit == "m" else 1) for number, unit in bounds]
    return once * (len(loop[1].split()) if loop else 1)


@pytest.mark.parametrize("entry", [*ELSEWHERE, *README], ids=lambda entry: entry.pattern[:30])
def test_nothing_is_known_to_run_elsewhere_that_no_page_shows(entry: object) -> None:
    assert any(
        entry_for(block.page, command) is entry for block in BLOCKS for command in block.commands()
    )


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for PATH with a ``plimsoll`` whose imports, most of a command, are already done."""
    folder = tmp_path_factory.mktemp("programs")
    with a_program_server(PLIMSOLL, (*COMMANDS, *NUMERIC)) as server:
        server.put_on_path(folder)
        yield folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Path:
    """A folder with the files of docs/replay.md and docs/tracking.md, made once."""
    folder = tmp_path_factory.mktemp("past")
    rows = ["namespace,task,run,started_s,finished_s,outcome,peak_bytes,request_bytes,feature.rows"]
    for number in range(40):
        start, size = 1_760_000_000 + 600 * number, 1 + number % 4
        rows.append(
            f"shop,train-demand,r{number},{start},{start + 60},succeeded,"
            f"{size * 200 * MIB},{4096 * MIB},{size}000"
        )
    (folder / "history.csv").write_text("\n".join(rows) + "\n")
    traced = [
        f"{n}\tALIGN (s{n})\tCOMPLETED\t2026-01-05 08:{n:02}:00\t2026-01-05 08:{n:02}:05\t"
        f"2026-01-05 08:{n:02}:45\t40s\t8 GB\t{1 + n % 3} GB\t2\n"
        for n in range(30)
    ]
    for name in ("trace.txt", "more.txt"):
        (folder / name).write_text(TRACE + "".join(traced))
    walk = a_walk(folder, programs)
    walk.shell("plimsoll import history.csv", "a past")
    walk.shell("plimsoll train shop/train-demand --budget 1", "a past")
    walk.shell("plimsoll traces convert history.csv --out past.csv.gz", "a past")
    return folder


@pytest.fixture
def walk(made: Path, programs: Path, tmp_path: Path) -> Walk:
    """A walk in a copy of that folder."""
    for path in made.iterdir():
        if not path.is_symlink():
            shutil.copy(path, tmp_path)
    return a_walk(tmp_path, programs)


def a_walk(folder: Path, programs: Path) -> Walk:
    return Walk(folder, programs, {"PLIMSOLL_STORE_URL": "sqlite:///plimsoll.db"})


@pytest.mark.slow
def test_the_pages_of_past_runs_can_be_followed(walk: Walk, tmp_path: Path) -> None:
    [replayed, converted] = walked(Page("docs/replay.md"))
    assert "plimsoll" in walk.run(replayed)
    assert (tmp_path / "figures.json").stat().st_size > 0
    assert "<svg" in (tmp_path / "page.html").read_text()
    walk.run(converted)
    with gzip.open(tmp_path / "past.csv.gz", "rt") as past:
        assert sum(1 for _ in past) == 41


@pytest.mark.slow
def test_the_page_of_trainings_can_be_followed(walk: Walk, programs: Path, tmp_path: Path) -> None:
    # Among all pages' commands, only this one uses the installed program: its start takes seconds.
    walk.programs = tmp_path
    listed = walk.shell("plimsoll models shop/train-demand --output json", "its trainings")
    walk.programs = programs
    version = re.findall(r'"version": "(\w+)"', listed)[0]
    [block] = walked(Page("docs/tracking.md"))
    text = block.text.replace("3fa9", version[:4])
    said = walk.run(Block(block.page, block.line, text))
    assert version in said


@pytest.mark.slow
def test_the_page_of_the_benchmark_of_forecasts_can_be_followed(
    programs: Path, tmp_path: Path
) -> None:
    runs = [a_log_run(line).of(f"t{line % 3}").at(100.0 * line).run for line in range(2, 92)]
    write_log(tmp_path / "log.csv.gz", runs)
    [replayed] = walked(Page("docs/forecast-benchmark.md"))
    said = Walk(tmp_path, programs, {}).run(replayed)
    assert "own-history" in said
    assert '"pin_runs"' in (tmp_path / "figures.json").read_text()


@pytest.mark.slow
def test_the_page_of_forecasts_can_be_followed(walk: Walk, tmp_path: Path) -> None:
    past = (tmp_path / "history.csv").read_text().replace("train-demand", "join-sales")
    (tmp_path / "more.csv").write_text(past)
    walk.shell("plimsoll import more.csv", "a past")
    page = Page("docs/forecast.md")
    [plan] = page.blocks("json")
    (tmp_path / "plan.json").write_text(plan.text)
    forecast, sla, what_if = walked(page)
    said = walk.run(forecast)
    rows = re.compile(r"^│ (?! )(.+?)  ", re.MULTILINE)
    assert rows.findall(page.blocks("text")[0].text) == rows.findall(said), "the sample's rows"
    assert "its newest runs alone, 40, usually 60 s" in said
    assert '"p95_s"' in said
    said = walk.run(sla)
    assert "the branch that decides" in said
    assert '"enough": true' in said
    assert "nothing to compare" in walk.run(what_if)
