"""The local cluster's command line passes on words that are not its own."""

from __future__ import annotations

import pytest
from deploy.local.commands import read_command


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["-n", "shop", "get", "pods"], id="options before the verb"),
        pytest.param(["get", "pods", "-A"], id="options after it"),
        pytest.param(["--help"], id="its own help"),
        pytest.param([], id="nothing"),
    ],
)
def test_everything_after_kubectl_is_kubectls(words: list[str]) -> None:
    assert read_command(["kubectl", *words]).argv == words


def test_everything_after_enter_is_the_commands() -> None:
    words = ["pytest", "-q", "--", "tests/apiserver"]
    assert read_command(["enter", *words]).argv == words
