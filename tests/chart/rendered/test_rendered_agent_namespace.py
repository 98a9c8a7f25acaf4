"""The namespace of the agents: made by the chart, never taken from others, never deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deploy.chart.rendering import NAME

from tests.chart.helm import Helm, named
from tests.chart.rendered.empty_clusters import a_cluster_with

VALUES: dict[str, Any] = {"agent": {"namespace": "monitoring"}, "persistence": {"enabled": False}}
OURS = {"meta.helm.sh/release-name": NAME, "meta.helm.sh/release-namespace": NAME}


def there(**metadata: Any) -> dict[str, Any]:
    return {"Namespace": [{"metadata": {"name": "monitoring", **metadata}}]}


def test_it_stays_with_all_that_others_put_into_it(helm: Helm) -> None:
    annotations = named(helm.render(VALUES), "Namespace", "monitoring")["metadata"]["annotations"]
    assert annotations["helm.sh/resource-policy"] == "keep"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(there(), id="without annotations"),
        pytest.param(there(annotations={**OURS, "meta.helm.sh/release-name": "x"}), id="another's"),
    ],
)
def test_one_of_others_is_refused(helm: Helm, tmp_path: Path, objects: dict[str, Any]) -> None:
    with a_cluster_with(tmp_path, objects) as kubeconfig:
        said = helm.against(kubeconfig, VALUES).stderr
    assert "agent.namespace is monitoring, which is there already" in said
    assert "set agent.createNamespace to false" in said


@pytest.mark.parametrize(
    ("objects", "agent"),
    [
        pytest.param({}, {}, id="none yet"),
        pytest.param(there(annotations=OURS), {}, id="that of this release"),
        pytest.param(
            there(
                labels={
                    "app.kubernetes.io/instance": NAME,
                    "app.kubernetes.io/component": "agent",
                }
            ),
            {},
            id="one that kubectl applied",
        ),
        pytest.param(there(), {"createNamespace": False}, id="one that is not made"),
        pytest.param(there(), {"enabled": False}, id="no agents"),
    ],
)
def test_its_own_and_one_that_is_not_made_are_taken(
    helm: Helm, tmp_path: Path, objects: dict[str, Any], agent: dict[str, Any]
) -> None:
    values = {**VALUES, "agent": {"namespace": "monitoring", **agent}}
    with a_cluster_with(tmp_path, objects) as kubeconfig:
        done = helm.against(kubeconfig, values)
    assert done.returncode == 0, done.stderr
