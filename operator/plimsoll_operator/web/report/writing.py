"""Writes a file completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(out: Path, page: str) -> None:
    """Write to a new file beside it first, so that a full disk or a kill leaves the old file."""
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        # mkstemp makes the file private, but the page is for sharing.
        os.chmod(name, 0o644)
        os.replace(name, out)
    except BaseException:
        os.unlink(name)
        raise
