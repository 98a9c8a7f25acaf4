"""`plimsoll pause` of the whole cluster: it says so only where it holds, and finds the place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from plimsoll_operator.commands.modes import pause
from plimsoll_operator.commands.modes.pause import pause_command
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import APPS, custom_path, path_of
from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.processes.run_webhook import webhook_configuration
from tests.builders.kubernetes.cluster_status import a_deployment, a_webhook
from tests.builders.kubernetes.objects_by_path import Objects

OURS = custom_path("sizingpolicies", "plimsoll", "cluster")
WRONG = custom_path("sizingpolicies", "live", "cluster")
EVERYWHERE = path_of(APPS, "deployments")
IN_CHART = {
    f"{EVERYWHERE}/controller": a_deployment("controller"),
    f"{WEBHOOKS}/plimsoll": a_webhook(clientConfig={"service": {"name": "admission"}}),
}
BESIDE = {f"{WEBHOOKS}/plimsoll": webhook_configuration("https://127.0.0.1:9443", b"authority")}


class WithoutNamespaces(Objects):
    """A cluster that has no namespace of Plimsoll's."""

    async def create(self, path: str, _body: Mapping[str, Any]) -> None:
        namespace = path.partition("/namespaces/")[2].partition("/")[0]
        raise NotFound(f'namespaces "{namespace}" not found')


def a_cluster(monkeypatch: pytest.MonkeyPatch, objects: Objects) -> Objects:
    @asynccontextmanager
    async def reached(_: Installation) -> AsyncIterator[Objects]:
        yield objects

    monkeypatch.setattr(pause, "cluster_objects", reached)
    return objects


def paused(installed_in: str | None = None, *, resumes: bool = False) -> int:
    return pause_command(None, None, Installation(installed_in=installed_in), paused=not resumes)


@pytest.mark.parametrize("installation", [IN_CHART, BESIDE], ids=["by the chart", "beside it"])
@pytest.mark.parametrize("resumes", [False, True])
def test_a_namespace_that_is_not_plimsolls_is_refused_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    installation: dict[str, Any],
    resumes: bool,
) -> None:
    cluster = a_cluster(monkeypatch, Objects(dict(installation)))
    assert paused("live", resumes=resumes) == 1
    said = capsys.readouterr()
    assert "live is not Plimsoll's own namespace" in said.err
    assert "Plimsoll's is plimsoll" in said.err
    assert said.out == ""
    assert cluster.kept == installation


@pytest.mark.parametrize("installation", [IN_CHART, BESIDE], ids=["by the chart", "beside it"])
@pytest.mark.parametrize("named", [None, "plimsoll"])
def test_plimsolls_own_namespace_is_found_and_believed(
    monkeypatch: pytest.MonkeyPatch, installation: dict[str, Any], named: str | None
) -> None:
    cluster = a_cluster(monkeypatch, Objects(dict(installation)))
    assert paused(named) == 0
    assert cluster.kept[OURS]["spec"] == {"paused": True}


@pytest.mark.parametrize(
    ("theirs", "status"),
    [
        pytest.param({}, 1, id="no controller is there"),
        pytest.param({"controller": a_deployment("controller")}, 0, id="one is there"),
    ],
)
def test_who_may_look_into_the_named_namespace_alone_is_told_by_it(
    monkeypatch: pytest.MonkeyPatch, theirs: dict[str, Any], status: int
) -> None:
    there = {f"{path_of(APPS, 'deployments', 'live')}/{name}": o for name, o in theirs.items()}
    cluster = a_cluster(monkeypatch, Objects(there, hidden={EVERYWHERE}))
    assert paused("live") == status
    assert (WRONG in cluster.kept) is (status == 0)


def test_who_may_not_read_the_webhook_is_told_by_what_is_in_the_named_namespace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kubernetes' roles view and edit list Deployments everywhere, and no webhooks."""
    hidden = {f"{WEBHOOKS}/plimsoll"}
    cluster = a_cluster(monkeypatch, Objects(dict(BESIDE), hidden=hidden))
    assert paused("live") == 1
    assert "live is not Plimsoll's own namespace" in capsys.readouterr().err
    assert WRONG not in cluster.kept
    assert (paused(), paused("plimsoll")) == (0, 0)
    assert cluster.kept[OURS]["spec"] == {"paused": True}


@pytest.mark.parametrize(("task", "namespace"), [("shpo/train", None), (None, "shpo")])
def test_nobody_is_told_to_make_a_namespace_whose_name_was_mistyped(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    task: str | None,
    namespace: str | None,
) -> None:
    a_cluster(monkeypatch, WithoutNamespaces(dict(BESIDE)))
    assert pause_command(task, namespace, Installation(), paused=True) == 1
    said = capsys.readouterr().err
    assert "not found" in said
    assert "create namespace" not in said


def test_who_may_look_nowhere_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = {EVERYWHERE, path_of(APPS, "deployments", "live")}
    cluster = a_cluster(monkeypatch, Objects(hidden=hidden))
    assert (paused("live"), paused()) == (0, 0)
    assert {WRONG, OURS} <= cluster.kept.keys()


def test_without_any_installation_a_name_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_cluster(monkeypatch, Objects())
    assert paused() == 1
    assert "--installed-in" in capsys.readouterr().err


def test_a_namespace_that_is_missing_is_told_how_to_be_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A `plimsoll run` needs none, so nobody has made it."""
    a_cluster(monkeypatch, WithoutNamespaces(dict(BESIDE)))
    assert paused() == 1
    assert "make it with `kubectl create namespace plimsoll`" in capsys.readouterr().err
