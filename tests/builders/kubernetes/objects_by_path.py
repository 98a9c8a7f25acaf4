"""An API server's objects in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.kube.errors import NotFound, Refused


@dataclass
class Objects:
    """An API server's objects by their paths. hidden: paths that may not be read."""

    kept: dict[str, Any] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    async def get(self, path: str) -> Any:
        if path in self.hidden:
            raise Refused("forbidden")
        if path not in self.kept:
            raise NotFound(path)
        return self.kept[path]

    async def items(self, path: str, _: Mapping[str, str] | None = None) -> list[Any]:
        if path in self.hidden:
            raise Refused("forbidden")
        return [each for name, each in self.kept.items() if name.startswith(f"{path}/")]

    async def patch(self, path: str, body: Mapping[str, Any]) -> None:
        spec = {**(await self.get(path))["spec"], **body["spec"]}
        self.kept[path]["spec"] = {name: value for name, value in spec.items() if value is not None}

    async def create(self, path: str, body: Mapping[str, Any]) -> None:
        self.kept[f"{path}/{body['metadata']['name']}"] = dict(body)
