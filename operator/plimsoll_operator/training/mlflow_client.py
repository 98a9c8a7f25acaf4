"""Logs a training by MLflow's REST API.

A call always ends within its time limit and reads a bounded answer, whatever the server does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import aiohttp

from plimsoll_operator.credentials.http_session import (
    Answer,
    HttpService,
    HttpSession,
    SessionError,
)
from plimsoll_operator.names.conditions import cut
from plimsoll_operator.training.mlflow_records import IDENTITY, TrackedRun

MAX_ANSWER_BYTES: Final = 1 << 20
_API: Final = "api/2.0/mlflow/"
_ARTIFACTS: Final = "api/2.0/mlflow-artifacts/artifacts/"
_PROXIED: Final = "mlflow-artifacts"
_NOT_NOW: Final = frozenset({401, 403, 404, 405, 408, 421, 429})
"""Statuses about the address, the rights or the moment, not about this training."""
_WORDS: Final = 300


class TrackingError(Exception):
    """A training was not logged. about_it: whether the server answered about this training."""

    def __init__(self, words: str, *, about_it: bool = False) -> None:
        super().__init__(words)
        self.about_it = about_it


class TrackingRefused(TrackingError):
    """The server refuses this training; trying again will not help."""


class TrackingAddressError(OSError):
    """The address cannot be used; the message says what to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowServer(HttpService):
    """The server's address and our credentials."""

    timeout_s: float = 10.0
    connect_s: float = 5.0
    by_environment: bool = True

    @classmethod
    def at(cls, address: str, token_file: Path | None = None, **settings: Any) -> Self:
        """A server by its http(s) address, which may hold ``user:password@``.

        Raises:
            TrackingAddressError: if it is no address.
            OSError: if the token cannot be read.
        """
        try:
            # super() without arguments does not work in a dataclass with slots.
            server = super(MlflowServer, cls).at(address, token_file=token_file, **settings)
        except ValueError:
            # The cause is neither quoted nor chained, because it may hold a password.
            raise TrackingAddressError(
                "PLIMSOLL_MLFLOW_URL is no address; write http(s)://[user:password@]host[:port]"
            ) from None
        server.authorization()
        return server


class MlflowClient:
    """Logs trainings. Make it on the event loop that uses it, and close it there."""

    def __init__(self, server: MlflowServer) -> None:
        self._server = server
        self._session = HttpSession(server, most_bytes=MAX_ANSWER_BYTES)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def log(self, run: TrackedRun) -> str:
        """Log a training and return the server's id for it. TrackingError if it was not logged.

        A training that was logged in part is completed, so trying again is safe.
        """
        experiment_id = await self._experiment(run.experiment)
        info = await self._info(experiment_id, run)
        run_id = str(info["run_id"])
        await self._post("runs/log-batch", _batch(run_id, run))
        await self._upload(str(info.get("artifact_uri") or ""), run)
        status = "FINISHED" if run.succeeded else "FAILED"
        await self._post(
            "runs/update", {"run_id": run_id, "status": status, "end_time": run.ended_ms}
        )
        return run_id

    async def _experiment(self, name: str) -> str:
        answer = await self._call(
            "GET", f"{_API}experiments/get-by-name", params={"experiment_name": name}, absent_is=404
        )
        if answer is None:
            tags = [{"key": "plimsoll", "value": "trainings of one task"}]
            made = await self._post("experiments/create", {"name": name, "tags": tags})
            return str(made["experiment_id"])
        experiment = answer["experiment"]
        if experiment.get("lifecycle_stage") == "deleted":
            raise TrackingRefused(f"the experiment '{name}' is deleted; restore or purge it")
        return str(experiment["experiment_id"])

    async def _info(self, experiment_id: str, run: TrackedRun) -> Mapping[str, Any]:
        """The server's record of the training; it is made if there is none."""
        answer = await self._post(
            "runs/search",
            {
                "experiment_ids": [experiment_id],
                "filter": f"tags.`{IDENTITY}` = '{run.identity}'",
                "max_results": 1,
            },
        )
        made = (answer.get("runs") or [None])[0]
        if made is None:
            body = {
                "experiment_id": experiment_id,
                "run_name": run.name,
                "start_time": run.started_ms,
                "tags": _pairs({IDENTITY: run.identity}),
            }
            made = (await self._post("runs/create", body))["run"]
        info: Mapping[str, Any] = made["info"]
        return info

    async def _upload(self, artifact_uri: str, run: TrackedRun) -> None:
        """Store the documents through the server, unless the server leaves that to its clients."""
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
        """One call; None if the server answers with ``absent_is`` that the thing is absent."""
        try:
            answer = await self._session.call(method, path, **given)
        except (aiohttp.ClientError, OSError, ValueError, SessionError) as error:
            words = str(error) or type(error).__name__
            raise TrackingError(f"{self._server.where} does not answer: {words}") from error
        document = answer.document
        if answer.status == absent_is and document.get("error_code") == "RESOURCE_DOES_NOT_EXIST":
            return None
        if answer.status == 200:
            return document
        raise _trouble(f"{method} {self._server.where}{path}", answer)


def _trouble(call: str, answer: Answer) -> TrackingError:
    status, document = answer.status, answer.document
    message = cut(str(document.get("message") or "nothing that MLflow would say"), _WORDS)
    words = f"{call} answers {status}: {message}"
    if 400 <= status < 500 and status not in _NOT_NOW and document.get("error_code"):
        return TrackingRefused(words, about_it=True)
    return TrackingError(words, about_it=status == 500)


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
