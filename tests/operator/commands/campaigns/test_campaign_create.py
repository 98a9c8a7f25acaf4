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
