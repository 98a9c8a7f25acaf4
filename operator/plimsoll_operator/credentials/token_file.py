"""A bearer token in a file, such as a mounted Secret that anybody may have broken."""

from __future__ import annotations

import re
import secrets
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


def token_file_in(folder: Path) -> Path:
    """Return the file of the token; a new token is written if it holds none."""
    path = folder / "token"
    try:
        read_token(path)
    except (FileNotFoundError, UnusableToken):
        # The file is replaced as a whole, because a write to a full disk leaves an empty one.
        written = path.with_suffix(".new")
        written.touch(mode=0o600)
        written.write_text(secrets.token_urlsafe(32), encoding="utf-8")
        written.replace(path)
    return path
