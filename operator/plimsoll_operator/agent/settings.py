"""Settings of ``plimsoll agent``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from plimsoll_operator.names.service_urls import with_brackets
from plimsoll_predictor.core.units import MIB

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a kubelet mounts a pod's account."""


class SettingsError(ValueError):
    """A setting makes no sense; the message names it and says what would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """A plain record: the agent stays small without pydantic.

    controller_url: such as ``https://plimsoll-controller.plimsoll:8443``.
    token_file: holds the bearer token; read again for every request, so it may be rotated.
    ca_file: certificates to trust for https; None for the system's.
    state_dir: where maxima and unsent reports survive a restart; made if absent.
    interval_s: between two readings of every cgroup.
    save_every_s: how much of the sampled maxima is lost at most if the agent is killed.
    spool_bytes, spool_age_s: bounds of what is kept for a controller that does not answer.
    metrics_listen_host, metrics_listen_port: of ``/metrics``; a port of None serves none, 0 takes a
    free one.
    api_server: its URL, to raise pods of this node there; None: the controller raises them.
    api_token_file, api_ca_file: of this pod's own account, for that.
    """

    controller_url: str
    token_file: Path
    node_name: str
    state_dir: Path
    cgroup_root: Path = Path("/sys/fs/cgroup")
    ca_file: Path | None = None
    interval_s: float = 1.0
    save_every_s: float = 5.0
    spool_bytes: int = 16 * MIB
    spool_age_s: float = 24 * 3600.0
    metrics_listen_host: str = "0.0.0.0"
    metrics_listen_port: int | None = None
    api_server: str | None = None
    api_token_file: Path = ACCOUNT / "token"
    api_ca_file: Path = ACCOUNT / "ca.crt"

    def __post_init__(self) -> None:
        object.__setattr__(self, "controller_url", with_brackets(self.controller_url))
        _check_url("controller URL", self.controller_url, ("http://", "https://"))
        if self.api_server is not None:
            object.__setattr__(self, "api_server", with_brackets(self.api_server))
            # Over http its token could be read, and it can do more than the controller's.
            _check_url("API server's URL", self.api_server, ("https://",))
        # What ends long after its last reading teaches no need (END_SEEN_WITHIN_S).
        if not 0.05 <= self.interval_s <= 2:
            raise SettingsError(
                f"an interval of {self.interval_s} s cannot be kept or loses needs; use 0.25 to 2 s"
            )
        if not 0 <= (self.metrics_listen_port or 0) <= 65535:
            raise SettingsError(
                f"{self.metrics_listen_port} is no port; use 1 to 65535, or 0 for a free one"
            )
        if not self.node_name:
            raise SettingsError("the node's name is empty; pass --node-name")


def _check_url(name: str, url: str, schemes: tuple[str, ...]) -> None:
    if not url.startswith(schemes):
        raise SettingsError(f"{name} {url!r} has no scheme; write https://HOST:PORT")
    try:
        parts = urlsplit(url)
        _ = parts.port
        # As it is looked up: an empty label, or one that is too long, would be an error each time.
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise SettingsError(f"{name} {url!r}: {error}") from None
