"""The least that any webhook costs: one that gives every pod the same patch and knows nothing.

The API server spends no less on calling this webhook and on applying its patch.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import uvloop

from plimsoll_operator.names import labels
from plimsoll_operator.processes.run_webhook import make_certificates, webhook_configuration
from tests.conftest import Cluster

NAME: Final = "plain"
PORT: Final = 9555
_PATCH: Final = [
    {
        "op": "add",
        "path": "/spec/containers/0/resources",
        "value": {"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}},
    },
    # As long as a decision.
    {"op": "add", "path": "/metadata/annotations", "value": {labels.DECISION: "x" * 300}},
]
_ANSWER: Final = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"%b",'
    b'"allowed":true,"patchType":"JSONPatch","patch":"'
    + base64.b64encode(json.dumps(_PATCH).encode())
    + b'"}}'
)
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_UID: Final = b'"uid":"'
_UID_BYTES: Final = 36
_LENGTH: Final = b"content-length:"
_ROOT: Final = Path(__file__).resolve().parents[3]


class _Answering(asyncio.Protocol):
    """Requests of one connection, as the API server sends them: one after another."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is not a subclass of asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, ended, body = self._read.partition(b"\r\n\r\n")
        if not ended:
            return
        length = int(head.lower().partition(_LENGTH)[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._read = body[length:]
        uid = body.partition(_UID)[2][:_UID_BYTES]
        answer = _ANSWER % uid
        self._transport.write(_HEAD % len(answer) + answer)


@contextlib.contextmanager
def a_plain_webhook(cluster: Cluster, namespace: str, folder: Path) -> Iterator[None]:
    """Asked about the labelled pods of one namespace, until the block ends."""
    authority = make_certificates(folder, ["127.0.0.1"], datetime.now(UTC))
    configuration = webhook_configuration(f"https://127.0.0.1:{PORT}", authority)
    configuration["metadata"]["name"] = NAME
    webhooks = configuration["webhooks"]
    webhook = next(each for each in webhooks if each["name"] == "size.plimsoll.dev")
    configuration["webhooks"] = [webhook]
    webhook["name"] = f"{NAME}.example.com"
    webhook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    words = (sys.executable, "-m", __name__, str(folder))
    with subprocess.Popen(words, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            cluster.apply(configuration)
            yield
        finally:
            cluster.kubectl("delete", "mutatingwebhookconfiguration", NAME, "--ignore-not-found")
            process.terminate()


async def _serve(folder: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answering, "127.0.0.1", PORT, ssl=context)
    print("listening", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.install()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(Path(sys.argv[1])))
