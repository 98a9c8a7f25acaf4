"""Leases items of a job from Plimsoll, or does this worker's share: one file, Python alone.

    import plimsoll_chunks

    for item in plimsoll_chunks.items():
        work(item)

Items are numbers from 0 on. A range counts as done when the loop asks for the next one; what raises
counts as not done. A worker that never reached Plimsoll does its share on its own, as if Plimsoll
did not exist. One that reached it, or may have, does only what it is leased: if it is cut off for
too long, ``CutOff`` is raised, and whoever made the worker makes the next. So no item is in two
workers' hands by the record; an item whose worker died is done again from its start. Only where
Plimsoll is away for longer than ALONE_AFTER_S in the middle of a job, pods that are made then do
whole shares, and with them what others did before.
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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 10.0
ALONE_AFTER_S = 120.0
"""Until a worker that reached nobody does its share: longer than Plimsoll takes to start again. A
pod before it, of the same index, may have been heard, and then others may do this share."""
PATIENCE_S = 600.0
"""Until a worker that was heard, and no longer is, gives up."""
RENEW_S = 60.0
_PAUSE_S = 1.0
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Straight there: it is in the cluster, whatever proxy leads out of it."""


class CutOff(RuntimeError):
    """Plimsoll was reached, or may have been, and is no longer: others may do what is left."""


class _NeverReached(Exception):
    """Nobody can have heard it: no connection, or a refusal before anything was noted."""


@dataclass(frozen=True)
class Worker:
    """Who asks, and for what. url: without the job's path; None to do the share at once.

    index: this worker's, from 0; shares: of how many workers.
    """

    name: str
    total: int
    index: int
    shares: int
    url: str | None = None
    job: str = ""
    token: str = ""
    alone_after_s: float = ALONE_AFTER_S

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Worker:
        """Read what a pod of an Indexed Job is told. ValueError for what makes no sense.

        PLIMSOLL_ITEMS, PLIMSOLL_SHARES, JOB_COMPLETION_INDEX; and, to lease, PLIMSOLL_CHUNKS_URL,
        PLIMSOLL_CHUNKS_JOB (namespace/name/run), PLIMSOLL_CHUNKS_TOKEN; PLIMSOLL_ALONE_AFTER_S.
        """
        worker = cls(
            name=environment.get("PLIMSOLL_WORKER") or socket.gethostname(),
            total=int(environment["PLIMSOLL_ITEMS"]),
            index=int(environment.get("JOB_COMPLETION_INDEX", "0")),
            shares=int(environment.get("PLIMSOLL_SHARES", "1")),
            url=environment.get("PLIMSOLL_CHUNKS_URL") or None,
            job=environment.get("PLIMSOLL_CHUNKS_JOB", ""),
            token=environment.get("PLIMSOLL_CHUNKS_TOKEN", ""),
            alone_after_s=float(environment.get("PLIMSOLL_ALONE_AFTER_S", ALONE_AFTER_S)),
        )
        if worker.total < 1 or not 0 <= worker.index < worker.shares:
            raise ValueError(f"{worker.total} items, index {worker.index} of {worker.shares}")
        return worker

    def share(self) -> tuple[int, int]:
        """Return the first item and how many of its share."""
        first = self.total * self.index // self.shares
        return first, self.total * (self.index + 1) // self.shares - first


def items(worker: Worker | None = None) -> Iterator[int]:
    """Return the items that this worker is to do, one after the other."""
    for first, count in ranges(worker):
        yield from range(first, first + count)


def ranges(worker: Worker | None = None) -> Iterator[tuple[int, int]]:
    """Return ranges that this worker is to do: first item, and how many.

    Raises:
        CutOff: if Plimsoll is silent for PATIENCE_S.
    """
    worker = worker or Worker.from_environment()
    try:
        answer = _first_answer(worker)
    except _NeverReached as why:
        print(f"plimsoll_chunks: works alone: {why}", file=sys.stderr)
        if worker.share()[1]:
            yield worker.share()
        return
    while answer.get("none") != "finished":
        if "lease" in answer:
            yield from _leased(worker, answer)
        else:
            time.sleep(float(answer.get("again_s", _PAUSE_S)))
        answer = _patiently(lambda: _ask(worker))


def _leased(worker: Worker, answer: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Return a lease's range; keep it while it is done, and acknowledge it after."""
    began_s, ended = time.monotonic(), threading.Event()
    keeper = threading.Thread(target=_keep, args=(worker, answer["lease"], ended), daemon=True)
    keeper.start()
    try:
        yield answer["first"], answer["items"]
    finally:
        ended.set()
    told = {
        "worker": worker.name,
        "lease": answer["lease"],
        "seconds": time.monotonic() - began_s,
        "peak_bytes": max(1, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024),
    }
    ack = _patiently(lambda: _call(worker, "done", told)).get("ack")
    if ack == "refused":
        print(
            f"plimsoll_chunks: lease {answer['lease']} was taken back: others do it",
            file=sys.stderr,
        )


def _keep(worker: Worker, lease: int, ended: threading.Event) -> None:
    while not ended.wait(RENEW_S):
        try:
            _call(worker, "renew", {"worker": worker.name, "lease": lease})
        except (OSError, ValueError, _NeverReached):
            continue


def _first_answer(worker: Worker) -> Mapping[str, Any]:
    """Ask for the first time; _NeverReached only if nobody can have heard any of the tries."""
    if worker.url is None:
        raise _NeverReached("PLIMSOLL_CHUNKS_URL is not set")
    until_s = time.monotonic() + worker.alone_after_s
    while True:
        try:
            _connect(worker.url)
            return _ask(worker)
        except _NeverReached:
            if time.monotonic() >= until_s:
                raise
            time.sleep(_PAUSE_S)
        except (OSError, ValueError):
            # It may have been heard: from here on others may have this worker's share.
            break
    return _patiently(lambda: _ask(worker))


def _connect(url: str) -> None:
    """Raise _NeverReached if there is no way to it: then nothing was sent."""
    parts = urllib.parse.urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), TIMEOUT_S).close()
    except OSError as error:
        raise _NeverReached(str(error)) from error


def _patiently(call: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except (OSError, ValueError, _NeverReached) as error:
            if time.monotonic() > until_s:
                raise CutOff(f"Plimsoll is silent: {error}") from error
            time.sleep(_PAUSE_S)


def _ask(worker: Worker) -> Mapping[str, Any]:
    query = urllib.parse.urlencode({"worker": worker.name, "index": worker.index})
    return _call(worker, f"next?{query}", None)


def _call(worker: Worker, what: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Raise _NeverReached, or OSError and ValueError where it may have been heard."""
    request = urllib.request.Request(
        f"{worker.url}/v1/chunks/{worker.job}/{what}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {worker.token}"},
    )
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S) as response:
            answer = json.loads(response.read(65536))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in {400, 401, 404}:
            raise _NeverReached(f"Plimsoll answers {error.code}") from error
        raise
    except urllib.error.URLError as error:
        if isinstance(error.reason, (ConnectionRefusedError, socket.gaierror)):
            raise _NeverReached(str(error.reason)) from error
        raise
    except http.client.HTTPException as error:
        # Cut off in the middle of an answer, or none of HTTP: http.client's errors are no OSError.
        raise OSError(str(error)) from error
    if not isinstance(answer, dict):
        raise ValueError("Plimsoll's answer is no object")
    return answer
