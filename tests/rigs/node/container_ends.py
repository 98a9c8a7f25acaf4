"""When containers end, to the millisecond, by the node's containerd: pods only say seconds."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO

from deploy.local.layout import Layout

_EVENT = re.compile(r"(\S+ \S{8}\.\d{6})\d* \+0000 UTC \S+ /tasks/exit (\{.*\})")


@dataclass(slots=True)
class ContainerEnds:
    """ended_s: container's ID -> Unix seconds."""

    ended_s: dict[str, float] = field(default_factory=dict)

    def see(self, line: str) -> None:
        """Read one line of ``ctr events``; others' than of an end are passed over.

        >>> ends = ContainerEnds()
        >>> ends.see('1970-01-01 00:00:07.250000000 +0000 UTC k8s.io /tasks/exit '
        ...          '{"container_id":"ab","id":"ab","pid":1}')
        >>> ends.ended_s
        {'ab': 7.25}
        """
        found = _EVENT.match(line)
        if found is None:
            return
        end = json.loads(found[2])
        if end["id"] == end["container_id"]:  # no probe or other command
            at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
            self.ended_s.setdefault(end["id"], at.timestamp())


@contextlib.contextmanager
def container_ends(layout: Layout) -> Iterator[ContainerEnds]:
    """Listen until the block ends."""
    ends = ContainerEnds()
    base = ["ctr", "--address", str(layout.containerd_socket), "--namespace", "k8s.io"]
    with subprocess.Popen([*base, "events"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reading = threading.Thread(target=_read, args=(process.stdout, ends), daemon=True)
        reading.start()
        try:
            yield ends
        finally:
            process.kill()
            reading.join()


def _read(lines: IO[str], ends: ContainerEnds) -> None:
    for line in lines:
        ends.see(line)
