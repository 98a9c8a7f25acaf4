"""`plimsoll campaign create`: what it says of a file that holds no campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.commands.campaigns.create import create_command
from plimsoll_operator.commands.reaching.installation import Installation


@pytest.mark.parametrize(
    "metadata",
    [
        "learn",
        "[learn]",
        "{}",
        "{name: learn}",
        "{name: learn, namespace: 5}",
        "{name: [a], namespace: b}",
    ],
)
def test_a_campaign_without_a_name_and_a_namespace_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metadata: str
) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text(f"kind: ProfilingCampaign\nmetadata: {metadata}\n")
    assert create_command(file, None, Installation(), watch=False) == 1
    assert "name it in metadata.name, and its namespace with --namespace" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"\x89PNG\xff\xfe", "is no text in UTF-8", id="an image"),
        pytest.param(b"a: [1", "is no YAML: ", id="torn"),
        pytest.param(b"[" * 3000, "nests too deeply", id="nested"),
    ],
)
def test_a_file_that_is_no_campaign_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(content)
    assert create_command(file, "shop", Installation(), watch=False) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"plimsoll campaign create: {file} {words}" in said
    assert "unicode string" not in said


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "none.yaml"
    assert create_command(file, "shop", Installation(), watch=False) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"plimsoll campaign create: {file} cannot be read: No such file or directory" in said
