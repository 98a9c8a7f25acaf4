"""Commands find an installation by its labels, whatever name its chart was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.leading_pod import find_leading_pod, find_namespace
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.names import labels

NAMED = {labels.NAME: "plimsoll", labels.COMPONENT: "controller"}
RENAMED = {labels.NAME: "load-line", labels.COMPONENT: "controller", labels.RENAMED: "true"}
OF_OTHERS = {labels.NAME: "cert-manager", labels.COMPONENT: "controller"}
LEADS = {labels.LEADER: "true"}


class Cluster:
    """An API server that selects by labels, with a controller for each of these labels."""

    def __init__(self, **controllers: Mapping[str, str]) -> None:
        self.controllers = controllers

    async def items(self, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        assert path.endswith(("/pods", "/deployments"))
        wanted = [each.partition("=") for each in query["labelSelector"].split(",")]
        return [
            {
                "metadata": {"name": "c", "namespace": namespace, "labels": {**of, **LEADS}},
                "spec": {"containers": [{"name": "controller"}]},
                "status": {"phase": "Running"},
            }
            for namespace, of in self.controllers.items()
            if all(key in of and (not equal or of[key] == is_) for key, equal, is_ in wanted)
        ]


@pytest.mark.parametrize("own", [NAMED, RENAMED], ids=["the chart's name", "another name"])
async def test_the_controller_is_found_by_the_product_and_not_by_its_component_alone(
    own: Mapping[str, str],
) -> None:
    objects = cast(ApiServer, Cluster(sizer=own, certificates=OF_OTHERS))
    assert await find_namespace(objects, Installation()) == "sizer"
    assert (await find_leading_pod(objects, Installation())).namespace == "sizer"


async def test_another_name_counts_only_where_nothing_has_the_charts_own() -> None:
    objects = cast(ApiServer, Cluster(plimsoll=NAMED, sizer=RENAMED))
    assert await find_namespace(objects, Installation()) == "plimsoll"
