"""A test's kubectl does not give up after the 30 s that it waits by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from deploy.local.layout import Layout
from deploy.local.lifecycle import Cluster as Handle

from tests.conftest import Cluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster whose kubectl prints its words."""
    monkeypatch.setattr(Handle, "kubectl", lambda _, *words: ["echo", *words])
    return Cluster(Handle(Layout(tmp_path), {}))


def test_a_wait_without_a_bound_is_refused(cluster: Cluster) -> None:
    with pytest.raises(AssertionError, match="unless it is told"):
        cluster.kubectl("wait", "--for=delete", "pod", "-n", "shop")


@pytest.mark.parametrize("words", [("wait", "pod/one", "--timeout=240s"), ("get", "pods")])
def test_everything_else_is_run(cluster: Cluster, words: tuple[str, ...]) -> None:
    assert cluster.kubectl(*words) == " ".join(words) + "\n"
