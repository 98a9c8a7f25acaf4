"""Documented commands that no walk runs: why, and what is checked instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import yaml
from typer.testing import CliRunner

from plimsoll_operator.__main__ import app
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.names import labels
from tests.docs.pages import ROOT, Page


@dataclass(frozen=True)
class Elsewhere:
    """Commands of one kind. check: raises AssertionError if one cannot be right."""

    pattern: str
    reason: str
    check: Callable[[str], None]

    def takes(self, command: str) -> bool:
        return re.fullmatch(self.pattern, command) is not None


def _builds_this_checkout(command: str) -> None:
    assert command.split()[-1] == "." or " push " in command, command
    assert (ROOT / "Dockerfile").is_file()


def _names_an_image(command: str) -> None:
    assert command.endswith(("/team", "/plimsoll:0.1.0")), command


def _is_of_install(command: str) -> None:
    pages = (Page("docs/install.md"), Page("docs/first-task.md"))
    known = {each for page in pages for block in page.blocks("sh") for each in block.commands()}
    assert command in known or f"{command} --yes".replace("shop", "first") in known, command


def _is_a_target(command: str) -> None:
    target = command.split()[1]
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), command


def _is_of_the_demo(command: str) -> None:
    said = (ROOT / "demo" / "README.md").read_text() + (
        ROOT / "demo" / "stories" / "story.py"
    ).read_text()
    assert "train-demand" in said
    assert (ROOT / "deploy" / "local" / "cluster.py").is_file()
    assert command.split()[3] in {"get", "describe"}, command


def _is_in_the_golden_values(command: str) -> None:
    values = yaml.safe_load((ROOT / "helm/examples/ha-postgresql.yaml").read_text())
    [setting] = re.findall(r"--set (\S+)", command)
    path, _, value = setting.partition("=")
    found = values
    for key in path.split("."):
        found = found[key]
    assert found == value, command


def _is_a_benchmark(command: str) -> None:
    [module] = re.findall(r" -m (benchmarks\.\w+\.\w+)", command)
    script = ROOT / f"{module.replace('.', '/')}.py"
    options = re.findall(r" (--[a-z-]+)", command)
    assert all(f'"{option}"' in script.read_text() for option in options), command


def _is_a_setting(command: str) -> None:
    [name] = re.findall(r"PLIMSOLL_(\w+)=", command)
    assert name.lower() in ControllerSettings.model_fields, command


def _is_walked_in_long(command: str) -> None:
    long = command.replace(" -n ", " --namespace ").replace("svc/", "service/")
    page = Page("docs/operations.md")
    assert long in {each for block in page.blocks("sh") for each in block.commands()}, command


def _asks_for_the_past(command: str) -> None:
    assert re.search(r"--since \d+[dhm]\b", command), command
    said = CliRunner().invoke(app, ["import", "--help"], env={"COLUMNS": "200"}).output
    assert all(option in said.split() for option in re.findall(r"--[a-z-]+", command)), command


def _writes_what_is_converted(command: str) -> None:
    [trace] = re.findall(r"-with-trace (\S+)", command)
    shown = [each for block in Page("docs/replay.md").blocks("sh") for each in block.commands()]
    assert any(each.startswith(f"plimsoll traces convert {trace} ") for each in shown), command


def _labels_a_namespace(command: str) -> None:
    assert command.endswith(f" {labels.ENABLED}=true"), command


def _lists_the_unrecognised(command: str) -> None:
    said = CliRunner().invoke(app, ["status", "--help"], env={"COLUMNS": "200"}).output
    assert all(option in said.split() for option in re.findall(r"--[a-z-]+", command)), command


def _reads_a_log(command: str) -> None:
    said = CliRunner().invoke(app, ["spark", "--help"], env={"COLUMNS": "200"}).output
    assert "LOG..." in said, command
    assert "eventlog_v2_..." in said, command


def _is_a_command_of_campaigns(command: str) -> None:
    words = command.split()[1:3]
    said = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).output
    assert f"plimsoll {' '.join(words)}" in said or "Usage:" in said, command
    assert all(option in said.split() for option in re.findall(r"--[a-z-]+", command)), command


ELSEWHERE = (
    Elsewhere(
        r"plimsoll spark \S+( --teach \S+)?",
        "tests/operator/commands/test_spark_command.py reads real event logs, tests/spark teaches",
        _reads_a_log,
    ),
    Elsewhere(
        r"plimsoll campaign airflow .*",
        "tests/airflow triggers a DAG of a real Airflow",
        _is_a_command_of_campaigns,
    ),
    Elsewhere(
        r"plimsoll campaign (?!airflow).*",
        "tests/campaigns runs these commands on campaigns of its own",
        _is_a_command_of_campaigns,
    ),
    Elsewhere(
        r"kubectl label (namespace shop|sizingpolicy default -n shop) plimsoll\.dev/\S+",
        "tests/e2e/sizing/test_unlabelled_pods.py labels a namespace of its own, and a policy",
        _labels_a_namespace,
    ),
    Elsewhere(
        r"plimsoll status --unrecognised.*",
        "tests/apiserver/commands/test_unrecognised.py lists pods that are there for it",
        _lists_the_unrecognised,
    ),
    Elsewhere(
        r"plimsoll import --airflow \S+ --since \d+[dhm]",
        "tests/airflow imports what a real Airflow remembers",
        _asks_for_the_past,
    ),
    Elsewhere(
        r"(docker|buildah) (build|push) .*",
        "a registry is needed; tests/image/test_image.py builds this Dockerfile and runs it",
        _builds_this_checkout,
    ),
    Elsewhere(
        r"export (REGISTRY|IMAGE)=registry\.example\.com/\S+",
        "a name of the reader's; the walks put the local image there",
        _names_an_image,
    ),
    Elsewhere(
        r"helm upgrade .* --set certificates\.mode=cert-manager --wait",
        "no cert-manager runs in the tests; what this renders is tests/chart/golden's",
        _is_in_the_golden_values,
    ),
    Elsewhere(r"make .*", "the targets are how the tests themselves are run", _is_a_target),
    Elsewhere(
        r"python3 deploy/local/cluster\.py kubectl .*",
        "looks at what the demo left; `make demo` ends with it",
        _is_of_the_demo,
    ),
    Elsewhere(
        r"TRACES=\S+ PYTHONPATH=\. \.venv/bin/python -P -m benchmarks\..*",
        "takes hours, on traces that are not part of the project",
        _is_a_benchmark,
    ),
    Elsewhere(r"export PLIMSOLL_MLFLOW_URL=.*", "tests/tracking runs a real MLflow", _is_a_setting),
    Elsewhere(
        r"kubectl port-forward -n plimsoll svc/plimsoll-page 8082",
        "docs/operations.md walks through the same, in longer words",
        _is_walked_in_long,
    ),
    Elsewhere(
        r"plimsoll import --prometheus \S+ .*",
        "tests/monitoring asks a real Prometheus; the options are those of --help",
        _asks_for_the_past,
    ),
    Elsewhere(
        r"nextflow run .*", "another's program; its traces are tested", _writes_what_is_converted
    ),
)


README = (
    Elsewhere(
        r"(helm (install|test) plimsoll .*|plimsoll (status|enforce) ?.*)",
        "the same is walked through in docs/install.md and docs/first-task.md",
        _is_of_install,
    ),
)
"""Only for README, which shows in short what the pages walk through."""


def entry_for(page: str, command: str) -> Elsewhere | None:
    """The entry that says why a command is not walked; None if there is none."""
    known = (*ELSEWHERE, *(README if page == "README.md" else ()))
    return next((each for each in known if each.takes(command)), None)
