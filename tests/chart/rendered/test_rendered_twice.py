"""One Plimsoll in a cluster: a second one is not installed, and upgrades are not refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deploy.chart.rendering import NAME

from tests.chart.helm import Helm
from tests.chart.rendered.empty_clusters import a_cluster_with

VALUES: dict[str, Any] = {"persistence": {"enabled": False}}
OURS = {"meta.helm.sh/release-name": NAME, "meta.helm.sh/release-namespace": NAME}


def there(
    namespace: str = NAME,
    service: str = f"{NAME}-admission",
    webhook: str = "size.plimsoll.dev",
    **metadata: Any,
) -> dict[str, Any]:
    config = {"service": {"namespace": namespace, "name": service}}
    webhooks = [{"name": webhook, "clientConfig": config}]
    made = {"metadata": {"name": "sizes", **metadata}, "webhooks": webhooks}
    return {"MutatingWebhookConfiguration": [made]}


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(there("batch"), id="of another namespace"),
        pytest.param(there(service="sizer-plimsoll-admission"), id="of another name"),
        pytest.param(
            there("batch", annotations={**OURS, "meta.helm.sh/release-namespace": "batch"}),
            id="a release of this name in another namespace",
        ),
    ],
)
def test_a_second_one_is_refused(helm: Helm, tmp_path: Path, objects: dict[str, Any]) -> None:
    with a_cluster_with(tmp_path, objects) as kubeconfig:
        done = helm.against(kubeconfig, VALUES)
    assert done.returncode != 0
    assert "already (MutatingWebhookConfiguration sizes), and a cluster has one" in done.stderr


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param({}, id="no webhook"),
        pytest.param(there(), id="its own"),
        pytest.param(there("policies", "policies", "other.example"), id="of other software"),
        pytest.param(
            {"MutatingWebhookConfiguration": [{"metadata": {"name": "empty"}}]},
            id="one without webhooks",
        ),
        pytest.param(
            {
                "MutatingWebhookConfiguration": [
                    {
                        "metadata": {"name": NAME},
                        "webhooks": [
                            {"name": "size.plimsoll.dev", "clientConfig": {"url": "https://x/size"}}
                        ],
                    }
                ]
            },
            id="of a plimsoll run, outside",
        ),
    ],
)
def test_the_only_one_is_installed(helm: Helm, tmp_path: Path, objects: dict[str, Any]) -> None:
    with a_cluster_with(tmp_path, objects) as kubeconfig:
        done = helm.against(kubeconfig, VALUES)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("objects", "unlisted"),
    [
        pytest.param(there(), (), id="its own"),
        pytest.param(there(service="old-admission"), (), id="its own, renamed"),
        pytest.param(
            there(), ("MutatingWebhookConfiguration",), id="its own, by one who sees none"
        ),
    ],
)
def test_it_is_upgraded(
    helm: Helm, tmp_path: Path, objects: dict[str, Any], unlisted: tuple[str, ...]
) -> None:
    with a_cluster_with(tmp_path, objects, unlisted) as kubeconfig:
        done = helm.against(kubeconfig, VALUES, "--is-upgrade")
    assert done.returncode == 0, done.stderr


def test_who_may_not_see_webhooks_does_not_install_it(helm: Helm, tmp_path: Path) -> None:
    with a_cluster_with(tmp_path, {}, ("MutatingWebhookConfiguration",)) as kubeconfig:
        done = helm.against(kubeconfig, VALUES)
    assert done.returncode != 0
    assert "error calling lookup" in done.stderr
