"""The controller's side of the agents' reports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from plimsoll_operator.attempts.peaks import PEAKS_PATH, PeakReport
from plimsoll_operator.controller.attempts.peak_book import CONTAINERS_KEPT, PeakBook
from plimsoll_operator.controller.serving.peak_routes import (
    MAX_REPORTS,
    BadReportsError,
    PodFacts,
    peak_routes,
    read_reports,
)
from plimsoll_operator.controller.serving.web import MAX_BODY_BYTES
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, PAUSE, UID, a_report

WHOLE = a_report(container_id=None, need_peak_bytes=130 * MIB)
OWN = a_report()
PAUSED = a_report(
    container_id=PAUSE,
    need_peak_bytes=MIB,
    kernel_peak_bytes=MIB,
    working_set_peak_bytes=MIB,
    anon_peak_bytes=0,
)
SIDECAR = a_report(container_id="5" * 64)


def a_book(*reports: PeakReport) -> PeakBook:
    book = PeakBook()
    book.add(reports)
    return book


def test_a_pod_of_one_container_is_told_by_its_own_cgroup() -> None:
    assert a_book(WHOLE, OWN, PAUSED).best(UID, CONTAINER, 1) == WHOLE


def test_a_container_that_was_gone_before_it_was_seen_is_told_by_its_pod() -> None:
    assert a_book(WHOLE, PAUSED).best(UID, CONTAINER, 1) == WHOLE
    assert a_book(WHOLE).best(UID, None, 1) == WHOLE


def test_a_container_that_was_not_seen_yet_is_not_told_by_its_init_container() -> None:
    first = a_report(container_id="7" * 64, need_peak_bytes=120 * MIB)
    assert a_book(WHOLE, first, PAUSED).best(UID, CONTAINER, 1) is None
    assert a_book(WHOLE, first, PAUSED).best(UID, None, 1) == WHOLE, "one in a sandbox has no own"


def test_what_an_earlier_agent_saw_counts_as_seen() -> None:
    early, late = replace(OWN, since_s=100.0), replace(OWN, since_s=900.0)
    for reports, since_s in (
        ((early, late), 100.0),
        ((late, early), 100.0),
        ((OWN, late), None),
        ((late, OWN), None),
    ):
        best = a_book(*reports).best(UID, CONTAINER, 2)
        assert best is not None
        assert best.since_s == since_s


@pytest.mark.parametrize(
    ("unseen_s", "report", "found"),
    [
        pytest.param(0.0, {}, (None, 0.0), id="its agent goes on"),
        pytest.param(7.0, {"unseen_s": 9.0}, (None, 9.0), id="its agent was away once more"),
        pytest.param(0.0, {"since_s": 940.0}, (None, 40.0), id="another agent began later"),
        pytest.param(7.0, {"since_s": 940.0}, (None, 47.0), id="and it was unseen before, too"),
        pytest.param(7.0, {"since_s": 890.0}, (None, 7.0), id="another one began before"),
        pytest.param(None, {"since_s": 940.0}, (None, 0.0), id="an older agent does not say"),
        pytest.param(
            7.0,
            {"since_s": 940.0, "before_bytes": 111 * MIB},
            (None, 0.0),
            id="the kernel's peak was needed: nothing was missed",
        ),
        pytest.param(
            7.0,
            {"since_s": 940.0, "before_bytes": 112 * MIB},
            (None, 47.0),
            id="the kernel's peak may have been needed, or not",
        ),
    ],
)
def test_the_time_between_two_agents_was_seen_by_neither(
    unseen_s: float | None, report: dict[str, Any], found: tuple[float | None, float]
) -> None:
    first = replace(OWN, measured_s=900.0, unseen_s=unseen_s)
    book = a_book(first)
    for measured_s in (950.0, 960.0):
        news = {"since_s": None, "unseen_s": 0.0 if report else unseen_s} | report
        book.add([replace(OWN, need_peak_bytes=50 * MIB, measured_s=measured_s, **news)])
        best = book.best(UID, CONTAINER, 2)
        assert best is not None
        assert (best.since_s, best.unseen_s) == found


def test_a_pod_that_was_unseen_before_its_container_began_keeps_its_maxima() -> None:
    """They also tell of the last moment, after the container's last reading."""
    pulled = replace(WHOLE, since_s=100.0, unseen_s=40.0, measured_s=990.0)
    own = replace(OWN, since_s=900.0, unseen_s=2.0, measured_s=985.0, final=True)
    for report, found in (
        (own, replace(pulled, since_s=900.0, unseen_s=2.0)),
        (replace(own, unseen_s=40.0), pulled),
        (replace(own, unseen_s=None), pulled),
        (replace(own, final=False), pulled),
        (replace(own, measured_s=0.0), pulled),
    ):
        assert a_book(pulled, report).best(UID, CONTAINER, 1) == found
    short = replace(pulled, unseen_s=12.0)
    assert a_book(short, own).best(UID, CONTAINER, 1) == short


def test_a_container_among_others_is_told_by_its_own_cgroup() -> None:
    assert a_book(WHOLE, OWN, SIDECAR, PAUSED).best(UID, CONTAINER, 2) == OWN


def test_a_container_among_others_that_was_never_seen_is_unknown() -> None:
    assert a_book(WHOLE, SIDECAR).best(UID, CONTAINER, 2) is None


def test_a_restarted_container_is_not_told_by_its_earlier_life() -> None:
    earlier = a_report(container_id="1" * 64, need_peak_bytes=190 * MIB)
    assert a_book(WHOLE, earlier, OWN, PAUSED).best(UID, CONTAINER, 1) == OWN


def test_a_pod_nobody_measured_is_unknown() -> None:
    assert PeakBook().best(UID, CONTAINER, 1) is None
    assert not PeakBook().final(UID)


def test_only_the_pods_own_final_report_is_final() -> None:
    assert not a_book(WHOLE, a_report(final=True)).final(UID)
    assert a_book(a_report(container_id=None, final=True)).final(UID)


def test_maxima_never_fall_when_an_agent_starts_over() -> None:
    book = a_book(WHOLE)
    book.add([a_report(container_id=None, need_peak_bytes=5 * MIB, cpu_s=None, final=True)])
    best = book.best(UID, None, 1)
    assert best is not None
    assert (best.need_peak_bytes, best.cpu_s, best.final) == (130 * MIB, 1.5, True)


def test_the_pods_longest_untouched_are_forgotten_first() -> None:
    book = PeakBook(pods_kept=2)
    for uid in ("a", "b", "a", "c"):
        book.add([a_report(pod_uid=uid, container_id=None)])
    assert [book.best(uid, None, 1) is not None for uid in "abc"] == [True, False, True]


def test_a_pod_that_restarts_for_ever_does_not_grow_for_ever() -> None:
    book = a_book(*(a_report(container_id=f"{n:064x}") for n in range(CONTAINERS_KEPT + 5)))
    assert len(book) == 1
    assert book.best(UID, f"{0:064x}", 2) is None
    assert book.best(UID, f"{CONTAINERS_KEPT + 4:064x}", 2) is not None


def a_body(**changed: object) -> dict[str, Any]:
    return {"node": "n1", "reports": [to_document(OWN) | changed]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"{", "truncated", id="no JSON"),
        pytest.param(b"[" * 200_000, "got `array`", id="deeply nested"),
        pytest.param(b"\xff\xfe\x00", "malformed", id="bytes"),
        pytest.param(b'{"node": "\xff", "reports": []}', "(?i)utf-8", id="a name that is no text"),
        pytest.param(b"[]", "Expected `object`", id="a list"),
        pytest.param(b'{"node": "n", "reports": {}}', "reports`", id="reports that are none"),
        pytest.param(b'{"node": "", "reports": []}', r"length >= 1 - at `\$.node`", id="no node"),
        pytest.param(b'{"node": "n", "reports": [5]}', r"\$.reports\[0\]", id="a report that is 5"),
        pytest.param(a_body(need_peak_bytes=-1), r">= 0 - at `\$.need_peak_bytes`", id="negative"),
        pytest.param(
            a_body(need_peak_bytes=1.5), "Expected `int`, got `float`", id="a fraction of a byte"
        ),
        pytest.param(
            a_body(need_peak_bytes=True), "Expected `int`, got `bool`", id="a boolean as a number"
        ),
        pytest.param(
            a_body(kernel_peak_bytes=2**51),
            r"<= \d+ - at `\$.kernel_peak_bytes`",
            id="two petabytes",
        ),
        pytest.param(a_body(need_peak_bytes=201 * MIB), "above kernel_peak", id="need above peak"),
        pytest.param(a_body(cpu_s=float("nan")), "malformed", id="NaN"),
        pytest.param(a_body(cpu_s=float("inf")), "malformed", id="infinity"),
        pytest.param(
            a_body(measured_s=1e308), r"<= 10+.0 - at `\$.measured_s`", id="1e308 seconds"
        ),
        pytest.param(a_body(measured_s=None), r"`null` - at `\$.measured_s`", id="no time"),
        pytest.param(
            a_body(pod_uid="../../x"), r"regex .* - at `\$.pod_uid`", id="a path as a UID"
        ),
        pytest.param(
            a_body(pod_uid="u\n"), r"regex .* - at `\$.pod_uid`", id="a UID with a line break"
        ),
        pytest.param(
            a_body(container_id="x" * 200), r"regex .* - at `\$.container_id`", id="a long id"
        ),
        pytest.param(
            a_body(final="yes"), r"`bool`, got `str` - at `\$.final`", id="a word for a boolean"
        ),
        pytest.param(
            a_body(limit_bytes="4Gi"), r"got `str` - at `\$.limit_bytes`", id="a quantity"
        ),
        pytest.param(
            {"node": "n", "reports": [to_document(OWN)] * (MAX_REPORTS + 1)},
            r"length <= 5000 - at `\$.reports`",
            id="too many reports",
        ),
    ],
)
def test_bad_reports_are_refused_in_words(body: bytes | dict[str, Any], words: str) -> None:
    with pytest.raises(BadReportsError, match=words):
        read_reports(body if isinstance(body, bytes) else json.dumps(body).encode())


def test_good_reports_are_read_as_they_were_sent() -> None:
    sent = [WHOLE, OWN, a_report(limit_bytes=None, cpu_s=None), a_report(cpu_s=3)]
    body = json.dumps({"node": "n1", "reports": [to_document(report) for report in sent]})
    assert read_reports(body.encode()) == ("n1", sent)


def test_what_only_a_newer_agent_knows_is_ignored() -> None:
    body = a_body(extra=1) | {"zone": "a"}
    assert read_reports(json.dumps(body).encode()) == ("n1", [OWN])


class Store:
    """Takes finals, unless it is in trouble."""

    def __init__(self) -> None:
        self.kept: list[PeakReport] = []
        self.trouble: Exception | None = None
        self.asked = asyncio.Semaphore(0)
        self.answers = asyncio.Event()
        self.answers.set()

    async def persist(self, reports: Sequence[PeakReport]) -> None:
        self.asked.release()
        await self.answers.wait()
        if self.trouble is not None:
            raise self.trouble
        self.kept.extend(reports)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def book() -> PeakBook:
    return PeakBook()


@pytest.fixture
def heard() -> list[str]:
    """The nodes whose agents have reported."""
    return []


@pytest.fixture
async def post(store: Store, book: PeakBook, heard: list[str]) -> AsyncIterator[Callable[..., Any]]:
    app = web.Application()
    app.add_routes(peak_routes(book, store.persist, "secret", PodFacts({UID: 7}.get), heard.append))
    async with TestServer(app) as server, ClientSession() as session:

        async def send(body: bytes | dict[str, Any], token: str = "secret") -> tuple[int, str]:
            data = BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
            headers = {"Authorization": f"Bearer {token}"}
            async with session.post(server.make_url(PEAKS_PATH), data=data, headers=headers) as got:
                return got.status, await got.text()

        yield send


async def test_an_agent_that_has_nothing_to_report_is_heard_and_a_stranger_is_not(
    post: Callable[..., Any], heard: list[str]
) -> None:
    assert (await post({"node": "n1", "reports": []}))[0] == 200
    assert (await post({"node": "n2", "reports": []}, token="guessed"))[0] == 401
    assert heard == ["n1"]


async def test_reports_are_taken_and_finals_are_stored_first(
    post: Callable[..., Any], store: Store, book: PeakBook
) -> None:
    final = a_report(container_id=None, final=True)
    body = {"node": "n1", "reports": [to_document(OWN), to_document(final)]}

    assert (await post(body))[0] == 200

    assert store.kept == [final]
    assert book.best(UID, CONTAINER, 1) == final


async def test_the_answer_says_what_is_known_of_running_pods(post: Callable[..., Any]) -> None:
    other = a_report(pod_uid="of-nobody")
    ended = a_report(pod_uid=UID, final=True)
    living = {"node": "n1", "reports": [to_document(each) for each in (OWN, other)]}
    status, words = await post(living)
    assert status == 200
    assert json.loads(words)["known_bytes"] == {UID: 7}
    _, words = await post({"node": "n1", "reports": [to_document(ended)]})
    assert json.loads(words)["known_bytes"] == {}


async def test_a_wrong_token_is_refused(post: Callable[..., Any], book: PeakBook) -> None:
    status, words = await post(a_body(), token="guess")
    assert (status, words) == (401, "this needs the agents' bearer token\n")
    assert len(book) == 0


async def test_bad_reports_get_words_and_change_nothing(
    post: Callable[..., Any], book: PeakBook
) -> None:
    status, words = await post(a_body(cpu_s=-1))
    assert status == 400
    assert words == "reports[0]: Expected `float` >= 0.0 - at `$.cpu_s`\n"
    assert len(book) == 0


async def test_a_body_that_is_too_long_is_refused(post: Callable[..., Any]) -> None:
    status, words = await post(b" " * (MAX_BODY_BYTES + 1))
    assert status == 413
    assert "send fewer" in words


async def test_finals_that_cannot_be_stored_are_not_acknowledged(
    post: Callable[..., Any], store: Store
) -> None:
    store.trouble = OSError("disk full")
    status, _ = await post(a_body(final=True))
    assert status == 503

    store.trouble = None
    assert (await post(a_body(final=True)))[0] == 200
    assert len(store.kept) == 1


async def test_finals_that_a_slow_store_is_still_taking_are_not_handed_to_it_again(
    post: Callable[..., Any], store: Store
) -> None:
    """An agent waits for ten seconds and sends the same again; the store goes on with the first."""
    store.answers.clear()
    first = asyncio.create_task(post(a_body(final=True)))
    await store.asked.acquire()
    async with asyncio.timeout(10):
        assert [(await post(a_body(final=True)))[0] for _ in range(3)] == [503] * 3
        assert (await post(a_body(final=False)))[0] == 200, "the store is not asked for it"
    assert store.asked.locked()
    another = asyncio.create_task(post(a_body(final=True) | {"node": "n2"}))
    await store.asked.acquire()
    store.answers.set()
    assert [(await each)[0] for each in (first, another)] == [200, 200]
    assert (await post(a_body(final=True)))[0] == 200
    assert len(store.kept) == 3
