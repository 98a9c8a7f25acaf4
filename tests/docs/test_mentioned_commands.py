"""Every command, option, target and value that a page mentions exists."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploy.local.commands import main as cluster_command
from typer.main import get_command

from plimsoll_operator.__main__ import app
from tests.docs.pages import ROOT, Page, all_pages

PLIMSOLL = get_command(app)
PAGES = [page for page in all_pages() if "CHANGELOG" not in page.name]
SOURCES = [
    path.relative_to(ROOT)
    for folder in ("operator", "predictor", "deploy", "demo", "benchmarks", "tests", "helm")
    for path in (ROOT / folder).rglob("*.py")
]
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_a_command_in_running_text_stands_on_one_line(page: Page) -> None:
    """So it is found by a search, and copied whole."""
    spans = (each for part in page.prose().split("\n\n") for each in re.findall(r"`([^`]+)`", part))
    assert [each for each in spans if "\n" in each] == []


def test_make_clean_removes_every_result_that_git_ignores() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    results = {each for each in ignored if re.fullmatch(r"[^/]+\.(?:json|html)", each)}
    [removed] = re.findall(r"^\trm -rf (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert results - set(removed.split()) == set()


def mentioned(page: Page) -> Iterator[str]:
    """Every command of the page, in blocks and in running text."""
    for block in page.blocks("sh"):
        for line in block.commands():
            yield from re.split(r"\s*(?:\||&&|;)\s*", line)
    yield from page.inline_code()


def words_of(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def calls(page: Page) -> list[list[str]]:
    """Words after ``plimsoll`` of each call of it that names a command."""
    found = (words_of(each) for each in mentioned(page))
    return [
        words[1:]
        for words in found
        if len(words) > 1 and words[0] == "plimsoll" and re.match(r"[a-z]+$|--", words[1])
    ]


def unknown_in(words: list[str]) -> str | None:
    """The first command or option that does not exist, in words."""
    command: Any = PLIMSOLL
    for word in words:
        name = word.partition("=")[0]
        # Only a group has commands; its class is up to typer.
        inner = getattr(command, "commands", None)
        if inner is not None and not name.startswith("-"):
            if name not in inner:
                return f"no command {name}"
            command = inner[name]
        elif name.startswith("-") and len(name) > 1 and not name[1:].isdigit():
            options = {each for option in command.params for each in option.opts} | {"--help"}
            options |= {each for option in PLIMSOLL.params for each in option.opts}
            if name not in options:
                return f"no option {name} of {command.name}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mentioned_command_of_plimsoll_and_its_options_exist(page: Page) -> None:
    wrong = {" ".join(words): unknown_in(words) for words in calls(page)}
    assert {call: why for call, why in wrong.items() if why} == {}


def test_the_pages_do_mention_commands() -> None:
    assert sum(len(calls(page)) for page in PAGES) > 30


@pytest.mark.parametrize(
    "call", ["plimsoll guess", "plimsoll status --fast", "plimsoll traces paint"]
)
def test_a_command_or_option_that_there_is_not_is_noticed(call: str) -> None:
    assert unknown_in(call.split()[1:]) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mentioned_make_target_exists(page: Page) -> None:
    wanted = {
        word
        for command in mentioned(page)
        if command.startswith("make ")
        for word in command.split()[1:]
        if "=" not in word and re.fullmatch(r"[a-z-]+", word)
    }
    assert wanted <= TARGETS


@cache
def values_of_the_chart() -> dict[str, Any]:
    """Read once: that takes longer than to look for all that a page mentions."""
    values: dict[str, Any] = yaml.safe_load((ROOT / "helm/plimsoll/values.yaml").read_text())
    return values


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mentioned_value_of_the_chart_exists(page: Page) -> None:
    values = values_of_the_chart()
    paths = set(re.findall(r"--set(?:-string)? ([\w.]+)=", page.text))
    top = "|".join(values)
    paths |= {
        code.partition("=")[0].partition(":")[0]
        for code in page.inline_code()
        if re.match(rf"(?:{top})\.\w+[\w.]*(?:[:=].*)?$", code)
        and not code.endswith((".yaml", ".md", ".py"))
    }
    if page.name.startswith("docs/adr"):
        return  # frozen
    for path in sorted(paths):
        found = values
        for key in path.split("."):
            if path.startswith("policy.") and key not in found:
                break
            assert key in found, f"{page.name}: the chart has no value {path}"
            found = found[key]


@cache
def commands_of_the_cluster() -> set[str]:
    """As its help lists them."""
    with redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit):
        cluster_command(["--help"])
    return set(re.findall(r"^ {4}([a-z]+)\b", said.getvalue(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mentioned_command_of_the_local_cluster_exists(page: Page) -> None:
    known = commands_of_the_cluster()
    assert "kubectl" in known
    for command in mentioned(page):
        if found := re.match(r"python3 deploy/local/cluster\.py ([a-z]+)", command):
            assert found[1] in known, f"{page.name}: {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mentioned_file_of_the_checkout_exists(page: Page) -> None:
    roots = (
        *("operator/", "predictor/", "deploy/", "helm/"),
        *("docs/", "demo/", "benchmarks/", "tests/"),
    )
    for code in page.inline_code():
        if code.startswith(roots) and re.fullmatch(r"[\w./-]+", code):
            assert (ROOT / code).exists() or list(Path(ROOT).glob(code)), f"{page.name}: {code}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "/adr/" not in page.name], ids=lambda page: page.name
)
def test_every_mentioned_python_file_is_a_source(page: Page) -> None:
    """A page names a file by the end of its path; an ADR may name one that existed at its time."""
    for code in page.inline_code():
        if re.fullmatch(r"[\w/]+\.py", code):
            assert any(f"/{path}".endswith(f"/{code}") for path in SOURCES), f"{page.name}: {code}"


def test_every_mentioned_benchmark_exists() -> None:
    texts = {page.name: page.text for page in PAGES}
    texts |= {str(path): (ROOT / path).read_text() for path in SOURCES}
    texts["Makefile"] = (ROOT / "Makefile").read_text().replace("$(MEASURE)", "-m benchmarks")
    missing = [
        f"{name}: {module}"
        for name, text in texts.items()
        for module in re.findall(r"-m (benchmarks\.[a-z_]+\.[a-z_]+)", text)
        if not (ROOT / f"{module.replace('.', '/')}.py").is_file()
    ]
    assert missing == []
