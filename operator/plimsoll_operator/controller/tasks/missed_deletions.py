"""Finds objects that are gone though the watch never said so.

If an API server is away for long, the watch begins again with a list of what there is. What was
deleted meanwhile is not in it, and no event says that it is gone. Such a node would stay the best
one for every pod, because nothing runs on it; such a pod would take room for ever; such a policy
would still be obeyed. The same goes for a pod whose label was removed: the watch leaves it out.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from plimsoll_operator.kube.api_server import CORE, ApiServer, custom_path, path_of
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import metadata_of, spec_of
from plimsoll_operator.pods.status import has_final_phase

log = structlog.get_logger()

LIST_EVERY_S: Final = 60.0
SHARE: Final = 0.01
"""Lists take at most this share of the time: in a large cluster, they are made less often."""

MOST_BYTES: Final = 8192
"""Of a larger pod, only the name, the labels and the node are kept: its end is not observed."""

PODS: Final = path_of(CORE, "pods")
NODES: Final = path_of(CORE, "nodes")
POLICIES: Final = custom_path("sizingpolicies")
PROFILES: Final = custom_path("taskprofiles")
LIMIT_RANGES: Final = path_of(CORE, "limitranges")
QUOTAS: Final = path_of(CORE, "resourcequotas")
QUERIES: Final[Mapping[str, Mapping[str, str]]] = {PODS: {"labelSelector": labels.TASK}}

Object = Mapping[str, Any]
See = Callable[[Object], Awaitable[None]]


@dataclass(slots=True)
class LastSeen:
    """Objects as the watch showed them last, by their lists' paths and their UIDs.

    A pod that is over is left out: it takes nothing any more. Others of 4 KB take about 1 KB each,
    and none more than MOST_BYTES. Of all but pods, the status is left out.
    """

    _packed: defaultdict[str, dict[str, bytes]] = field(
        default_factory=lambda: defaultdict(dict), init=False
    )

    def see(self, path: str, document: Object, *, gone: bool) -> None:
        """Note an object of a list, as often as it is seen."""
        uid = metadata_of(document).get("uid")
        if not isinstance(uid, str):
            return
        if gone or (path == PODS and has_final_phase(document)):
            self._packed[path].pop(uid, None)
        else:
            self._packed[path][uid] = _packed(path, document)

    def uids(self, path: str) -> set[str]:
        """Return the UIDs of a list's objects."""
        return set(self._packed[path])

    def forget(self, path: str, uid: str) -> Object | None:
        """Forget an object. Return it as it was seen last; None if it is gone by now."""
        packed = self._packed[path].pop(uid, None)
        return None if packed is None else json.loads(zlib.decompress(packed))


class MissedDeletions:
    """Lists each kind of object now and then. see_gone: by list, called with what is gone."""

    def __init__(self, api: ApiServer, last_seen: LastSeen, see_gone: Mapping[str, See]) -> None:
        self._api = api
        self._last_seen = last_seen
        self._see_gone = see_gone
        self._missing: dict[str, set[str]] = {}
        self._took_s = 0.0

    async def run(self) -> None:
        """List until cancelled."""
        while True:
            await asyncio.sleep(max(LIST_EVERY_S, self._took_s / SHARE))
            began_s = time.monotonic()
            for path in self._see_gone:
                await self.look(path)
            self._took_s = time.monotonic() - began_s

    async def look(self, path: str) -> None:
        """List once. What two lists in a row lack is gone: the watch has had its time to say so."""
        known = self._last_seen.uids(path)
        if not known:
            return
        try:
            there = await self._api.names(path, QUERIES.get(path))
        except ApiError as error:
            log.warning("a list cannot be read", path=path, error=str(error))
            return
        missing, names = known - there.keys(), set(there.values())
        for uid in sorted(missing & self._missing.get(path, set())):
            document = self._last_seen.forget(path, uid)
            # If another object has its name, nothing that goes by names is gone.
            if document is not None and (path == PODS or _name_of(document) not in names):
                log.info("gone, as no event said", path=path, name=_name_of(document))
                await self._see_gone[path](document)
        self._missing[path] = missing


def _packed(path: str, document: Object) -> bytes:
    if path != PODS:
        # A TaskProfile's status is large, and new every few seconds.
        return _pack(_named(document) | {"spec": document.get("spec")})
    meta = {name: value for name, value in metadata_of(document).items() if name != "managedFields"}
    packed = _pack({**document, "metadata": meta})
    if len(packed) <= MOST_BYTES:
        return packed
    return _pack(_named(document) | {"spec": {"nodeName": spec_of(document).get("nodeName")}})


def _pack(document: Object) -> bytes:
    # json, and not orjson: a pod's texts may have half a surrogate pair.
    return zlib.compress(json.dumps(document).encode(), 1)


def _named(document: Object) -> dict[str, Any]:
    meta = metadata_of(document)
    names = ("namespace", "name", "uid", "labels")
    return {"metadata": {name: meta[name] for name in names if name in meta}}


def _name_of(document: Object) -> str:
    meta = metadata_of(document)
    return f"{meta.get('namespace')}/{meta.get('name')}"
