"""Lists the objects of an installation, whatever name people gave to its chart."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.names.labels import COMPONENT, PRODUCT, RENAMED


async def product_objects(
    objects: ApiServer, path: str, component: str | None = None
) -> list[dict[str, Any]]:
    """Return Plimsoll's own objects of this kind. component: None for all.

    Those of a chart with another ``nameOverride`` count only if there are no others.
    """
    of = "" if component is None else f",{COMPONENT}={component}"
    found = await objects.items(path, {"labelSelector": f"{PRODUCT}{of}"})
    return found or await objects.items(path, {"labelSelector": f"{RENAMED}{of}"})
