"""Settings of ``plimsoll admission``, from the environment (``PLIMSOLL_*``) or the command line."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from plimsoll_operator.admission.answering import MAX_SILENCE_S
from plimsoll_operator.feed.settings import FeedReaderSettings


class AdmissionSettings(FeedReaderSettings):
    """Where admission listens, what it reads, and how long it trusts what it knows.

    Until it has heard a feed or read its copy, pods are admitted unchanged.
    """

    listen_port: int = Field(default=9443, ge=0, le=65535)
    """Port of the HTTPS server; 0 takes a free one."""
    certificate_file: Path
    """PEM; loaded again when it changes."""
    key_file: Path
    """PEM; loaded again when it changes."""
    snapshot_file: Path | None = None
    """Copy of the state, for a restart; None writes none."""
    snapshot_every_s: float = Field(default=5.0, gt=0)
    """Shortest time between two copies."""
    max_feed_age_s: float = Field(default=24 * 3600.0, gt=0)
    """When the controller was not heard for longer, pods are left as they are."""
    max_silence_s: float = Field(default=MAX_SILENCE_S, gt=0)
    """When the controller was not heard for longer, sizes are raised only, never lowered."""
    grace_s: float = Field(default=10.0, ge=0)
    """After ``drain_s``, how long begun requests may take."""
