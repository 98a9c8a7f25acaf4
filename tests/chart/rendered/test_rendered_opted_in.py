"""An upgrade leaves the namespaces that the controller wrote into the webhooks' selectors.

Helm 4 applies on the server's side, so another value would be a conflict with the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from deploy.chart.rendering import NAME

from plimsoll_operator.credentials.opted_in import BY_POLICY, selectors_for
from tests.chart.helm import Document, Helm, documents_in, named
from tests.chart.rendered.empty_clusters import a_cluster_with

KIND = "MutatingWebhookConfiguration"
# Names that YAML reads as something else.
NAMES = ["123", "lab", "null", "shop"]
WITHOUT_VOLUME = {"persistence": {"enabled": False}}


def configuration(helm: Helm) -> Document:
    return named(helm.render({}), KIND, NAME)


def kept(written: Document, namespaces: list[str]) -> Document:
    """The configuration after a look of the leading controller."""
    changes = {each["name"]: each for each in selectors_for(written, namespaces)}
    webhooks = [{**each, **changes.get(each["name"], {})} for each in written["webhooks"]]
    return {**written, "webhooks": webhooks}


def upgraded(helm: Helm, folder: Path, live: Mapping[str, Any]) -> Document:
    """What an upgrade applies where the cluster has this configuration."""
    with a_cluster_with(folder, {KIND: [live]}) as kubeconfig:
        done = helm.against(kubeconfig, WITHOUT_VOLUME, "--is-upgrade")
    assert done.returncode == 0, done.stderr
    return named(documents_in(done.stdout), KIND, NAME)


@pytest.mark.parametrize("namespaces", [[], ["shop"], NAMES], ids=["none", "one", "odd names"])
def test_an_upgrade_applies_the_selectors_that_are_there(
    helm: Helm, tmp_path: Path, namespaces: list[str]
) -> None:
    live = kept(configuration(helm), namespaces)
    assert upgraded(helm, tmp_path, live)["webhooks"] == live["webhooks"]


def test_each_webhook_keeps_its_own(helm: Helm, tmp_path: Path) -> None:
    live = kept(configuration(helm), ["shop"])
    (first, *_) = (each for each in live["webhooks"] if each["name"] in BY_POLICY)
    first["namespaceSelector"]["matchExpressions"][-1]["values"] = ["lab"]
    assert upgraded(helm, tmp_path, live)["webhooks"] == live["webhooks"]


@pytest.mark.parametrize(
    "webhooks",
    [
        pytest.param(None, id="no webhook"),
        pytest.param([{"name": "recognise-by-policy.plimsoll.dev"}], id="no selector"),
        pytest.param([{"name": "size.plimsoll.dev"}], id="of an older chart"),
    ],
)
def test_where_nothing_was_written_nobody_is_selected(
    helm: Helm, tmp_path: Path, webhooks: Any
) -> None:
    live = {"metadata": {"name": NAME}, "webhooks": webhooks}
    assert upgraded(helm, tmp_path, live) == configuration(helm)
