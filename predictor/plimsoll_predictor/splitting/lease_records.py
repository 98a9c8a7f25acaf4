"""Writes the record of leases as a document, and reads it back after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from plimsoll_predictor.core.documents import from_document as read_document
from plimsoll_predictor.core.documents import to_document as write_document
from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.jobs import MOST_WORKERS
from plimsoll_predictor.splitting.leases import MOST_NAME_CHARS, Leases, Part, Worker

MOST_LIFE_CHARS = 64

_Whole = Annotated[int, msgspec.Meta(ge=0, le=MOST_ITEMS)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME_CHARS)]
_Life = Annotated[str, msgspec.Meta(max_length=MOST_LIFE_CHARS)]


class _Part(msgspec.Struct):
    name: _Name
    index: _Whole
    life: _Life
    goes_on: bool
    number: _Whole
    since: _Whole
    first: _Whole
    leased: _Whole
    end: _Whole
    told: _Whole
    held: _Whole = 0


class _Document(msgspec.Struct):
    items: Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]
    shares: Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]
    number: _Whole
    done: _Whole
    silent: Annotated[list[_Whole], msgspec.Meta(max_length=MOST_WORKERS)]
    free: Annotated[list[tuple[_Whole, _Whole]], msgspec.Meta(max_length=3 * MOST_WORKERS)]
    parts: Annotated[list[_Part], msgspec.Meta(max_length=MOST_WORKERS)]
    last: Annotated[dict[_Name, _Whole], msgspec.Meta(max_length=MOST_WORKERS)]
    begun: Annotated[list[_Whole], msgspec.Meta(max_length=3 * MOST_WORKERS)] = []
    """Part of ``free``: an older version ignores this field and gives these pieces to anybody."""


def to_document(leases: Leases) -> dict[str, Any]:
    """Return the record in plain JSON types, without times: another clock may read it."""
    parts = [
        _Part(
            *(each.worker.name, each.worker.index, each.worker.life, each.worker.goes_on),
            *(each.number, each.since, each.first, each.leased, each.end, each.told, each.held),
        )
        for each in leases.parts.values()
    ]
    document = _Document(
        items=leases.items,
        shares=leases.shares,
        number=leases.number,
        done=leases.done,
        silent=sorted(leases.silent),
        free=leases.free,
        parts=parts,
        last=leases.last,
        begun=sorted(leases.begun),
    )
    written: dict[str, Any] = write_document(document)
    return written


def from_document(document: object) -> Leases:
    """Go on where the record ends.

    Raises:
        ValueError: if it is no such document, or its items do not add up to the job's.
    """
    read = read_document(_Document, document, "the leases of a job")
    leases = Leases(read.items, read.shares)
    leases.silent, leases.begun = set(read.silent), set(read.begun)
    leases.number, leases.free, leases.last = read.number, [*read.free], {**read.last}
    for each in read.parts:
        worker = Worker(each.name, each.index, each.life, each.goes_on)
        numbers = each.number, each.since
        leases.parts[each.name] = Part(
            worker, *numbers, each.first, each.leased, each.end, each.told, each.held
        )
    _check(leases, read)
    return leases


def _check(leases: Leases, read: _Document) -> None:
    """Raise ValueError unless each item is in at most one place, and the others are done."""
    if any(index >= read.shares for index in (*read.silent, *(each.index for each in read.parts))):
        raise ValueError("the leases of a job: an index that it does not have")
    if len(leases.parts) != len(read.parts) or len(leases.silent) != len(read.silent):
        raise ValueError("the leases of a job: a worker or an index is there twice")
    for each in read.parts:
        orderly = each.first <= each.leased <= each.told <= each.end and each.held <= each.told
        if not orderly or each.number > read.number:
            raise ValueError(f"the leases of a job: what {each.name} has makes no sense")
    if not leases.begun <= {first for first, _ in leases.free}:
        raise ValueError("the leases of a job: what was begun is not free")
    _check_pieces(leases, read)


def _check_pieces(leases: Leases, read: _Document) -> None:
    end = 0
    for first, then in sorted(_pieces(leases)):
        if first < end or then < first or then > read.items:
            raise ValueError(f"the leases of a job: items from {first} on are there twice")
        end = then
    if leases.done != read.done:
        raise ValueError(f"the leases of a job: {leases.done} items are done, not {read.done}")


def _pieces(leases: Leases) -> Iterator[tuple[int, int]]:
    yield from leases.free
    yield from (leases.share(index) for index in leases.silent)
    yield from ((each.first, each.end) for each in leases.parts.values())
