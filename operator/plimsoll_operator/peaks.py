"""What the agent measured of one container or pod, as it goes over the wire to the controller."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

PEAKS_PATH: Final = "/v1/peaks"
"""Where the controller takes reports: ``{"node": NAME, "reports": [...]}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakReport:
    """Running maxima since the cgroup appeared; later reports of one cgroup replace earlier ones.

    container_id: the runtime's id, without its scheme; None for the whole pod.
    need_peak_bytes: estimate of the need, page cache told apart (plimsoll_operator.agent.need):
        anon_peak <= need_peak <= kernel_peak.
    working_set_peak_bytes: as kubelet counts it, at most kernel_peak. It holds page cache that is
        read often, so it can lie above the need as well as below.
    peak_cores: of the minute that used most CPU; None if it lived less, or CPU cannot be read.
    limit_bytes: the cgroup's limit; None if unlimited.
    final: the cgroup is gone or empty, nothing will follow.
    measured_s: when it was last read, Unix seconds by the node's clock; 0 if only an agent that
        was killed meanwhile had read it: then its end was not seen.
    """

    pod_uid: str
    container_id: str | None
    need_peak_bytes: int
    kernel_peak_bytes: int
    working_set_peak_bytes: int
    anon_peak_bytes: int
    cpu_s: float | None
    limit_bytes: int | None
    final: bool
    measured_s: float
    peak_cores: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PeakReport:
        """Inverse of ``to_dict``; TypeError on unknown or missing keys."""
        return cls(**data)
