"""Calls of Airflow's REST API (Airflow 3, ``/api/v2``): bounded answers, bounded time, retries.

Retries are safe: a run has an id of ours, and Airflow answers 409 to a second run with that id.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import quote

import aiohttp
import orjson

from plimsoll_operator.credentials.http_session import (
    Answer,
    AnswerTooLarge,
    HttpService,
    HttpSession,
    SessionError,
)
from plimsoll_operator.names.conditions import cut

MAX_ANSWER_BYTES: Final = 4 << 20
"""An answer about a run holds its configuration."""
TRIES_AT_FIRST: Final = 3
PATIENCE_S: Final = 600.0
"""How long to wait for an Airflow that has answered before and is away now."""
LONGEST_PAUSE_S: Final = 15.0
PAGE: Final = 100
"""Runs of one answer; an Airflow may be configured to give fewer."""
_NOT_NOW: Final = frozenset({408, 429, 500, 502, 503, 504})
_WORDS: Final = 300
_DAG_ID: Final = re.compile(r"[\w.-]{1,250}")


class AirflowError(Exception):
    """Airflow cannot be asked, or not for this; the message says what to do."""


class ConfigurationRefused(AirflowError):
    """Airflow does not accept this configuration; it may accept another."""


class TooMuchAtOnce(AirflowError):
    """The answer is larger than MAX_ANSWER_BYTES; ask for less."""


class _Away(Exception):
    """No answer for now; worth another try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowServer(HttpService):
    """The server's address and our credentials: a token, or a user with a password.

    first_pause_s: before the second try; each later pause is twice the one before. patience_s: how
    long to wait for a server that answered before.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    connect_s: float = 5.0
    first_pause_s: float = 0.5
    patience_s: float = PATIENCE_S

    @classmethod
    def at(cls, address: str, **settings: Any) -> Self:
        """A server with its http(s) address, which may hold a path but no password.

        Raises:
            AirflowError: if it is no address, or holds a password.
        """
        try:
            # super() without arguments does not work in a dataclass with slots.
            server = super(AirflowServer, cls).at(address, **settings)
        except ValueError:
            # Neither quoted nor chained, because the address may hold a password.
            raise AirflowError(
                "--airflow is no address of an Airflow; write http(s)://HOST[:PORT][/PATH], as far"
                " as its /api/v2"
            ) from None
        if server.login is not None:
            raise AirflowError(
                "--airflow holds a user or a password; give them by --user and"
                " PLIMSOLL_AIRFLOW_PASSWORD or --password-file"
            )
        return replace(server, base=server.base.with_path(server.base.path.removesuffix("api/v2/")))


class AirflowClient:
    """One server, one DAG at a time, over one session: an ``async with``."""

    def __init__(self, server: AirflowServer, tell: Callable[[str], None]) -> None:
        """tell: hears a sentence when Airflow goes away for a while."""
        self._server = server
        self._tell = tell
        self._tries = TRIES_AT_FIRST
        self._sessions = AsyncExitStack()
        self._session: HttpSession | None = None
        self._login = asyncio.Lock()

    async def __aenter__(self) -> AirflowClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._sessions.aclose()

    async def check(self, dag: str) -> None:
        """Check that the DAG is there and would run.

        Raises:
            AirflowError: if not, or if this is no Airflow, or we may not use it.
        """
        if not _DAG_ID.fullmatch(dag) or not dag.strip("."):
            raise AirflowError(f"{dag!r} is no id of a DAG; `airflow dags list` lists them")
        version = await self._call("GET", "api/v2/version")
        if version.status != 200 or "version" not in version.document:
            raise self._no_airflow(version)
        if await self.is_paused(dag):
            raise AirflowError(
                f"the DAG {dag!r} is paused, so its runs would wait for ever; unpause it:"
                f" `airflow dags unpause {dag}`"
            )
        # From now on, wait for an Airflow that restarts: runs go on without us.
        self._tries = 0

    async def is_paused(self, dag: str) -> bool:
        """Whether the DAG is paused, so that none of its runs goes on.

        Raises:
            AirflowError: if there is no such DAG, or we may not see it.
        """
        answer = await self._call("GET", f"api/v2/dags/{quote(dag)}")
        if answer.status == 404:
            raise AirflowError(
                f"{self._server.where} has no DAG {dag!r} that you may see; `airflow dags list`"
                " lists them, and `airflow dags list-import-errors` those that cannot be read"
            )
        paused = self._judged(answer, f"read the DAG {dag!r}").get("is_paused")
        if not isinstance(paused, bool):
            raise self._no_airflow(answer)
        return paused

    async def states_of(self, dag: str, prefix: str, most_calls: int) -> dict[str, str] | None:
        """The states of all runs whose ids begin with ``prefix``, by their ids, page by page.

        None if that takes more calls, because of other runs listed with them, or too large answers.
        """
        states: dict[str, str] = {}
        seen, total = 0, 1
        # An Airflow that does not know the pattern lists all runs of the DAG.
        asked = f"order_by=id&limit={PAGE}&run_id_pattern={quote(f'%{prefix}%')}"
        while seen < total:
            try:
                answer = await self._call("GET", f"{_runs_of(dag)}?{asked}&offset={seen}")
            except TooMuchAtOnce:
                return None
            document = self._judged(answer, f"read runs of the DAG {dag!r}")
            page, entries = document.get("dag_runs"), document.get("total_entries")
            if not isinstance(page, list) or not isinstance(entries, int):
                raise self._no_airflow(answer)
            total = entries
            if total > len(page) * most_calls:
                return None
            found = ((str(run.get("dag_run_id")), str(run.get("state"))) for run in page)
            states |= {run_id: state for run_id, state in found if run_id.startswith(prefix)}
            seen += len(page)
            if not page:
                break
        return states

    async def state_of(self, dag: str, run_id: str) -> str | None:
        """The state of a run, as Airflow names it; None if there is no such run."""
        answer = await self._call("GET", f"{_runs_of(dag)}/{quote(run_id)}")
        if answer.status == 404:
            return None
        state = self._judged(answer, f"read runs of the DAG {dag!r}").get("state")
        if not isinstance(state, str):
            raise self._no_airflow(answer)
        return state

    async def trigger(self, dag: str, run_id: str, conf: Mapping[str, Any], note: str) -> bool:
        """Trigger a run; returns whether it is new. An existing one is left alone.

        Raises:
            ConfigurationRefused: if the DAG does not take the configuration.
            AirflowError: if no run of it can be triggered.
        """
        body = {"dag_run_id": run_id, "logical_date": None, "conf": conf, "note": note}
        answer = await self._call("POST", _runs_of(dag), json=body)
        if answer.status in (400, 413, 422):
            raise ConfigurationRefused(words_of(answer))
        if answer.status == 404:
            raise AirflowError(f"the DAG {dag!r} is there no more: {words_of(answer)}")
        if answer.status == 409:
            return False
        self._judged(answer, f"trigger runs of the DAG {dag!r}")
        return True

    def _judged(self, answer: Answer, wish: str) -> dict[str, Any]:
        if answer.status == 401:
            raise AirflowError(
                f"{self._server.where} does not accept these credentials (401); give a valid token,"
                " or a user and a password"
            )
        if answer.status == 403:
            raise AirflowError(
                f"{self._server.where} answered 403: you may not {wish}; ask its admin for a role"
                " that may"
            )
        if answer.status not in (200, 201):
            raise self._no_airflow(answer)
        return answer.document

    def _no_airflow(self, answer: Answer) -> AirflowError:
        where = self._server.where
        if 300 <= answer.status < 400:
            to = cut(answer.headers.get("Location", ""), _WORDS)
            return AirflowError(f"{where} points to {to!r}; give that address if it is the Airflow")
        return AirflowError(
            f"{where} answered {answer.status} and not as an Airflow 3 does; the address should be"
            " all that comes before /api/v2"
        )

    async def _call(self, method: str, path: str, **given: Any) -> Answer:
        """One call; again with a new token if ours has expired."""
        session = self._session or await self._logged_in(None)
        answer = await self._answer(session, method, path, **given)
        if answer.status == 401 and self._server.user is not None:
            session = await self._logged_in(session)
            answer = await self._answer(session, method, path, **given)
        return answer

    async def _logged_in(self, expired: HttpSession | None) -> HttpSession:
        """A session with our credentials. expired: the one that must not be used any more."""
        async with self._login:
            if self._session is None or self._session is expired:
                server = self._server
                if server.user is not None:
                    server = replace(server, login=f"Bearer {await self._token()}")
                self._session = self._opened(server)
            return self._session

    async def _token(self) -> str:
        session = self._opened(self._server)
        body = {"username": self._server.user, "password": self._server.password}
        answer = await self._answer(session, "POST", "auth/token", json=body)
        token = answer.document.get("access_token")
        if answer.status in (200, 201) and isinstance(token, str) and token.isprintable():
            return token
        if answer.status in (400, 401, 403, 422):
            raise AirflowError(
                f"{self._server.where} refused the user {self._server.user!r} and the password with"
                f" {answer.status}"
            )
        raise AirflowError(
            f"{self._server.where} gave no token, and answered {answer.status} to POST /auth/token;"
            " give --token-file, or an address that is all that comes before /auth and /api/v2"
        )

    def _opened(self, server: HttpService) -> HttpSession:
        try:
            session = HttpSession(server, most_bytes=MAX_ANSWER_BYTES)
        except SessionError as error:
            raise AirflowError(str(error)) from error
        # Others may still wait for answers on an older session, so all are closed at the end.
        self._sessions.push_async_callback(session.close)
        return session

    async def _answer(self, session: HttpSession, method: str, path: str, **given: Any) -> Answer:
        """Airflow's own answer; raises if the server stays away."""
        began_s, tried = time.monotonic(), 0
        while True:
            try:
                return await self._once(session, method, path, **given)
            except _Away as away:
                tried += 1
                waited_s = time.monotonic() - began_s
                over = tried >= self._tries if self._tries else waited_s > self._server.patience_s
                if over:
                    raise AirflowError(f"{self._server.where} does not answer: {away}") from away
                if tried == TRIES_AT_FIRST:
                    self._tell(f"Airflow does not answer ({away}); asking again")
                pause_s = self._server.first_pause_s * 2.0 ** min(tried - 1, 16)
                await asyncio.sleep(min(LONGEST_PAUSE_S, pause_s))

    async def _once(self, session: HttpSession, method: str, path: str, **given: Any) -> Answer:
        try:
            answer = await session.call(method, path, **given)
        except AnswerTooLarge as error:
            raise TooMuchAtOnce(f"{self._server.where}: {error}") from error
        except SessionError as error:
            raise AirflowError(f"{self._server.where}: {error}") from error
        except aiohttp.ClientSSLError as error:
            raise AirflowError(
                f"{self._server.where} cannot be trusted: {cut(str(error), _WORDS)}; give --ca-file"
            ) from error
        except TimeoutError as error:
            raise _Away(f"no answer within {self._server.timeout_s:.0f} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _Away(cut(str(error) or type(error).__name__, _WORDS)) from error
        # While an Airflow is away, its proxy may answer 404, with words of its own.
        by_proxy = answer.status == 404 and not self._tries and not answer.document.get("detail")
        if answer.status in _NOT_NOW or by_proxy:
            raise _Away(f"it answered {answer.status}: {words_of(answer)}")
        return answer


def _runs_of(dag: str) -> str:
    return f"api/v2/dags/{quote(dag)}/dagRuns"


def words_of(answer: Answer) -> str:
    """What Airflow says is wrong: a text, or a list of fields with one text each."""
    detail = answer.document.get("detail")
    if isinstance(detail, list):
        each = [item.get("msg") if isinstance(item, dict) else item for item in detail]
        detail = "; ".join(str(text) for text in each)
    if not isinstance(detail, str):
        detail = orjson.dumps(detail).decode() if detail else f"status {answer.status}"
    return cut(" ".join(detail.split()), _WORDS)
