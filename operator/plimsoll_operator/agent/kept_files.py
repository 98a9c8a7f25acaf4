"""Keeps the kernel's files open that are read at every tick.

To open and close one of a cgroup's files takes ten times as long as to read it. A kept file is read
again from its beginning. Once its cgroup is gone, the kernel refuses that, even if another cgroup
has the same name now: then the file is opened again by its name.
"""

from __future__ import annotations

import os
import resource
import weakref
from typing import Final

from plimsoll_operator.agent.cgroup_memory import MOST_TEXT_BYTES

MOST_KEPT: Final = 1000
"""Files of some hundred pods. The kernel keeps a page for each: 4 MB."""
OTHERS: Final = 256
"""Files that the process may open beside these."""


def room_for_files() -> int:
    """Return how many files may be kept open, by the process' own limit."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_KEPT if soft == resource.RLIM_INFINITY else min(MOST_KEPT, max(0, soft - OTHERS))


class KeptFiles:
    """Belongs to one thread. Files beyond the limit are opened for each reading."""

    def __init__(self, most: int | None = None) -> None:
        """most: files that are kept open; None: what the process' limit allows."""
        self._most = room_for_files() if most is None else most
        self._open: dict[str, int] = {}
        self._below: dict[str, list[str]] = {}
        """Folder -> the paths in it that are open."""
        weakref.finalize(self, _close_all, self._open)

    def __len__(self) -> int:
        return len(self._open)

    def text(self, path: str) -> str:
        """Return the first 64 KiB of one of the kernel's files. OSError if it cannot be read."""
        descriptor = self._open.get(path)
        if descriptor is not None:
            try:
                return os.pread(descriptor, MOST_TEXT_BYTES, 0).decode("ascii")
            except OSError:
                self._close(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if len(self._open) < self._most:
            self._open[path] = descriptor
            self._below.setdefault(path.rpartition("/")[0], []).append(path)
            return os.pread(descriptor, MOST_TEXT_BYTES, 0).decode("ascii")
        try:
            return os.read(descriptor, MOST_TEXT_BYTES).decode("ascii")
        finally:
            os.close(descriptor)

    def close_below(self, folder: str) -> None:
        """Close the files of a folder that is gone."""
        for path in self._below.pop(folder, ()):
            os.close(self._open.pop(path))

    def _close(self, path: str) -> None:
        os.close(self._open.pop(path))
        folder = path.rpartition("/")[0]
        self._below[folder].remove(path)
        if not self._below[folder]:
            del self._below[folder]


def _close_all(descriptors: dict[str, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)
    descriptors.clear()
