"""Whether the cluster's definition of a TaskProfile knows all that is written into its status.

An API server drops what a definition does not know, and says so nowhere that we would see: a
definition that was not upgraded with the controller shows in what comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from plimsoll_operator.profile.facts import Ailment, Trouble

log = structlog.get_logger()


class Definitions:
    """What was dropped so far, and did not come back since."""

    def __init__(self) -> None:
        self._dropped: tuple[str, ...] = ()

    def compare(self, sent: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
        """Look at a status that was written, and at the answer; whether other trouble is known.

        Only its own fields are looked at: the definition has a schema for each.
        """
        lost = {name for name, value in sent.items() if value is not None and name not in stored}
        before, self._dropped = self._dropped, tuple(sorted({*self._dropped, *lost} - set(stored)))
        if self._dropped == before:
            return False
        if self._dropped:
            log.warning("the definition of TaskProfile is of an older version", lost=self._dropped)
        else:
            log.info("the definition of TaskProfile knows all that is written")
        return True

    def troubles(self) -> Sequence[Trouble]:
        """What an admin has to do, if anything."""
        if not self._dropped:
            return ()
        names = ", ".join(f"status.{name}" for name in self._dropped)
        words = (
            f"the cluster's TaskProfile definition is of an older version and drops {names}:"
            " upgrade it with the chart, or kubectl apply -f deploy/crds"
        )
        return (Trouble(Ailment.DEFINITIONS, words),)
