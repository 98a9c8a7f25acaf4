"""A real admission server over real TLS on loopback, and a real feed, for the tests."""

from __future__ import annotations

import asyncio
import base64
import datetime
import io
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from plimsoll_operator.admission.settings import AdmissionSettings
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.routes import board_routes
from plimsoll_operator.processes.admission import Running, running
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.pods import APod, a_review
from tests.rigs.servers.serving import serving

TOKEN = "feed-token"
TRAIN = TaskId("shop", "train")


def knowledge_of(
    task: TaskId = TRAIN, *, max_need_bytes: int = GIB, mode: Mode = Mode.ENFORCE, **policy: Any
) -> Knowledge:
    """A task whose largest need is known and served: 1.1Gi for the default."""
    return Knowledge(
        task=task,
        policy=Policy(mode=mode, **policy),
        runs=20,
        max_need_bytes=max_need_bytes,
        champion=MAX_SEEN,
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files."""

    certificate_file: Path
    key_file: Path

    @classmethod
    def make(cls, folder: Path, name: str = "localhost") -> Pair:
        """A new self-signed pair for loopback; name tells pairs apart."""
        folder.mkdir(parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        pair = cls(folder / "tls.crt", folder / "tls.key")
        pair.certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def trusted(self) -> ssl.SSLContext:
        """A client's context that trusts only this certificate."""
        return ssl.create_default_context(cafile=self.certificate_file)


@dataclass(frozen=True, slots=True)
class Caller:
    """Asks the server as the API server does."""

    session: aiohttp.ClientSession
    url: str
    tls: ssl.SSLContext

    async def review(self, pod: APod | dict[str, Any], **request: Any) -> dict[str, Any]:
        """The answer's ``response`` for a pod's creation."""
        answer = await self.send(json.dumps(a_review(pod, **request)).encode())
        found: dict[str, Any] = answer["response"]
        return found

    async def send(self, body: bytes) -> dict[str, Any]:
        """The whole answer to any body; every answer has status 200."""
        async with self.session.post(self.url, data=io.BytesIO(body), ssl=self.tls) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = await response.json()
            return answer


def patch_in(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The JSON Patch of a response; empty if it has none."""
    assert response["allowed"] is True
    if "patch" not in response:
        return []
    assert response["patchType"] == "JSONPatch"
    operations: list[dict[str, Any]] = json.loads(base64.b64decode(response["patch"]))
    return operations


async def until_true(condition: Callable[[], bool], within_s: float = 120.0) -> None:
    """Wait until the condition is true; raise TimeoutError after a generous time."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def a_feed(
    board: FeedBoard, port: int = 0, middlewares: Sequence[Any] = ()
) -> AsyncIterator[str]:
    """The board served over HTTP; its URL."""
    app = web.Application(middlewares=middlewares)
    app.add_routes(board_routes(board, TOKEN))
    async with serving(app, port) as url:
        yield url


def settings_in(folder: Path, feed_url: str, **changes: Any) -> AdmissionSettings:
    """Settings of a server in a folder of its own, with a new certificate if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    token_file = folder / "token"
    token_file.write_text(f"{TOKEN}\n")
    pair = Pair(folder / "tls.crt", folder / "tls.key")
    if not pair.certificate_file.exists():
        Pair.make(folder)
    values: dict[str, Any] = {
        "listen_address": "127.0.0.1",
        "listen_port": 0,
        "metrics_listen_port": 0,
        "certificate_file": pair.certificate_file,
        "key_file": pair.key_file,
        "feed_url": feed_url,
        "feed_token_file": token_file,
        "snapshot_file": folder / "snapshot.jsonl",
        "snapshot_every_s": 0.05,
        "drain_s": 0.0,
    }
    return AdmissionSettings(**{**values, **changes})


@asynccontextmanager
async def calling(port: int, folder: Path) -> AsyncIterator[Caller]:
    """A caller of the server whose certificate lies in the folder."""
    tls = ssl.create_default_context(cafile=folder / "tls.crt")
    async with aiohttp.ClientSession() as session:
        yield Caller(session, f"https://127.0.0.1:{port}/size", tls)


@asynccontextmanager
async def a_server(
    folder: Path, *knowledge: Knowledge, **changes: Any
) -> AsyncIterator[tuple[Caller, Running, FeedBoard]]:
    """A server that knows some tasks from its feed, and a caller."""
    board = FeedBoard("epoch-1")
    board.set_defaults(Policy(mode=Mode.ENFORCE))
    for known in knowledge:
        board.publish(known)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(a_feed(board))
        settings = settings_in(folder, url, **changes)
        server = await stack.enter_async_context(running(settings))
        await until_true(
            lambda: len(server.state.tasks) == len(knowledge) and server.freshness.from_feed
        )
        caller = await stack.enter_async_context(calling(server.port, folder))
        yield caller, server, board
