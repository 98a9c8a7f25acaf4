"""Reports of trainings as the store keeps them: only a task's newest one is plain text.

Of a report's 15 kB, 10 are the trials of its search; compressed it has 5 to 7. Nothing is left
out: a training may be logged to a tracking server long after newer ones. An older Plimsoll finds no
facts in a compressed report, and reads the newest as before.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any, Final

import orjson

_COMPRESSED: Final = "zlib"
"""The only name in a compressed report; its value is the report, in base64."""
BEGINNING: Final = f'{{"{_COMPRESSED}":'
"""A compressed report begins so."""


def compressed(text: str) -> str:
    """Compress a report."""
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return orjson.dumps({_COMPRESSED: packed}).decode()


def read(text: str) -> Any:
    """Return a report's document, compressed or not.

    Raises:
        ValueError: if nobody can read it.
    """
    document = orjson.loads(text)
    if not (isinstance(document, dict) and document.keys() == {_COMPRESSED}):
        return document
    try:
        return orjson.loads(zlib.decompress(base64.b64decode(document[_COMPRESSED])))
    except (TypeError, zlib.error) as error:
        raise ValueError(f"the report cannot be decompressed: {error}") from error
