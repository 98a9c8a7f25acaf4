"""Takes agents' reports: ``POST /v1/peaks``. Checks every field that it knows.

Others are ignored: during an upgrade a newer agent reports to an older controller.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
import structlog
from aiohttp import web

from plimsoll_operator.attempts.peaks import PEAKS_PATH, Answered, PeakReport
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.serving.web import MAX_BODY_BYTES
from plimsoll_operator.feed.bearer_check import is_bearer
from plimsoll_predictor.core.documents import from_document, to_document

log = structlog.get_logger()

MAX_REPORTS: Final = 5_000
_PEAKS: Final = ("need_peak_bytes", "working_set_peak_bytes", "anon_peak_bytes")

Persist = Callable[[Sequence[PeakReport]], Awaitable[None]]
Heard = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What the answer says about a pod, by its UID.

    known: the largest known need of its task, 0 if all its needs are wanted; None if there is
        none, or the pod is unknown.
    rescuable: whether it may be given more before it reaches its limit, so that it is watched.
    """

    known: Callable[[str], int | None] = lambda _: None
    rescuable: Callable[[str], bool] = lambda _: False


NO_FACTS: Final = PodFacts()


class BadReportsError(ValueError):
    """A body that is not a list of reports; the message says where and why."""


class _Sent(msgspec.Struct):
    node: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    reports: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MAX_REPORTS)]


def peak_routes(
    book: PeakBook,
    persist: Persist,
    token: str,
    facts: PodFacts = NO_FACTS,
    heard: Heard = lambda _: None,
) -> list[web.RouteDef]:
    """Routes to add to the controller's application. An agent shows ``token`` as its bearer.

    persist: stores the final reports; they are acknowledged only after it has returned.
    heard: gets the node of each body; a body without reports says that its agent lives.
    """
    controller = uuid.uuid4().hex
    finals = _Finals(persist)

    async def take(request: web.Request) -> web.Response:
        if not is_bearer(request, token):
            return _words(401, "this needs the agents' bearer token")
        try:
            node, reports = read_reports(await request.read())
        except web.HTTPRequestEntityTooLarge:
            return _words(413, f"at most {MAX_BODY_BYTES} bytes at once; send fewer reports")
        except BadReportsError as error:
            return _words(400, str(error))
        why = await finals.store(node, [report for report in reports if report.final])
        if why is not None:
            return _words(503, f"{why}; keep them")
        book.add(reports)
        heard(node)
        living = {report.pod_uid for report in reports if not report.final}
        needs = {uid: facts.known(uid) for uid in living}
        known_bytes = {uid: each for uid, each in needs.items() if each is not None}
        answered = Answered(
            controller=controller,
            known_bytes=known_bytes,
            rescuable=tuple(uid for uid in living if facts.rescuable(uid)),
        )
        return web.json_response(to_document(answered))

    return [web.post(PEAKS_PATH, take)]


class _Finals:
    """Has final reports stored, those of one body of a node at a time."""

    def __init__(self, persist: Persist) -> None:
        self._persist = persist
        self._storing = set[str]()

    async def store(self, node: str, finals: Sequence[PeakReport]) -> str | None:
        """Return when they are stored, or say why they are not."""
        if not finals:
            return None
        if node in self._storing:
            # Its agent gave up waiting, and sends the same again. Each time, they would be queued.
            return "the store still takes those before them"
        self._storing.add(node)
        try:
            await self._persist(finals)
        except Exception as error:
            # Whatever the store's error is, the agent keeps its reports and sends them again.
            log.error("final peaks not stored", node=node, why=str(error))
            return "the store cannot take them now"
        finally:
            self._storing.discard(node)
        return None


def read_reports(body: bytes) -> tuple[str, list[PeakReport]]:
    """Read the node's name and its reports; raise BadReportsError at the first mistake."""
    try:
        sent = msgspec.json.decode(body, type=_Sent)
    except (ValueError, RecursionError) as error:
        raise BadReportsError(str(error)) from error
    return sent.node, [_report(f"reports[{n}]", each) for n, each in enumerate(sent.reports)]


def _report(where: str, data: dict[str, Any]) -> PeakReport:
    report = from_document(PeakReport, data, where, BadReportsError)
    for name in _PEAKS:
        if getattr(report, name) > report.kernel_peak_bytes:
            raise BadReportsError(
                f"{where}: {name} lies above kernel_peak_bytes, which nothing can exceed"
            )
    return report


def _words(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n")
