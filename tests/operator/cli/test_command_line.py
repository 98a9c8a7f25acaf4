"""The command line as people meet it: help, completion, its page, what a start costs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings
from typer.main import get_command

from plimsoll_operator import __main__
from plimsoll_operator.admission.settings import AdmissionSettings
from plimsoll_operator.agent.settings import SettingsError
from plimsoll_operator.cli.past_runs import import_
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import document_text
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.extender.settings import ExtenderSettings
from plimsoll_operator.kubectl_plugin import complete
from plimsoll_predictor.store import StoreError
from tests.rigs.processes.command_lines import PLIMSOLL, Ended, called_here, run_apart, run_here

ROOT = Path(__file__).parents[3]
HEAVY = ("kubernetes_asyncio", "kopf", "aiohttp", "sqlalchemy", "numpy", "sklearn", "xgboost")
LIGHT_STARTS = (
    ["--help"],
    ["--version"],
    ["import", "--help"],
)
WITHOUT_A_STORE = (
    ("report",),
    ("explain", "shop/train"),
    ("models", "shop/train"),
    ("placing",),
    ("export",),
    ("forget", "shop"),
    ("replay", "--from-store", "shop/train"),
)


def said_by(done: Ended) -> str:
    """The message of a failed command, which is all that it printed."""
    assert done.returncode == 1, done
    assert not done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def loaded_by(*words: str) -> set[str]:
    """The modules that are loaded when a command ends."""
    code = (
        "import sys, atexit, json\n"
        "atexit.register(lambda: sys.stderr.write('LOADED' + json.dumps(sorted(sys.modules))))\n"
        f"sys.argv = ['plimsoll', *{list(words)!r}]\n"
        "from plimsoll_operator.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr.partition("LOADED")[2]))


@pytest.mark.slow
@pytest.mark.parametrize("words", LIGHT_STARTS, ids=" ".join)
def test_a_command_that_only_tells_loads_nothing_heavy(words: list[str]) -> None:
    loaded = loaded_by(*words)
    assert not [name for name in HEAVY if name in loaded]
    theirs = [name for name in loaded if not name.startswith("plimsoll")]
    assert len(theirs) < 440, "as many as typer, rich and msgspec need"
    assert "resource" not in loaded, "Windows has none"


def loaded_with(*modules: str) -> set[str]:
    """The modules that are loaded with some of ``commands``."""
    names = ", ".join(f"plimsoll_operator.commands.{module}" for module in modules)
    code = f"import sys, json, {names}; print(json.dumps([*sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_what_asks_only_the_store_loads_no_client() -> None:
    loaded = loaded_with("runtimes.what_if", "runtimes.sla", "splitting.split")
    assert not loaded & {"kubernetes_asyncio", "aiohttp"}


@pytest.mark.slow
def test_what_asks_only_the_api_loads_a_client_and_nothing_that_computes() -> None:
    loaded = loaded_with("status.status", "modes.pause", "modes.enforce")
    assert "kubernetes_asyncio" in loaded
    assert not [name for name in HEAVY if name in loaded - {"kubernetes_asyncio", "aiohttp"}]


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
def test_no_help_is_wider_than_the_terminal(width: int) -> None:
    for command in ("", "status", "import"):
        words = [command] if command else []
        text = run_here(*words, "--help", COLUMNS=str(width)).stdout
        assert max(map(len, text.splitlines())) <= width
        assert "Examples" in text


@pytest.mark.slow
def test_the_commands_are_in_groups_that_say_what_they_are_for() -> None:
    text = run_here("--help", COLUMNS="100").stdout
    groups = [line.split("─")[1].strip() for line in text.splitlines() if line.startswith("╭─")]
    assert groups == ["Options", "Look", "Set", "Past runs", "Processes"]


def commands_of(group: Any, *words: str) -> Iterator[tuple[str, Any]]:
    """The visible commands below a group, with their words."""
    for name, inner in group.commands.items():
        if hasattr(inner, "commands"):
            yield from commands_of(inner, *words, name)
        elif not inner.hidden:
            yield " ".join([*words, name]), inner


COMMANDS = dict(commands_of(get_command(__main__.app)))


@pytest.mark.parametrize("command", COMMANDS)
def test_brackets_around_an_argument_mean_that_it_may_be_left_out(command: str) -> None:
    for given in COMMANDS[command].params:
        if given.param_type_name == "argument" and given.metavar:
            assert given.metavar.startswith("[") is not given.required, given.name


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        pytest.param("controller", ControllerSettings, id="controller"),
        pytest.param("admission", AdmissionSettings, id="admission"),
        pytest.param("extender", ExtenderSettings, id="extender"),
    ],
)
def test_the_help_of_a_process_names_the_variable_and_the_default_of_each_setting(
    command: str, settings: type[BaseSettings]
) -> None:
    fields = settings.model_fields
    for option in COMMANDS[command].params:
        if option.name in ("kubeconfig", "context", "help"):
            continue
        [field] = re.findall(r"\[env var: PLIMSOLL_(\w+)\]", option.help)
        default = fields[field.lower()].default
        told = re.findall(r"\[default: (.*)\]", option.help)
        if isinstance(default, str | int | float):
            default = f"{default:g}" if isinstance(default, float) else str(default)
            assert told == [default], option.name
        else:
            assert told == [], option.name


def test_split_says_that_the_policys_weight_of_memory_does_not_count() -> None:
    [weight] = [each for each in COMMANDS["split"].params if each.name == "memory_weight"]
    assert weight.default == 0
    assert "whatever the task's policy says" in weight.help


@pytest.mark.slow
def test_the_page_of_the_command_line_is_what_the_commands_say() -> None:
    made = subprocess.run(
        [sys.executable, "-P", "-m", "plimsoll_operator.command_reference"],
        capture_output=True,
        text=True,
        check=True,
    )
    shown = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert made.stdout == shown, "run python -m plimsoll_operator.command_reference"


@pytest.mark.parametrize("words", WITHOUT_A_STORE, ids=" ".join)
def test_who_only_looks_at_a_store_leaves_none_behind(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    told = said_by(run_here(*words, "--store", "sqlite:///plimsoll.db", folder=tmp_path))
    assert "there is no store plimsoll.db; is the --store right?" in " ".join(told.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("words", WITHOUT_A_STORE, ids=" ".join)
def test_without_store_and_cluster_both_ways_are_named(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    told = said_by(run_here(*words, folder=tmp_path))
    assert "name the store with --store or PLIMSOLL_STORE_URL, or the cluster" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_api_commands_say_that_there_is_no_cluster(tmp_path: Path) -> None:
    for words in ("status", "pause"):
        assert "no cluster" in said_by(run_here(words, folder=tmp_path))


@pytest.mark.parametrize("listed", ["config", "config:other"])
def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path, listed: str) -> None:
    said = " ".join(said_by(run_here("pause", folder=tmp_path, KUBECONFIG=listed)).split())
    assert f"kubeconfig {listed.replace(':', ' or ')} is not there; name one" in said
    said = " ".join(said_by(run_here("pause", "--kubeconfig", "mine", folder=tmp_path)).split())
    assert "kubeconfig mine is not there; name one" in said


@pytest.mark.slow
def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    """Completions by the script that --show-completion prints, in a real bash."""
    binary = tmp_path / "bin" / "plimsoll"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec {" ".join(PLIMSOLL)} "$@"\n')
    binary.chmod(0o755)
    path = f"{binary.parent}:{os.environ['PATH']}"
    script = run_here(
        "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    ).stdout
    assert "complete -o" in script
    function = script.partition("-F ")[2].split()[0]
    for typed, expected in (
        ("plimsoll sta", {"status"}),
        ("plimsoll status --out", {"--output"}),
        ("plimsoll status --output ", {"table", "json", "yaml"}),
    ):
        words = typed.split(" ")
        asked = f'{script}\nCOMP_WORDS=({typed} "")\nCOMP_CWORD={len(words) - 1}\n'
        asked = asked.replace(' "")', ")") if not typed.endswith(" ") else asked
        asked += f'{function} plimsoll\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
        done = subprocess.run(
            ["bash", "--norc", "-c", asked],
            env={"PATH": path, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert set(done.stdout.split()) == expected, done


@pytest.mark.slow
def test_zsh_is_told_commands_with_what_they_are() -> None:
    """What the script of --show-completion zsh evaluates."""
    told = run_here(_PLIMSOLL_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="plimsoll res").stdout
    assert told.startswith('_arguments \'*: :(("resume":"Size pods again')
    script = run_here(
        "--show-completion", "zsh", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    ).stdout
    assert script.startswith("#compdef plimsoll")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(
            "history.csv --save out.csv",
            "--save is for a Prometheus or an Airflow, not for a file",
            id="a file is not saved again",
        ),
        pytest.param(
            "history.csv --prometheus http://nowhere:1", "--prometheus is for", id="two sources"
        ),
        pytest.param(
            "history.csv --since garbage --margin 0.5", "--since and --margin are for", id="several"
        ),
        pytest.param("history.csv --since 30d", "--since is for", id="the default, but given"),
        pytest.param(
            "--airflow sqlite:///a.db --margin 0.5", "--margin is for a Prometheus", id="of another"
        ),
        pytest.param(
            "--airflow sqlite:///a.db --prometheus http://nowhere:1",
            "--prometheus and --airflow were both given; leave one out",
            id="both given",
        ),
        pytest.param("", "name a history file, a Prometheus", id="no source"),
    ],
)
def test_import_refuses_what_it_would_ignore(words: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("task,namespace,finished_s,peak_bytes\n")
    done = run_here("import", *words.split(), "--store", "sqlite:///new.db", folder=tmp_path)
    assert done.returncode == 2, done
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert [each.name for each in tmp_path.iterdir()] == ["history.csv"]


def test_what_import_refuses_is_what_the_help_shows_for_other_sources() -> None:
    shown = defaultdict(set)
    for each in get_command(import_.app).params:
        shown[getattr(each, "rich_help_panel", None)].add(each.name)
    assert shown[import_.OF_PROMETHEUS] == {*import_.FOR_PROMETHEUS}
    assert shown[import_.OF_PROMETHEUS] | shown[import_.OF_PAST] == {*import_.FOR_PAST}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param("import --airflow sqlite:///none.db", "none.db", id="an Airflow"),
        pytest.param("import none.csv", "none.csv cannot be read", id="a file"),
    ],
)
def test_what_is_named_wins_over_the_environment(words: str, told: str, tmp_path: Path) -> None:
    done = run_here(
        *words.split(),
        *("--store", "sqlite:///new.db"),
        folder=tmp_path,
        PLIMSOLL_PROMETHEUS_URL="http://nowhere:1",
    )
    assert (done.returncode, "nowhere" in done.stderr) == (1, False), done
    assert told in done.stdout + done.stderr


def test_import_names_both_variables_if_both_are_set(tmp_path: Path) -> None:
    done = run_here(
        "import",
        folder=tmp_path,
        PLIMSOLL_PROMETHEUS_URL="http://nowhere:1",
        PLIMSOLL_AIRFLOW_DATABASE="sqlite:///a.db",
    )
    assert done.returncode == 2
    told = " ".join(done.stderr.replace("│", " ").split())
    assert "PLIMSOLL_PROMETHEUS_URL and PLIMSOLL_AIRFLOW_DATABASE are both set" in told


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(StoreError("the disk is full"), 1, id="what people can mend"),
        pytest.param(OSError(28, "No space left on device", "/tmp/x"), 1, id="a full disk"),
        pytest.param(SettingsError("pass --node-name"), 2, id="a wrong setting"),
    ],
)
def test_what_can_be_mended_is_one_sentence_and_only_wrong_usage_is_status_2(
    monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(__main__, "app", fail)
    done = run_here()
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"plimsoll: {error}\n"


def test_a_history_by_standard_input_is_called_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "history.csv").open("w+b") as source:
        source.write(b"task\n")
        source.seek(0)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=source.raw))
        done = run_here("import", "-", "--store", "sqlite:///new.db", folder=tmp_path)
    assert done.returncode == 1
    told = " ".join(done.stderr.split())
    assert "standard input, line 1: lacks the columns namespace, finished_s" in told
    assert "/tmp" not in told


def test_kubectls_completion_is_words_and_what_they_are() -> None:
    done = called_here(complete, ("kubectl_complete-plimsoll", "re"))
    names = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert names == ["report", "recommend", "resume", "release", "replay"]


def test_a_document_is_the_same_in_both_forms() -> None:
    shared = {"bytes": 2**40, "words": "würde → 512Mi"}
    assert "\x9b" not in document_text({"words": "\x9b31m"}, OutputForm.JSON)
    document = {"one": shared, "again": shared, "none": None, "off": "off"}
    as_json = document_text(document, OutputForm.JSON)
    as_yaml = document_text(document, OutputForm.YAML)
    assert json.loads(as_json) == yaml.safe_load(as_yaml) == document
    assert "&id" not in as_yaml, "no anchors: people read it"
    assert list(yaml.safe_load(as_yaml)) == list(document)


@pytest.mark.slow
def test_the_version_is_told_by_option_and_command() -> None:
    told = run_apart("--version").stdout
    assert told == run_here("version").stdout
    assert told.count(".") == 2
