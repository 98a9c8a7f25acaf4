"""Keeps what the agent knows on disk, for the next agent if this one is killed.

One file of lines, each with its checksum, replaced as a whole. Running maxima and unsent reports
are in the same file, so that a cgroup's end moves it from the one to the other at once. The file
outlives the agent, not the node: it is not forced to disk, because a slow disk would stop the
sampling, and a node that loses power loses its pods too.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog

from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.outbox import Key, Waiting
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.documents import from_document, to_document

log = structlog.get_logger()

FILE_NAME: Final = "peaks.spool"
RECENT_S: Final = 15.0
"""Maxima of a stale spool count for so long: a run may be unseen for as long and still teach."""
STALE_NAME: Final = "peaks.stale"
"""What the spool is called once a later one could not be written."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """The spool's content. running: maxima of living cgroups. waiting: unacknowledged reports."""

    running: Mapping[Key, Peaks] = field(default_factory=dict)
    waiting: tuple[Waiting, ...] = ()


class Spool:
    """The file in one agent's state folder. A disk that cannot be written is logged once."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._stale = folder / STALE_NAME
        self._writable = True
        self._saved_crc: int | None = None

    def load(self, clock_s: Callable[[], float] = time.monotonic) -> Spooled:
        """Read what was saved last; it is empty at first. Damaged lines are skipped and logged.

        Of a stale file final reports count, because they stay true, and the maxima of some seconds
        ago. Its agent may have gone on for long, and told the controller of what ran; to go on from
        older maxima would count all that time as unseen.

        clock_s: the clock by which maxima say when they were read.
        """
        stale, saved = _read(self._stale), _read(self._path)
        ended = tuple(each for each in stale.waiting if each.report.final)
        now_s = clock_s()
        recent = {
            key: peaks
            for key, peaks in stale.running.items()
            if peaks.read_clock_s is not None and 0 <= now_s - peaks.read_clock_s <= RECENT_S
        }
        return Spooled({**recent, **saved.running}, ended + saved.waiting)

    def save(self, spooled: Spooled) -> bool:
        """Replace what was saved. False if the disk refuses; what it has is stale then."""
        content = b"".join(_encode(spooled))
        crc = zlib.crc32(content)
        if crc == self._saved_crc:
            return True
        partial = self._path.with_suffix(".partial")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(content)
            os.replace(partial, self._path)
        except OSError as error:
            if self._writable:
                log.error(
                    "spool cannot be written; unsent reports live in memory only until it can",
                    file=str(self._path),
                    why=str(error),
                )
            self._writable, self._saved_crc = False, None
            with contextlib.suppress(OSError):  # half a file does no harm if it stays
                partial.unlink()
            # A full disk renames, one that is read-only does not.
            with contextlib.suppress(OSError):
                os.replace(self._path, self._stale)
            return False
        if not self._writable:
            log.info("spool is written again", file=str(self._path))
        with contextlib.suppress(OSError):  # what is in it is in the new file, or was sent
            self._stale.unlink()
        self._writable, self._saved_crc = True, crc
        return True


def _read(path: Path) -> Spooled:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return Spooled()
    except OSError as error:
        log.error("spool unreadable, starting without it", file=str(path), why=str(error))
        return Spooled()
    running: dict[Key, Peaks] = {}
    waiting: list[Waiting] = []
    bad = [n for n, line in enumerate(lines, 1) if not _decode_into(line, running, waiting)]
    if bad:
        log.warning(
            "damaged lines skipped in the spool",
            file=str(path),
            lines=bad[:20],
            count=len(bad),
        )
    return Spooled(running, tuple(waiting))


def _encode(spooled: Spooled) -> Iterable[bytes]:
    for (pod_uid, container_id), peaks in spooled.running.items():
        yield _line({"key": [pod_uid, container_id], "peaks": to_document(peaks)})
    for each in spooled.waiting:
        yield _line({"report": to_document(each.report), "age_s": each.age_s})


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decode_into(line: bytes, running: dict[Key, Peaks], waiting: list[Waiting]) -> bool:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return False
        record = json.loads(text)
        if "peaks" in record:
            pod_uid, container_id = record["key"]
            running[pod_uid, container_id] = from_document(Peaks, record["peaks"], "peaks")
        else:
            report = from_document(PeakReport, record["report"], "a report")
            waiting.append(Waiting(report, float(record["age_s"])))
    except (ValueError, TypeError, KeyError):
        return False  # fields of another version, or a foreign line
    return True
