"""The Dockerfile's promises, as far as its text can tell; test_image.py runs the built image."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

import pytest
from deploy.local.layout import CHECKOUT

# Instructions, and options of them, that Docker's builders and buildah 1.28 read alike.
KNOWN = {
    "ARG": set[str](),
    "FROM": set[str](),
    "RUN": {"--mount"},
    "COPY": {"--from"},
    "ENV": set[str](),
    "USER": set[str](),
    "WORKDIR": set[str](),
    "ENTRYPOINT": set[str](),
    "CMD": set[str](),
    "LABEL": set[str](),
}


@dataclass(frozen=True)
class Instruction:
    stage: str
    name: str
    rest: str


def instructions() -> list[Instruction]:
    """All of the Dockerfile in order, continued lines joined, each with the stage it is in."""
    text = (CHECKOUT / "Dockerfile").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found: list[Instruction] = []
    stage = ""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if not line.strip():
            continue
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stage = rest.split(" AS ")[1]
        found.append(Instruction(stage, name, rest.strip()))
    return found


def those(name: str, stage: str | None = None) -> list[str]:
    return [i.rest for i in instructions() if i.name == name and stage in (None, i.stage)]


def test_docker_and_buildah_read_every_instruction_alike() -> None:
    for instruction in instructions():
        options = {word.partition("=")[0] for word in re.findall(r"--[a-z]+=\S+", instruction.rest)}
        own = options if instruction.name != "RUN" else options & {"--mount", "--network"}
        assert instruction.name in KNOWN, instruction
        assert own <= KNOWN[instruction.name], instruction
        assert "<<" not in instruction.rest, "a here-document, which buildah 1.28 cannot read"


def test_no_builder_is_fetched_that_nobody_pinned() -> None:
    assert "syntax=" not in (CHECKOUT / "Dockerfile").read_text()


def test_secrets_are_the_only_mounts_and_none_is_copied() -> None:
    mounts = [m for rest in those("RUN") for m in re.findall(r"--mount=(\S+)", rest)]
    assert mounts
    assert all(mount.startswith("type=secret,") for mount in mounts)
    assert not [rest for rest in those("COPY") if "pip.conf" in rest or "secrets" in rest]


def test_every_stage_is_of_the_pinned_base_or_of_one_before_it_or_of_nothing() -> None:
    base = those("ARG")[0]
    assert re.fullmatch(r"BASE=python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", base)
    before = {"${BASE}", "scratch"}
    for rest in those("FROM"):
        source, stage = rest.split(" AS ")
        assert source in before, rest
        before.add(stage)


def test_every_package_is_pinned_by_hash() -> None:
    installs = [
        part
        for rest in those("RUN")
        for part in rest.split("&&")
        if "pip" in part and (" install " in part or " wheel " in part)
    ]
    assert len(installs) >= 4
    for part in installs:
        assert "--require-hashes" in part or "--no-index" in part, part
        assert "--no-cache-dir" in part, part
    assert not re.search(r"\b(apt-get|apk|curl|wget|ADD)\b", " ".join(those("RUN")))


@pytest.mark.parametrize("name", ["build", "runtime", "demo"])
def test_every_line_of_a_lock_has_hashes(name: str) -> None:
    text = (CHECKOUT / "requirements" / f"{name}.lock").read_text().replace("\\\n", " ")
    pinned = [line for line in text.splitlines() if line and line[0].isalnum()]
    assert pinned
    assert all(re.match(r"\S+==\S+ .*--hash=sha256:", line) for line in pinned)


@pytest.mark.parametrize("stage", ["plimsoll", "demo"])
def test_what_runs_is_a_numeric_user_that_is_not_root(stage: str) -> None:
    assert those("USER", stage) == ["65532:65532"]


def test_the_image_is_made_from_nothing_so_that_what_was_taken_out_is_in_no_layer() -> None:
    assert "scratch AS plimsoll" in those("FROM")
    assert not those("RUN", "plimsoll")


def test_its_entry_point_takes_a_command_and_imports_nothing_of_the_working_folder() -> None:
    assert those("ENTRYPOINT", "plimsoll") == ['["python", "-P", "-m", "plimsoll_operator"]']


def test_its_labels_say_what_it_is_and_agree_with_the_project() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    [labels] = those("LABEL", "plimsoll")
    said = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', labels))
    assert said["licenses"] == project["license"]
    assert said["description"] == project["description"]
    assert {"title", "source", "revision", "created"} <= said.keys()
    assert f"VERSION={project['version']}" in those("ARG", "plimsoll")
