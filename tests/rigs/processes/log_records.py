"""Reads the JSON records of a program's log while the program writes it."""

from __future__ import annotations

import json
from typing import Any


def log_records(log: str) -> list[dict[str, Any]]:
    r"""Return the records of whole lines: the program may be writing the last one.

    >>> log_records('words\n{"event": "one"}\n{"event": "tw')
    [{'event': 'one'}]
    """
    whole = log[: log.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
