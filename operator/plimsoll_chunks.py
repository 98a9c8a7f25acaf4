"""Leases items of a job from Plimsoll, or does this worker's share: one file, Python alone.

    import plimsoll_chunks

    for item in plimsoll_chunks.items():
        work(item)

Items are numbers from 0 on. A range counts as done when the loop asks for the next one: keep its
results until then, in a place that outlives the pod. A range that raises counts as not done. A
worker does its own share first, then pieces of others' shares. If Plimsoll does not answer, the
worker goes on by itself to the end of its part: nobody else gets an item before that end. It
reports what it did when Plimsoll answers again; until then a second thread keeps asking.

A worker that never gets an answer does its share, as without Plimsoll. It waits for ALONE_AFTER_S
first, because an earlier pod of the same index may have got answers. If so, that share is done
again from its start, as in every Job. A worker that is cut off while others have pieces of its
share waits for PATIENCE_S and then does these pieces too, so that none is lost.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_S = 12.0
ALONE_AFTER_S = 120.0
"""Wait before a worker without any answer does its share: longer than Plimsoll takes to start."""
PATIENCE_S = 600.0
"""Wait before a worker that is cut off does what others had of its share."""
PAUSE_S = 1.0
LONGEST_PAUSE_S = 15.0
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_STATS = {
    "/sys/fs/cgroup/memory.stat": "anon",
    "/sys/fs/cgroup/memory/memory.stat": "total_rss",
}
"""File with a container's memory -> its field for memory without files and the kernel's."""
_MOST_LIMIT_BYTES = 2**60
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Without a proxy: Plimsoll is in the cluster."""
_NOT_ANSWERED = (http.client.HTTPException, LookupError, OSError, TypeError, ValueError)
"""Raised when Plimsoll cannot be reached, refuses, or answers what makes no sense."""

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Worker:
    """The worker that asks, and its job. url: without the job's path; None: do the share at once.

    index: this worker's, from 0; shares: how many workers there are. name: its pod's. starts: the
    first item of each share, and the total after them; empty if shares are even. job_uid: of the
    Job that its pod belongs to; None if not told.
    """

    name: str
    total: int
    index: int
    shares: int
    url: str | None = None
    job: str = ""
    token: str = ""
    alone_after_s: float = ALONE_AFTER_S
    patience_s: float = PATIENCE_S
    starts: Sequence[int] = ()
    job_uid: str | None = None
    life: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Worker:
        """Read the environment of an Indexed Job's pod. ValueError if it makes no sense.

        PLIMSOLL_ITEMS, PLIMSOLL_SHARES, JOB_COMPLETION_INDEX; and what Plimsoll adds:
        PLIMSOLL_STARTS, with which each worker does its share at once; or PLIMSOLL_CHUNKS_URL,
        PLIMSOLL_CHUNKS_JOB (namespace/name/run), PLIMSOLL_CHUNKS_TOKEN, PLIMSOLL_JOB_UID,
        PLIMSOLL_WORKER. PLIMSOLL_ALONE_AFTER_S and PLIMSOLL_PATIENCE_S are yours.
        """
        total = int(environment["PLIMSOLL_ITEMS"])
        shares = int(environment.get("PLIMSOLL_SHARES", "1"))
        starts = _listed(environment, total, shares)
        worker = cls(
            name=environment.get("PLIMSOLL_WORKER") or socket.gethostname(),
            total=total,
            index=int(environment.get("JOB_COMPLETION_INDEX", "0")),
            shares=shares,
            url=None if starts else environment.get("PLIMSOLL_CHUNKS_URL") or None,
            job=environment.get("PLIMSOLL_CHUNKS_JOB", ""),
            token=environment.get("PLIMSOLL_CHUNKS_TOKEN", ""),
            alone_after_s=float(environment.get("PLIMSOLL_ALONE_AFTER_S", ALONE_AFTER_S)),
            patience_s=float(environment.get("PLIMSOLL_PATIENCE_S", PATIENCE_S)),
            starts=starts,
            job_uid=environment.get("PLIMSOLL_JOB_UID") or None,
        )
        if worker.total < 0 or not 0 <= worker.index < worker.shares:
            raise ValueError(f"{worker.total} items, index {worker.index} of {worker.shares}")
        return worker

    def share(self) -> tuple[int, int]:
        """Return the first item of its share, and how many items it has."""
        first, end = self.starts[self.index : self.index + 2] or (
            self.total * at // self.shares for at in (self.index, self.index + 1)
        )
        return first, end - first


def items(worker: Worker | None = None) -> Iterator[int]:
    """Return the items that this worker is to do, one after the other."""
    for first, count in ranges(worker):
        yield from range(first, first + count)


def ranges(worker: Worker | None = None) -> Iterator[tuple[int, int]]:
    """Return ranges that this worker is to do: first item, and how many."""
    worker = worker or Worker.from_environment()
    talk = _Talk(worker)
    if worker.url is None or not worker.total or not talk.begin():
        if worker.share()[1]:
            yield worker.share()
        return
    try:
        while talk.at < talk.goal or talk.more():
            began_s = time.monotonic()
            yield talk.at, talk.goal - talk.at
            talk.did(time.monotonic() - began_s)
        if not talk.finished:
            yield from _owed(talk)
    finally:
        talk.ended.set()


def dealt(longest_first: Sequence[Any], shares: int | None = None) -> list[Any]:
    """Deal items to shares, there and back; each share begins with its longest item.

    shares: how many, of even size; None: those of the Job, whose small shares join last.
    """
    items, total = iter(longest_first), len(longest_first)
    workers = int(os.environ.get("PLIMSOLL_SHARES", "1")) if shares is None else shares
    listed = _listed(os.environ, total, workers) if shares is None else []
    starts = listed or [total * at // workers for at in range(workers + 1)]
    sizes = [starts[at + 1] - starts[at] for at in range(workers)]
    hands: list[list[Any]] = [[] for _ in sizes]
    turns = max(sizes)
    for turn in range(turns):
        for index in range(workers)[:: -1 if turn % 2 else 1]:
            late = turns - sizes[index] if listed else 0
            if late <= turn < late + sizes[index]:
                hands[index].append(next(items))
    return [item for hand in hands for item in hand]


def _listed(environment: Mapping[str, str], total: int, shares: int) -> list[int]:
    """Return where shares begin, and the total; nothing if they are even."""
    text = environment.get("PLIMSOLL_STARTS", "")
    starts = [int(each) if each.isdecimal() else -1 for each in text.split()]
    if text and ((starts[:1], starts[shares:]) != ([0], [total]) or starts != sorted(starts)):
        raise ValueError(f"PLIMSOLL_STARTS are not {shares} shares of {total} items: {text[:80]!r}")
    return starts


def _owed(talk: _Talk) -> Iterator[tuple[int, int]]:
    """Return what others had of its share, if nobody says what became of it.

    Without it the Job might succeed with items that nobody did.
    """
    if talk.owed:
        _say(f"is cut off, and does what others had of its share: {talk.owed}")
    for first, end in talk.owed:
        for at in range(first, end, max(1, talk.size)):
            yield at, min(end, at + max(1, talk.size)) - at


class _Talk:
    """What a worker knows from Plimsoll's answers. at, goal: the range that it is to do now.

    end: up to it the worker may go by itself. owed: pieces of its share that others have. The
    thread beside the worker changes only these two, and never gives it more to do.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._turn = threading.Lock()
        """Held while Plimsoll is asked, so held for long if it does not answer."""
        self._moving = threading.Lock()
        """Held while the worker goes on, or learns how far it may; never while it asks Plimsoll."""
        self._lease: int | None = None
        self._known = 0
        """Plimsoll knows that all items before this one are done; below ``at`` until it is told."""
        self._again_s = PAUSE_S
        self._answered = True
        self._next_try_s = 0.0
        self._pause_s = PAUSE_S
        self._took_s: float | None = None
        self._seen_bytes = 0
        """The most that the container was seen to hold, with processes that this one started."""
        self.at = self.goal = self.end = self.size = 0
        self.owed: list[tuple[int, int]] = []
        self.finished = False
        self.ended = threading.Event()

    def begin(self) -> bool:
        """Ask for the first time; False if nobody answers for too long."""
        until_s = time.monotonic() + self._worker.alone_after_s
        while not self._tries(self._ask):
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                _say("is never answered, and does its share by itself")
                return False
            time.sleep(min(self._pause_s, left_s))
            self._next_try_s = 0.0
        threading.Thread(target=self._keep, daemon=True).start()
        return True

    def did(self, took_s: float) -> None:
        """Note that the range is done. What comes next does not wait for Plimsoll's answer."""
        with self._moving:
            self.at, self._took_s = self.goal, took_s

    def more(self) -> bool:
        """Go on to the next range; False where there is none: finished, or cut off for too long."""
        until_s: float | None = None
        while not self.finished:
            # Without answers, the worker asks no more while it has work: the other thread asks.
            if (self._answered or self.at >= self.end) and self._tries(self._tell_and_ask):
                until_s = None
                if self.at < self.goal:
                    return True
                time.sleep(0.0 if self.finished else self._again_s)
                continue
            if self._goes_on():
                return True
            if not self.owed and (self._known == self.at or self._in_share()):
                return False  # all of its share is done by itself
            now_s = time.monotonic()
            until_s = until_s or now_s + self._worker.patience_s
            if now_s >= until_s:
                return False
            time.sleep(min(PAUSE_S, until_s - now_s))
        return False

    def _goes_on(self) -> bool:
        """Take the next range without being leased it, if it has one."""
        with self._moving:
            if self.at < self.end:
                self.goal = min(self.end, self.at + max(1, self.size))
            return self.at < self.goal

    def _in_share(self) -> bool:
        first, count = self._worker.share()
        return first < self.at <= first + count

    def _keep(self) -> None:
        """Report now and then that the worker is at work, and learn where its part ends now."""
        while not self.ended.wait(self._again_s):
            self._seen_bytes = max(self._seen_bytes, _held_bytes())
            before = self.end
            if self._lease is not None and self._tries(self._renew) and self.end < before:
                # Another worker waits until Plimsoll hears that this one knows.
                self._tries(self._renew)

    def _tries(self, call: Callable[[], None]) -> bool:
        """Return whether it was answered. While it is not, the pauses between tries grow."""
        with self._turn:
            # The other thread may have tried while this one waited for its turn.
            if time.monotonic() < self._next_try_s:
                return False
            try:
                call()
            except _NOT_ANSWERED as error:
                self._try_later(error)
                return False
            self._answered, self._next_try_s, self._pause_s = True, 0.0, PAUSE_S
            return True

    def _try_later(self, error: Exception) -> None:
        if self._answered:
            _say(f"is not answered, and tries again: {error!r}")
        self._answered = False
        knows_no_job = isinstance(error, urllib.error.HTTPError) and error.code in {400, 401, 404}
        pause_s = LONGEST_PAUSE_S if knows_no_job else self._pause_s
        self._next_try_s = time.monotonic() + pause_s
        self._pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _tell_and_ask(self) -> None:
        if self._known < self.at:
            self._tell()
        self._ask()

    def _tell(self) -> None:
        told = self._me() | {"to": self.at, "peak_bytes": self._peak_bytes(), **_limit()}
        if self._took_s is not None:
            told["seconds"] = self._took_s
        answer = _call(self._worker, "done", told)
        if answer.get("ack") == "refused":
            _say(f"had its lease {self._lease} taken back: others do it")
            self._lease, self.end = None, self.at
        self._known, self._took_s = self.at, None
        self._hear(answer)

    def _ask(self) -> None:
        query = urllib.parse.urlencode({**self._me(), **_limit()})
        answer = _call(self._worker, f"next?{query}", None)
        if "lease" in answer:
            lease, first = int(answer["lease"]), int(answer["first"])
            size, end = int(answer["items"]), int(answer["end"])
            if not 0 <= first < first + size <= end <= self._worker.total:
                raise ValueError(f"items {first} to {first + size} of {self._worker.total}")
            self._lease, self.size, self.end = lease, size, end
            self.at, self.goal, self._known = first, first + size, first
        else:
            self.finished = answer["none"] == "finished"
            self.end = self.at
        self._hear(answer)

    def _peak_bytes(self) -> int:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return max(1, own, self._seen_bytes, _held_bytes())

    def _renew(self) -> None:
        answer = _call(self._worker, "renew", self._me())
        if answer.get("kept"):
            self._hear(answer)

    def _hear(self, answer: Answer) -> None:
        """Take in an answer. The worker keeps the range it has begun, wherever its part ends."""
        owed = [(int(first), int(end)) for first, end in answer.get("owed", ())]
        with self._moving:
            if "lease" not in answer and "end" in answer:
                self.end = max(int(answer["end"]), self.goal)
            self.owed = list(self._beyond(owed))
        self._again_s = min(max(0.05, float(answer.get("again_s", PAUSE_S))), 60.0)

    def _beyond(self, owed: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Leave out its own part: its end may have been lowered as the answer was written."""
        for first, end in owed:
            pieces = [(first, end)]
            if first < self.end and end > self._known:
                # Many pieces are reported as one, which may contain its own part.
                pieces = [(first, self._known), (self.end, end)]
            yield from ((one, other) for one, other in pieces if one < other)

    def _me(self) -> dict[str, Any]:
        worker = self._worker
        who = {"worker": worker.name, "index": worker.index, "life": worker.life, "end": self.end}
        known = {"job_uid": worker.job_uid, "lease": self._lease}
        return {**who, **{name: value for name, value in known.items() if value is not None}}


def _call(worker: Worker, what: str, body: Mapping[str, Any] | None) -> Answer:
    request = urllib.request.Request(
        f"{worker.url}/v1/chunks/{worker.job}/{what}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {worker.token}"},
    )
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S) as response:
            answer = json.loads(response.read(65536))
    except urllib.error.HTTPError as error:
        with error:
            error.msg += f" {error.read(500).decode(errors='replace')}"
        raise
    if not isinstance(answer, dict) or not {"lease", "none", "ack", "kept"} & set(answer):
        raise ValueError("Plimsoll's answer makes no sense")
    return answer


def _limit() -> dict[str, int]:
    for path in _LIMITS:
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            limit = int(file.read(64))
            return {"limit_bytes": limit} if 0 < limit < _MOST_LIMIT_BYTES else {}
    return {}


def _held_bytes() -> int:
    """Return what all processes of the container hold now; 0 if unknown."""
    for path, name in _STATS.items():
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            for line in file:
                if line.startswith(f"{name} "):
                    return int(line.split()[1])
    return 0


def _say(words: str) -> None:
    print(f"plimsoll_chunks: this worker {words}", file=sys.stderr)
