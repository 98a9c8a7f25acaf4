"""Where a store's command runs: which pod is chosen, and how its end is reported."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plimsoll_operator.commands.past_runs.history_files import given_history
from plimsoll_operator.commands.reaching.leading_pod import NoLeader, choose
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.kube.pod_exec import Broken, PodContainer, exit_status
from plimsoll_predictor.tables.cells import TableError

LEADS = {"plimsoll.dev/leader": "true"}


def a_controller_pod(name: str = "a", *, phase: str = "Running", **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "plimsoll", "labels": {}, **meta},
        "spec": {"containers": [{"name": "proxy"}, {"name": "controller"}]},
        "status": {"phase": phase, "startTime": "2026-10-01T00:00:00Z"},
    }


def test_the_pod_that_leads_is_chosen_and_its_controller_container() -> None:
    pods = [a_controller_pod("a"), a_controller_pod("b", labels=LEADS)]
    assert choose(pods, "the cluster") == PodContainer("plimsoll", "b", "controller")


def test_the_default_container_is_the_one_that_people_named() -> None:
    named = {"kubectl.kubernetes.io/default-container": "proxy"}
    pod = a_controller_pod(labels=LEADS, annotations=named)
    assert choose([pod], "the cluster").container == "proxy"


def test_of_two_labels_in_a_change_of_leader_the_younger_pod_is_chosen() -> None:
    old, new = a_controller_pod("old", labels=LEADS), a_controller_pod("new", labels=LEADS)
    new["status"]["startTime"] = "2026-10-01T00:01:00Z"
    assert choose([new, old], "the cluster").name == "new"


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        pytest.param([], "no Plimsoll controller in the cluster; name its", id="none"),
        pytest.param([a_controller_pod()], "no controller leads .*a stands by", id="standing by"),
        pytest.param(
            [a_controller_pod(phase="Pending", labels=LEADS)], "a Pending", id="not running yet"
        ),
        pytest.param(
            [a_controller_pod(), a_controller_pod(namespace="other", labels=LEADS)],
            "installed in other and plimsoll; name one with --installed-in",
            id="two installations",
        ),
    ],
)
def test_no_pod_to_ask_says_what_there_is_and_what_to_do(pods: list[Any], words: str) -> None:
    with pytest.raises(NoLeader, match=words):
        choose(pods, "the cluster")


def test_the_end_of_a_command_is_its_exit_status() -> None:
    failed = {
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }
    assert exit_status(b'{"status": "Success"}', "pod a") == 0
    assert exit_status(json.dumps(failed).encode(), "pod a") == 3


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        pytest.param(b"\xff", Broken, "nothing tells how", id="not JSON"),
        pytest.param(
            b'{"status": "Failure", "message": "no such file: python"}',
            Refused,
            "cannot run it: no such file: python",
            id="never started",
        ),
    ],
)
def test_an_end_without_an_exit_status_is_an_error(
    said: bytes, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        exit_status(said, "pod a")


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Standard input that another process writes to and, like exec's, never ends."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", 0) as source, os.fdopen(writing, "wb", 0) as writer:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=source))
        yield writer


def test_a_history_by_standard_input_is_read_as_far_as_was_promised(sender: Any) -> None:
    sender.write(b"task\nmore")
    with given_history(Path("-"), 5) as path:
        assert path.read_bytes() == b"task\n"
    assert not path.exists()


def test_a_history_that_breaks_off_is_not_taken_in_by_halves(sender: Any) -> None:
    sender.write(b"task\n")
    sender.close()
    with pytest.raises(TableError, match="only 5 of 9 bytes"), given_history(Path("-"), 9):
        pass
