"""A worker that is cut off after an answer continues at once, and never beyond what it said."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

import plimsoll_chunks
from plimsoll_chunks import Worker
from plimsoll_predictor.splitting import leases as records
from plimsoll_predictor.splitting.leases import Heard, Lease, Leases, Sizing

RANGES, RANGE_S = 40, 0.02
TIMEOUT_S = 0.2
FIRST = {"lease": 1, "first": 0, "items": 1, "end": RANGES, "again_s": 0.05, "owed": []}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plimsoll_chunks, "TIMEOUT_S", TIMEOUT_S)
    monkeypatch.setattr(plimsoll_chunks, "PAUSE_S", 0.01)
    monkeypatch.setattr(plimsoll_chunks, "LONGEST_PAUSE_S", 0.02)


def a_worker(
    url: str = "http://nobody", items: int = RANGES, index: int = 0, shares: int = 1
) -> Worker:
    return Worker(f"w-{index}", items, index, shares, url, "team/scan/run-1")


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that answers the first request and leaves all others without an answer."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    held.append(connection)
                    if len(held) == 1:
                        connection.recv(65536)
                        body = json.dumps(FIRST).encode()
                        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
                        connection.sendall(head.encode() + body)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    for each in held:
        each.close()


def test_a_worker_that_is_cut_off_waits_for_few_answers_whatever_it_has_to_do(silent: str) -> None:
    began_s, worked_s, did = time.monotonic(), 0.0, []
    for item in plimsoll_chunks.items(a_worker(silent)):
        did.append(item)
        item_began_s = time.monotonic()
        time.sleep(RANGE_S)
        worked_s += time.monotonic() - item_began_s
    beyond_s = time.monotonic() - began_s - worked_s
    assert did == list(range(RANGES))
    assert beyond_s / TIMEOUT_S < RANGES / 5, "it waits for answers in most of its ranges"


def test_a_worker_that_is_cut_off_asks_once_itself_and_once_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, calls = threading.current_thread(), Counter[bool]()

    def call(_: Worker, what: str, __: Mapping[str, Any] | None) -> Mapping[str, Any]:
        calls[threading.current_thread() is own] += 1
        if calls.total() == 1:
            return FIRST
        time.sleep(0.05)
        raise OSError(f"{what} is not answered")

    monkeypatch.setattr(plimsoll_chunks, "_call", call)
    for _ in plimsoll_chunks.items(a_worker()):
        time.sleep(RANGE_S)
    assert calls[True] <= 1 + 2
    assert calls[False] > 2, "the thread beside it goes on asking"


def test_an_end_that_is_heard_while_the_worker_goes_on_spares_what_it_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, answer = threading.Event(), threading.Event()
    own, said = threading.current_thread(), list[tuple[str, Any]]()

    def call(_: Worker, what: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if what.startswith("next") and not said:
            said.append((what, None))
            return {**FIRST, "end": 10}
        if threading.current_thread() is not own and not asked.is_set():
            asked.set()
            answer.wait(10)
            return {"kept": True, "end": 2, "again_s": 0.05, "owed": [[2, 10]]}
        said.append((what, body and body["end"]))
        if what == "renew":
            return {"kept": True, "end": 4, "again_s": 0.05, "owed": [[4, 10]]}
        if what == "done":
            return {"ack": "done", "end": 4, "again_s": 0.05, "owed": [[4, 10]]}
        return {"none": "finished", "again_s": 0.05, "owed": []}

    monkeypatch.setattr(plimsoll_chunks, "_call", call)
    talk = plimsoll_chunks._Talk(a_worker())
    assert talk.begin()
    assert asked.wait(10)
    talk._answered = False  # as after a call that failed
    for _ in range(3):
        talk.did(0.1)
        assert talk.more(), "it does not wait for the call that is under way"
    answer.set()
    while talk.end == 10:
        time.sleep(0.01)
    assert (talk.at, talk.goal, talk.end) == (3, 4, 4)
    assert talk.owed == [(4, 10)], "not what it does, and did without a word"
    talk.did(0.1)
    assert not talk.more()
    assert ("done", 4) in said


def test_many_owed_pieces_that_are_told_as_one_are_owed_on_both_sides_of_its_own_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leased = {"lease": 9, "first": 20, "items": 2, "end": 24, "again_s": 9.0, "owed": [[10, 38]]}
    monkeypatch.setattr(plimsoll_chunks, "_call", lambda *_: leased)
    talk = plimsoll_chunks._Talk(a_worker())
    assert talk.begin()
    talk.ended.set()
    assert talk.owed == [(10, 20), (24, 38)]
    talk.ended.set()


class Lossy:
    """A record, and a network that loses and delays messages in both directions."""

    def __init__(self, items: int, shares: int, seed: int) -> None:
        self.leases = Leases(items, shares)
        self.chance = random.Random(seed)
        self.lock = threading.Lock()

    def call(self, worker: Worker, what: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        self.lose()
        with self.lock:
            answer = self.answered(worker, what, body)
        self.lose()
        return answer

    def lose(self) -> None:
        with self.lock:
            lost, late_s = self.chance.random() < 0.3, self.chance.uniform(0, 0.02)
        time.sleep(late_s)
        if lost:
            raise OSError("lost")

    def answered(
        self, worker: Worker, what: str, body: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        path, _, query = what.partition("?")
        said = dict(urllib.parse.parse_qsl(query)) if body is None else body
        who = records.Worker(worker.name, worker.index, worker.life, goes_on=True)
        heard = Heard(int(said["lease"]), int(said["end"])) if "lease" in said else None
        leases = self.leases
        if path == "next":
            size = Sizing(lambda left: self.chance.randint(1, max(1, left // 4)))
            found = leases.next(who, heard, time.monotonic(), size)
            answer: dict[str, Any] = {"none": str(found)}
            if isinstance(found, Lease):
                answer = {"lease": found.number, "first": found.first}
                answer |= {"items": found.items, "end": found.end}
        elif heard is None:
            raise ValueError("say which lease it is")
        elif path == "done":
            answer = {"ack": str(leases.acknowledge(who, heard, int(said["to"])))}
            part = leases.parts.get(worker.name)
            answer |= {"end": part.told} if part is not None and part.has(heard) else {}
        else:
            part = leases.renew(who, heard)
            answer = {"kept": part is not None} | ({"end": part.told} if part else {})
        return {**answer, "again_s": 0.05, "owed": leases.owed(who)}


@pytest.mark.parametrize("seed", range(4))
def test_no_item_is_done_twice_whatever_is_lost_while_workers_go_on(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    items, shares = 90, 3
    network, did = Lossy(items, shares, seed), Counter[int]()
    monkeypatch.setattr(plimsoll_chunks, "_call", network.call)

    def work(index: int) -> None:
        for item in plimsoll_chunks.items(a_worker(items=items, index=index, shares=shares)):
            time.sleep(0.002 + 0.01 * (index == 0))
            with network.lock:
                did[item] += 1
        with network.lock:
            # Its pod has succeeded; an answer that was lost may have given it more.
            network.leases.died(f"w-{index}")
            network.leases.ended(index)

    working = [threading.Thread(target=work, args=(index,)) for index in range(shares)]
    for each in working:
        each.start()
    for each in working:
        each.join(60)
    assert not any(each.is_alive() for each in working)
    assert did == Counter(range(items))
