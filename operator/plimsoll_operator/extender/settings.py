"""Settings of ``plimsoll extender``, from the environment (``PLIMSOLL_*``) or the command line."""

from __future__ import annotations

from pydantic import Field

from plimsoll_operator.feed.settings import FeedReaderSettings


class ExtenderSettings(FeedReaderSettings):
    """Where the extender listens, what it reads, and how long an answer may take.

    Until it has heard a feed, and for excluded namespaces, scores are equal.
    """

    listen_port: int = Field(default=9444, ge=0, le=65535)
    """HTTP port for the scheduler; 0 takes a free one."""
    deadline_s: float = Field(default=0.04, gt=0, le=0.05)
    """A later answer has equal scores: a scheduler that waits 50 ms still receives it."""
