"""Checks the names of Kubernetes' objects that people give.

It refuses less than the API server, as the chart's schema does: a name that passes there must not
keep a process from starting.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_NAME: Final = 253
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)


def is_object_name(text: str) -> bool:
    """Say whether an object may have this name. It has no slash.

    >>> is_object_name("train-demand.v2"), is_object_name("shop/train")
    (True, False)
    """
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None
