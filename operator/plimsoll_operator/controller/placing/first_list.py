"""Knows whether the pods that there were at the controller's start were all seen.

The watch first lists pods in pages, and then brings changes; nothing says where the list ends. A
change shows that it has ended. In a cluster where nothing changes, time shows it. A list of our own
(``listed_pods``) tells earlier that all its pods were handled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Final

QUIET_S: Final = 2.0
"""Listed pods are handled side by side: so long after the last of them, all are handled."""
UNCHANGED_S: Final = 30.0
"""If nothing changes for so long after the newest listed pod, the list has ended."""
NONE_LISTED_S: Final = 60.0
"""If none was listed for so long, there are none. Before that, the API server may be away."""
HANDLED_WITHIN_S: Final = 300.0
"""Nobody waits longer than this for the pods of our own list: one of them may never be handled."""


class FirstList:
    """Complete from the beginning where nothing begins it, as in a replay."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._newest_s = 0.0
        """When a listed pod was handled last, else when the wait began."""
        self._began_s = 0.0
        self._listed = self._changed = False
        self._complete = True
        self._seen: set[str] = set()
        self._unseen: set[str] | None = None
        """Pods of our own list that were not handled yet; None while there is no such list."""

    def begin(self) -> None:
        """Wait for the list from now on."""
        self._began_s = self._newest_s = self._monotonic_s()
        self._complete = self._listed = self._changed = False
        self._seen, self._unseen = set(), None

    def expect(self, uids: Collection[str]) -> None:
        """Note the pods of our own list, as often as it is read. Those that are gone drop out."""
        if self._unseen is None:
            self._unseen = set(uids) - self._seen
        else:
            self._unseen &= set(uids)

    def see(self, uid: str | None = None, *, listed: bool) -> None:
        """Note that a pod was handled. listed: by the list, not by a change."""
        if uid is not None and self._unseen is not None:
            self._unseen.discard(uid)
        if self._complete:
            return
        if uid is not None and self._unseen is None:
            self._seen.add(uid)
        if listed:
            self._listed, self._newest_s = True, self._monotonic_s()
        else:
            self._changed = True

    @property
    def complete(self) -> bool:
        """Whether all were seen. Once true, it stays so, though the watch may list again."""
        if not self._complete:
            unchanged_s = UNCHANGED_S if self._listed else NONE_LISTED_S
            quiet_s = QUIET_S if self._changed else unchanged_s
            self._complete = self._monotonic_s() - self._newest_s >= quiet_s
            if self._complete:
                self._seen = set()
        return self._complete

    @property
    def handled(self) -> bool:
        """Whether all pods of our own list were handled, so that the watch has caught up."""
        late = self._monotonic_s() - self._began_s >= HANDLED_WITHIN_S
        return late or (self.complete if self._unseen is None else not self._unseen)
