"""`plimsoll enforce`, `pause` and the like, where they do not do what they seem to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plimsoll_operator.commands.modes import enforce, pause
from plimsoll_operator.commands.modes.enforce import mode_command
from plimsoll_operator.commands.modes.pause import pause_command
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import custom_path
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.names import labels
from plimsoll_operator.names.namespaces import excluded_namespaces, selector_of
from plimsoll_predictor.core.policy import Mode
from tests.builders.kubernetes.cluster_status import a_profile, a_webhook
from tests.builders.kubernetes.objects_by_path import Objects

HERE = Installation(installed_in="plimsoll")
CLUSTER = custom_path("sizingpolicies", "plimsoll", "cluster")
SHOP = custom_path("sizingpolicies", "shop", "default")
TRAIN = custom_path("taskprofiles", "shop", "train")
REACH = (
    "for pods created from now on, and for those that wait for a node (Kubernetes 1.33 or newer)"
)


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Objects:
    """A cluster with the task shop/train."""
    there = Objects({TRAIN: a_profile("train"), SHOP: {"spec": {}}, CLUSTER: {"spec": {}}})

    @asynccontextmanager
    async def reached(_: Installation) -> AsyncIterator[Objects]:
        yield there

    for module in (enforce, pause):
        monkeypatch.setattr(module, "cluster_objects", reached)
    return there


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (CLUSTER, "it is paused by SizingPolicy plimsoll/cluster; `plimsoll resume` ends that"),
        (SHOP, "it is paused by SizingPolicy shop/default; `plimsoll resume -n shop` ends that"),
        (TRAIN, "it is paused by TaskProfile shop/train; `plimsoll resume shop/train` ends that"),
    ],
)
def test_what_is_paused_is_not_said_to_be_enforced_at_once(
    objects: Objects, capsys: pytest.CaptureFixture[str], path: str, words: str
) -> None:
    objects.kept[path]["spec"]["paused"] = True
    for _ in range(2):
        assert mode_command(Mode.ENFORCE, "shop/train", None, HERE, ask=False) == 0
        said = capsys.readouterr().out
        assert words in said.splitlines()[-1]
        assert "created from now on" not in said
    assert objects.kept[TRAIN]["spec"]["mode"] == "enforce"


def test_a_namespace_that_is_paused_is_not_said_to_be_enforced(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.kept[SHOP]["spec"]["paused"] = True
    assert mode_command(Mode.ENFORCE, None, "shop", HERE, ask=False) == 0
    assert "paused by SizingPolicy shop/default" in capsys.readouterr().out


@pytest.mark.parametrize("hidden", [set(), {CLUSTER}])
def test_without_a_pause_it_is_for_new_pods_and_those_that_wait(
    objects: Objects, capsys: pytest.CaptureFixture[str], hidden: set[str]
) -> None:
    objects.hidden = hidden
    assert mode_command(Mode.ENFORCE, "shop/train", None, HERE, ask=False) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"done: TaskProfile shop/train has mode enforce, {REACH}\n")
    assert "paused" not in said
    assert "known yet" not in said


def excluding(*namespaces: str) -> dict[str, Any]:
    """The webhook configuration of an installation that leaves these alone."""
    sizes = {"matchExpressions": [{"key": labels.TASK, "operator": "Exists"}]}
    selector = selector_of(excluded_namespaces(namespaces, "plimsoll"))
    configuration: dict[str, Any] = a_webhook(objectSelector=sizes, namespaceSelector=selector)
    return configuration


@pytest.mark.parametrize(("task", "namespace"), [(None, "shop"), ("shop/train", None)])
def test_a_namespace_that_is_left_alone_is_not_said_to_be_enforced(
    objects: Objects, capsys: pytest.CaptureFixture[str], task: str | None, namespace: str | None
) -> None:
    objects.kept[f"{WEBHOOKS}/plimsoll"] = excluding("shop")
    for _ in range(2):
        assert mode_command(Mode.ENFORCE, task, namespace, HERE, ask=False) == 0
        said = capsys.readouterr().out
        assert "; Plimsoll leaves namespace shop alone" in said.splitlines()[-1]
        assert "created from now on" not in said
    assert mode_command(Mode.OFF, task, namespace, HERE, ask=False) == 0
    assert "leaves namespace" not in capsys.readouterr().out


@pytest.mark.parametrize("hidden", [set(), {WEBHOOKS}])
def test_a_namespace_that_is_not_left_alone_or_may_not_be_known_as_such_is_enforced(
    objects: Objects, capsys: pytest.CaptureFixture[str], hidden: set[str]
) -> None:
    """One of two installations sizes its pods, or nobody may read which namespaces are left out."""
    objects.hidden = hidden
    objects.kept[f"{WEBHOOKS}/plimsoll"] = excluding("shop")
    objects.kept[f"{WEBHOOKS}/plimsoll-two"] = excluding("lab")
    assert mode_command(Mode.ENFORCE, None, "shop", HERE, ask=False) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"done: SizingPolicy shop/default has mode enforce, {REACH}\n")


@pytest.mark.parametrize("mode", [Mode.RECOMMEND, Mode.OFF])
def test_only_enforce_is_said_to_change_pods_that_wait(
    objects: Objects, capsys: pytest.CaptureFixture[str], mode: Mode
) -> None:
    assert mode_command(mode, "shop/train", None, HERE, ask=False) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"has mode {mode.value}, for pods created from now on\n")
    assert "wait for a node" not in said
    assert mode_command(Mode.ENFORCE, "shop/train", None, HERE, ask=False) == 0
    before_it_asks = capsys.readouterr().out.partition("done:")[0]
    assert "pods that wait for a node are sized, too" in before_it_asks


def test_what_is_resumed_and_still_paused_above_is_told(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.kept[SHOP]["spec"]["paused"] = objects.kept[TRAIN]["spec"]["paused"] = True
    assert pause_command("shop/train", None, HERE, paused=False) == 0
    said = capsys.readouterr().out
    assert "it is paused by SizingPolicy shop/default; `plimsoll resume -n shop`" in said
    assert "TaskProfile shop/train; `plimsoll" not in said
    assert pause_command(None, "shop", HERE, paused=False) == 0
    assert "it is paused" not in capsys.readouterr().out


def test_a_misspelt_task_is_set_and_said_to_be_unknown(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "no task of the name shop/trian is known yet; near: train"
    for _ in range(2):
        assert pause_command("shop/trian", None, HERE, paused=True) == 0
        assert words in capsys.readouterr().out
    assert mode_command(Mode.OFF, "shop/trian", None, HERE, ask=False) == 0
    assert words in capsys.readouterr().out
    spec = objects.kept[custom_path("taskprofiles", "shop", "trian")]["spec"]
    assert spec == {"paused": True, "mode": "off"}


def test_a_task_that_is_near_no_other_is_said_to_be_unknown(
    objects: Objects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pause_command("shop/zzz", None, HERE, paused=True) == 0
    said = capsys.readouterr().out
    assert "no task of the name shop/zzz is known yet; it holds from its first pod on" in said
    assert pause_command("shop/train", None, HERE, paused=True) == 0
    assert "known yet" not in capsys.readouterr().out
