"""`plimsoll status`: the command that makes again what is missing, as it was installed."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.commands.status.checks import checks_of
from plimsoll_operator.names.labels import INSTANCE
from tests.builders.kubernetes.cluster_status import NOW_S, a_deployment, what_is_seen


def todo_of(name: str, **changes: Any) -> str:
    [check] = [each for each in checks_of(what_is_seen(**changes), NOW_S) if each.name == name]
    return check.todo or ""


def of_release(deployment: Any, release: str) -> Any:
    deployment["metadata"]["labels"] |= {INSTANCE: release}
    return deployment


@pytest.mark.parametrize(
    ("name", "left", "changes"),
    [
        ("webhook", "controller", {"webhooks": []}),
        ("controller", "admission", {}),
        ("admission", "controller", {}),
    ],
)
def test_what_is_missing_is_made_again_in_the_release_and_namespace_that_are_there(
    name: str, left: str, changes: dict[str, Any]
) -> None:
    """The chart refuses `--reuse-values` with an older chart's values (`_checks.tpl`)."""
    deployments = [of_release(a_deployment(left), "sizes")]
    assert todo_of(name, deployments=deployments, installed_in="ops", **changes) == (
        "helm upgrade sizes helm/plimsoll --namespace ops --reset-then-reuse-values makes it again"
    )


def test_without_a_label_of_its_release_the_usual_name_is_told() -> None:
    told = todo_of("webhook", webhooks=[], installed_in=None)
    assert told.startswith("helm upgrade plimsoll helm/plimsoll --namespace plimsoll ")
