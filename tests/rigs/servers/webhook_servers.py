"""Somebody else's mutating webhooks over real TLS on loopback, and configurations of webhooks."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonpatch
from aiohttp import web

from tests.builders.kubernetes.webhooks import Change, Json
from tests.rigs.servers.admission_servers import Pair
from tests.rigs.servers.serving import serving


def unchanged(pod: Json) -> Json:
    """The change of a webhook that does nothing."""
    return pod


@dataclass(slots=True)
class OtherWebhooks:
    """Webhooks by the last part of their path. changes: what each does; nothing without one.

    asked: the paths in the order in which they were asked.
    """

    url: str
    changes: dict[str, Change] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one AdmissionReview with a JSON patch."""
        review = await request.json()
        asked, name = review["request"], request.match_info["name"]
        self.asked.append(name)
        pod = asked["object"]
        changed = self.changes.get(name, unchanged)(json.loads(json.dumps(pod)))
        patch = json.dumps(jsonpatch.make_patch(pod, changed).patch).encode()
        response = {
            "uid": asked["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(patch).decode(),
        }
        return web.json_response({**review, "request": None, "response": response})


@asynccontextmanager
async def other_webhooks(pair: Pair) -> AsyncIterator[OtherWebhooks]:
    """Served until the block ends."""

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pair.certificate_file, pair.key_file)
    served = OtherWebhooks("")
    app = web.Application(client_max_size=2**22)
    app.router.add_post("/{name}", served.answer)
    async with serving(app, tls=tls) as served.url:
        yield served


def a_configuration(
    name: str, url: str, certificate: Path, namespace: str, *, again: bool = True
) -> dict[str, Any]:
    """A webhook for the pods of one namespace. again: it may be asked once more."""
    authority = base64.b64encode(certificate.read_bytes()).decode()
    webhook = {
        "name": f"{name}.example.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": authority},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded" if again else "Never",
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }
    return {"metadata": {"name": f"{name}-{namespace}"}, "webhooks": [webhook]}
