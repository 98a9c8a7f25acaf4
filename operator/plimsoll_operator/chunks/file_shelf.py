"""Documents as files of a folder, each put in its place at once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from plimsoll_operator.chunks.job_tokens import JobName

MOST_BYTES: Final = 64 * 2**20


class FileShelf:
    """A file a job. folder: exists, and nobody else writes there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        """Write it beside, flush it, and put it in the place of the one before."""
        path = self._path(job)
        beside = path.with_suffix(".new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, job: JobName) -> Any | None:
        """Return the document; None if there is none. ValueError for a file that holds none."""
        path = self._path(job)
        if not path.exists():
            return None
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path} is larger than {MOST_BYTES} bytes; no record is")
        return json.loads(path.read_text(encoding="utf-8"))

    def _path(self, job: JobName) -> Path:
        # Names hold no slash and no underscore, so two jobs never share a file.
        return self._folder / f"{job.namespace}_{job.name}_{job.run}.json"
