"""What the API server says of resizing pods."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.kube.resizing import read_resizing

SERVER = {"major": "1", "minor": "35", "gitVersion": "v1.35.4"}
RESOURCES = {"resources": [{"name": "pods/resize", "verbs": ["get", "patch", "update"]}]}


@pytest.mark.parametrize(
    ("version", "resources", "words"),
    [
        pytest.param(SERVER, RESOURCES, None, id="1.35"),
        pytest.param({"major": "1", "minor": "33+"}, RESOURCES, None, id="a vendor's 1.33+"),
        pytest.param({"major": "2", "minor": "0"}, RESOURCES, None, id="2.0"),
        pytest.param(
            {**SERVER, "minor": "32"}, RESOURCES, "from 1.33 on", id="1.32, behind a gate"
        ),
        pytest.param({}, RESOURCES, "unknown version", id="no version"),
        pytest.param(SERVER, {"resources": []}, "no pods/resize", id="no subresource"),
        pytest.param(
            SERVER,
            {"resources": [{"name": "pods/resize", "verbs": ["get"]}]},
            "no pods/resize",
            id="a subresource that cannot be patched",
        ),
        pytest.param(SERVER, {}, "no pods/resize", id="an answer of another shape"),
    ],
)
def test_an_api_server_that_cannot_resize_is_named(
    version: dict[str, str], resources: dict[str, Any], words: str | None
) -> None:
    why = read_resizing(version, resources).why_not
    assert why is None if words is None else words in (why or "")
