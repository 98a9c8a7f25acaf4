"""What a task never seen gets, where its team accepts less than it asks for. Pure."""

from __future__ import annotations

import math
from typing import Final

from plimsoll_predictor.core.policy import Policy

LEAST_FIRST_SIZE: Final = 0.5
"""Below it a policy is refused: docs/cold-start.md has what shares were measured to cost."""


def first_bytes(
    request_bytes: int | None, policy: Policy, exceeded_bytes: int | None = None
) -> int | None:
    """The first size of a task of which no run succeeded, unclamped; None keeps the request.

    request_bytes: what the user asked for; None if nothing, which has no share.
    exceeded_bytes: the largest allocation of the task's runs that was too small; None if none was.
        A first size that would not be above it is not tried again.
    Never above the request, and never anything but None for a critical task.

    >>> first_bytes(1000, Policy(first_size=0.75)), first_bytes(1000, Policy())
    (750, None)
    """
    if request_bytes is None or policy.critical or policy.first_size >= 1:
        return None
    size_bytes = math.ceil(request_bytes * policy.first_size)
    return size_bytes if size_bytes > (exceeded_bytes or 0) else None
