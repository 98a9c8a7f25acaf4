"""Settings of ``plimsoll admission``, from the environment (``PLIMSOLL_*``) or the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from plimsoll_operator.admission.freshness import MAX_SILENCE_S
from plimsoll_operator.feed.settings import FeedReaderSettings
from plimsoll_operator.names.namespaces import OWN_NAMESPACE

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes puts a pod's credentials."""


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
    """If the controller was not heard for longer, pods are left as they are."""
    max_silence_s: float = Field(default=MAX_SILENCE_S, gt=0)
    """If the controller was not heard for longer, sizes are raised only, never lowered."""
    lease: str | None = None
    """The Lease of the controllers that compete; without it, no pod waits for its turn."""
    namespace: str = Field(default=OWN_NAMESPACE, min_length=1, max_length=63)
    """Plimsoll's own namespace, where the Lease is."""
    leases_url: str | None = None
    """Where pods lease the items of their Jobs, such as http://plimsoll-leases.plimsoll.svc:8083;
    without it, none does."""
    api_url: str | None = None
    """The API server, such as https://10.96.0.1; without it, that of its own cluster."""
    api_token_file: Path = ACCOUNT / "token"
    """The bearer token for it; read for every call."""
    api_ca_file: Path = ACCOUNT / "ca.crt"
    """Certificates to trust for it."""
    grace_s: float = Field(default=10.0, ge=0)
    """After ``drain_s``, how long begun requests may take."""
