"""MLflow's REST API, as much of it as logging one training takes.

Whatever the server does, a call ends within its time limit and reads a bounded answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from plimsoll_operator.conditions import cut
from plimsoll_operator.training.mlflow_records import IDENTITY, TrackedRun

MAX_ANSWER_BYTES: Final = 1 << 20
CONNECT_TIMEOUT_S: Final = 5.0
_API: Final = "api/2.0/mlflow/"
_ARTIFACTS: Final = "api/2.0/mlflow-artifacts/artifacts/"
_PROXIED: Final = "mlflow-artifacts"
_NOT_NOW: Final = frozenset({401, 403, 404, 405, 408, 421, 429})
"""Of 400 to 499: about the address, the rights or the moment, not about this training."""
_WORDS: Final = 300


class TrackingError(Exception):
    """A training was not logged. about_it: whether the server answered about this training."""

    def __init__(self, words: str, *, about_it: bool = False) -> None:
        super().__init__(words)
        self.about_it = about_it


class TrackingRefused(TrackingError):
    """The server does not want this training; trying again will not help."""


class TrackingAddressError(OSError):
    """The address or the token cannot be used; the message says what to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowServer:
    """Where the server is, and how to show who asks. timeout_s: of one call, all of it.

    login: an Authorization header. token_file: holds a bearer token, read for each call since it
        may be changed; it comes before the login.
    """

    base: URL
    login: str | None = None
    token_file: Path | None = None
    timeout_s: float = 10.0

    @classmethod
    def at(cls, address: str, token_file: Path | None = None) -> MlflowServer:
        """A server by its http(s) address, which may hold ``user:password@``.

        Raises:
            TrackingAddressError: if it is no address, or the token cannot be read.
        """
        if not _is_address(address):
            # Not quoted: it may hold a password.
            raise TrackingAddressError(
                "PLIMSOLL_MLFLOW_URL is no address; write http(s)://[user:password@]host[:port]"
            )
        url = URL(address)
        login = None
        if url.user is not None:
            named = f"{url.user}:{url.password or ''}".encode()
            login = f"Basic {base64.b64encode(named).decode()}"
        base = url.with_user(None).with_path(url.path.rstrip("/") + "/")
        server = cls(base=base, login=login, token_file=token_file)
        server.authorization()
        return server

    @property
    def where(self) -> str:
        """The address without user and password."""
        return str(self.base)

    def authorization(self) -> dict[str, str]:
        """The headers that show who asks.

        Raises:
            TrackingAddressError: if the token's file is empty.
            OSError: if it cannot be read.
        """
        if self.token_file is None:
            return {} if self.login is None else {"Authorization": self.login}
        token = self.token_file.read_text(encoding="utf-8").strip()
        if not token:
            raise TrackingAddressError(f"{self.token_file} holds no token; write MLflow's into it")
        return {"Authorization": f"Bearer {token}"}


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return whole and not parts.query and not parts.fragment


class MlflowClient:
    """Logs trainings. Make it on the event loop that uses it, and close it there."""

    def __init__(self, server: MlflowServer) -> None:
        self._server = server
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=server.timeout_s, connect=CONNECT_TIMEOUT_S),
            trust_env=True,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def log(self, run: TrackedRun) -> str:
        """Log a training and return the server's id of it; one logged before is completed.

        Raises:
            TrackingError: if it was not logged. Trying again is safe.
        """
        experiment_id = await self._experiment(run.experiment)
        found = await self._found(experiment_id, run) or await self._created(experiment_id, run)
        run_id = str(found["run_id"])
        await self._post("runs/log-batch", _batch(run_id, run))
        await self._upload(str(found.get("artifact_uri") or ""), run)
        status = "FINISHED" if run.succeeded else "FAILED"
        await self._post(
            "runs/update", {"run_id": run_id, "status": status, "end_time": run.ended_ms}
        )
        return run_id

    async def _experiment(self, name: str) -> str:
        found = await self._call(
            "GET", f"{_API}experiments/get-by-name", params={"experiment_name": name}, absent_is=404
        )
        if found is None:
            tags = [{"key": "plimsoll", "value": "trainings of one task"}]
            made = await self._post("experiments/create", {"name": name, "tags": tags})
            return str(made["experiment_id"])
        experiment = found["experiment"]
        if experiment.get("lifecycle_stage") == "deleted":
            raise TrackingRefused(f"the experiment '{name}' is deleted; restore or purge it")
        return str(experiment["experiment_id"])

    async def _found(self, experiment_id: str, run: TrackedRun) -> Mapping[str, Any] | None:
        answer = await self._post(
            "runs/search",
            {
                "experiment_ids": [experiment_id],
                "filter": f"tags.`{IDENTITY}` = '{run.identity}'",
                "max_results": 1,
            },
        )
        runs = answer.get("runs") or []
        return runs[0]["info"] if runs else None

    async def _created(self, experiment_id: str, run: TrackedRun) -> Mapping[str, Any]:
        answer = await self._post(
            "runs/create",
            {
                "experiment_id": experiment_id,
                "run_name": run.name,
                "start_time": run.started_ms,
                "tags": _pairs({IDENTITY: run.identity}),
            },
        )
        info: Mapping[str, Any] = answer["run"]["info"]
        return info

    async def _upload(self, artifact_uri: str, run: TrackedRun) -> None:
        """Store the documents by way of the server; nothing where it leaves that to clients."""
        parts = urlsplit(artifact_uri)
        if parts.scheme != _PROXIED or (parts.hostname or self._server.base.host) != (
            self._server.base.host
        ):
            return
        for name, content in run.artifacts.items():
            path = quote(f"{parts.path.strip('/')}/{name}")
            await self._call("PUT", _ARTIFACTS + path, data=content)

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = await self._call("POST", _API + path, json=body)
        return answer or {}

    async def _call(
        self, method: str, path: str, *, absent_is: int | None = None, **given: Any
    ) -> dict[str, Any] | None:
        """One call; None if the server says by ``absent_is`` that there is no such thing."""
        # A redirect could carry the password elsewhere.
        url = URL(str(self._server.base) + path, encoded=True)
        try:
            given["headers"] = self._server.authorization()
            async with self._session.request(
                method, url, allow_redirects=False, **given
            ) as response:
                status, body = response.status, await _bounded(response)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            words = str(error) or type(error).__name__
            raise TrackingError(f"{self._server.where} does not answer: {words}") from error
        answer = _document(body)
        if status == absent_is and answer.get("error_code") == "RESOURCE_DOES_NOT_EXIST":
            return None
        if status == 200:
            return answer
        raise _trouble(f"{method} {self._server.where}{path}", status, answer)


def _trouble(call: str, status: int, answer: Mapping[str, Any]) -> TrackingError:
    said = cut(str(answer.get("message") or "nothing that MLflow would say"), _WORDS)
    words = f"{call} answers {status}: {said}"
    if 400 <= status < 500 and status not in _NOT_NOW and answer.get("error_code"):
        return TrackingRefused(words, about_it=True)
    return TrackingError(words, about_it=status == 500)


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _document(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _batch(run_id: str, run: TrackedRun) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "params": _pairs(run.params),
        "tags": _pairs(run.tags),
        "metrics": [
            {"key": each.key, "value": each.value, "timestamp": run.ended_ms, "step": each.step}
            for each in run.metrics
        ],
    }


def _pairs(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]
