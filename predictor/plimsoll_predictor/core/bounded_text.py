"""Bounds the texts that strangers write, where they are read: names, keys, images.

Each text is kept in several places: in rows and their indexes, in the feed, in every admission
replica and its copy on disk. A bound on the text is therefore a bound on all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

MOST_RUN_BYTES: Final = 200
"""The most bytes of a run's key."""
MOST_NODE_BYTES: Final = 64
MOST_IMAGE_BYTES: Final = 128
MOST_ITEM_BYTES: Final = 128
"""The most bytes of an item, and of a workflow's run."""
MOST_LABEL_BYTES: Final = 63
"""The most bytes of a label's value or a container's name; the API server refuses more."""

MOST_BYTES_OF: Final[Mapping[str, int]] = {
    "node": MOST_NODE_BYTES,
    "node_type": MOST_LABEL_BYTES,
    "image": MOST_IMAGE_BYTES,
    "workflow_run": MOST_ITEM_BYTES,
    "item": MOST_ITEM_BYTES,
}
"""Column of an observation -> its bound."""

_HASH_DIGITS: Final = 32
_MARK: Final = "~"


def bounded(text: str, most_bytes: int) -> str:
    """Return the text if it is short and can be stored, else its beginning with a hash of it all.

    Two texts that differ stay different. Doing it twice changes nothing. Characters that no
    database stores (a NUL, half a surrogate pair) are replaced.

    most_bytes: the bound of the text in UTF-8; above the hash's 33.

    >>> bounded("train-7", 40), bounded("train-" * 50, 40)
    ('train-7', 'train-t~7169158e960f6e7f523adb3765242c64')
    """
    # Nearly every text is a short name, and this is asked several times for each pod.
    if len(text) <= most_bytes and text.isascii() and text.isprintable():
        return text
    # Only the beginning of a text is kept, so a long text is not encoded in full here.
    written = text[: most_bytes + 1].encode("utf-8", "replace").replace(b"\0", b"?")
    if len(written) <= most_bytes and written.decode() == text:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    head = written[: most_bytes - len(_MARK) - _HASH_DIGITS].decode("utf-8", "ignore")
    return f"{head}{_MARK}{digest}"


def bounded_or_none(value: object, most_bytes: int) -> str | None:
    """Return the bounded text; None if the value is no text, or an empty one."""
    return bounded(value, most_bytes) if isinstance(value, str) and value else None
