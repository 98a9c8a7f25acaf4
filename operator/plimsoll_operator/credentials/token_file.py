"""Reads a bearer token from a file, such as a mounted Secret that anybody may have broken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 16 * 1024
_USABLE: Final = re.compile(rb"[!-~]+")
"""Printable, without spaces: it travels in a header."""


class UnusableToken(OSError):
    """The file holds no token; like an unreadable file, it is looked at again later."""


def read_token(path: Path) -> str:
    """The file's token, without the white space around it.

    Raises:
        OSError: if there is no such file, or it holds no usable token.

    """
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1).strip()
    if len(text) > MOST_BYTES or not _USABLE.fullmatch(text):
        raise UnusableToken(
            f"{path} holds no token of 1 to {MOST_BYTES} printable characters; write one into it"
        )
    return text.decode("ascii")
