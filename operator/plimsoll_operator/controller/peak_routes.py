"""Where agents hand in their reports: ``POST /v1/peaks``. Everything in it is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import structlog
from aiohttp import web

from plimsoll_operator.controller.peak_book import PeakBook
from plimsoll_operator.feed.routes import is_bearer
from plimsoll_operator.peaks import PEAKS_PATH, PeakReport
from plimsoll_predictor.units import MIB

log = structlog.get_logger()

MAX_BODY_BYTES: Final = MIB
MAX_REPORTS: Final = 5_000
MAX_MEMORY_BYTES: Final = 2**50
MAX_SECONDS: Final = 1e12
MAX_CORES: Final = 100_000
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}")
_NAMES: Final = frozenset(each.name for each in fields(PeakReport))
_NEW: Final = frozenset({"peak_cores"})
"""Fields that an agent from before them does not send: nodes are upgraded one by one."""
_PEAKS: Final = (
    "need_peak_bytes",
    "kernel_peak_bytes",
    "working_set_peak_bytes",
    "anon_peak_bytes",
)

Persist = Callable[[Sequence[PeakReport]], Awaitable[None]]


class BadReportsError(ValueError):
    """A body that is no list of reports; the message says where and why."""


def peak_routes(book: PeakBook, persist: Persist, token: str) -> list[web.RouteDef]:
    """Routes to add to the controller's application. An agent shows ``token`` as its bearer.

    persist: stores the final reports; only when it has returned are they acknowledged.
    """

    async def take(request: web.Request) -> web.Response:
        if not is_bearer(request, token):
            return _words(401, "this needs the agents' bearer token")
        body = await _bounded_body(request)
        if body is None:
            return _words(413, f"at most {MAX_BODY_BYTES} bytes at once; send fewer reports")
        try:
            node, reports = read_reports(body)
        except BadReportsError as error:
            return _words(400, str(error))
        try:
            if finals := [report for report in reports if report.final]:
                await persist(finals)
        except Exception as error:
            # Whatever the store's trouble, the agent keeps its reports and comes again.
            log.error("final peaks not stored", node=node, why=str(error))
            return _words(503, "the store cannot take them now; keep them")
        book.add(reports)
        return web.Response(status=204)

    return [web.post(PEAKS_PATH, take)]


def read_reports(body: bytes) -> tuple[str, list[PeakReport]]:
    """The node's name and its reports, each field checked for type and range.

    Raises:
        BadReportsError: at the first mistake.

    """
    try:
        data = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadReportsError(f"no JSON: {error}") from error
    if not isinstance(data, dict) or set(data) != {"node", "reports"}:
        raise BadReportsError('expected an object {"node": ..., "reports": [...]}')
    node, reports = data["node"], data["reports"]
    if not isinstance(node, str) or not 0 < len(node) <= 253:
        raise BadReportsError("node is not a name of 1 to 253 characters")
    if not isinstance(reports, list) or len(reports) > MAX_REPORTS:
        raise BadReportsError(f"reports is not a list of at most {MAX_REPORTS}")
    return node, [_report(number, each) for number, each in enumerate(reports)]


def _report(number: int, data: object) -> PeakReport:
    if not isinstance(data, dict) or not _NAMES - _NEW <= set(data) <= _NAMES:
        raise BadReportsError(f"reports[{number}] is not an object with exactly {sorted(_NAMES)}")
    wrong = _what_is_wrong(data)
    if wrong is not None:
        raise BadReportsError(f"reports[{number}]: {wrong}")
    return PeakReport.from_dict(data)


def _what_is_wrong(data: Mapping[str, Any]) -> str | None:
    for name, holds in _CHECKS.items():
        if name in data and not holds(data[name]):
            return f"{name} is {str(data[name])[:60]!r}; {_EXPECTED[name]}"
    for name in _PEAKS:
        if data[name] > data["kernel_peak_bytes"]:
            return f"{name} lies above kernel_peak_bytes, which nothing can exceed"
    return None


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_memory(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_MEMORY_BYTES


def _is_seconds(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_SECONDS  # type: ignore[operator]


def _is_cores(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_CORES  # type: ignore[operator]


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "pod_uid": _is_id,
    "container_id": _or_none(_is_id),
    **dict.fromkeys(_PEAKS, _is_memory),
    "limit_bytes": _or_none(_is_memory),
    "cpu_s": _or_none(_is_seconds),
    "peak_cores": _or_none(_is_cores),
    "measured_s": _is_seconds,
    "final": lambda value: isinstance(value, bool),
}
_EXPECTED: Final[Mapping[str, str]] = {
    "pod_uid": "expected an id",
    "container_id": "expected an id or null",
    **dict.fromkeys(_PEAKS, f"expected whole bytes from 0 to {MAX_MEMORY_BYTES}"),
    "limit_bytes": f"expected null or whole bytes from 0 to {MAX_MEMORY_BYTES}",
    "cpu_s": "expected null or seconds from 0",
    "peak_cores": f"expected null or cores from 0 to {MAX_CORES}",
    "measured_s": "expected seconds from 0",
    "final": "expected true or false",
}


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


async def _bounded_body(request: web.Request) -> bytes | None:
    """The body, or None if it is too long; never holds more than a little over the bound."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _words(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n")
