"""The agent's measurements of one container or pod, as it sends them to the controller."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

PEAKS_PATH: Final = "/v1/peaks"
"""The path on which the controller takes reports: ``{"node": NAME, "reports": [...]}``.

It answers with an ``Answered``; an older one answers with nothing.
"""

MAX_MEMORY_BYTES: Final = 2**50
NEARLY_ALL: Final = 0.9
"""What is needed for sure, as a share of a peak with page cache in it, if that cache was little."""

Id: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z][0-9A-Za-z._-]{0,127}\Z")]
Memory: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_MEMORY_BYTES)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]
Cores: TypeAlias = Annotated[float, Meta(ge=0, le=100_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakReport:
    """Running maxima since the cgroup appeared; later reports of one cgroup replace earlier ones.

    container_id: the runtime's id, without its scheme; None for the whole pod.
    need_peak_bytes: estimate of the need without page cache (plimsoll_operator.agent.need):
        anon_peak <= need_peak <= kernel_peak. What is in swap counts in the last two.
    working_set_peak_bytes: as kubelet counts it, at most kernel_peak. It includes page cache that
        is read often, so it can be above the need as well as below.
    peak_cores: of the minute that used most CPU; None if it lived less, or CPU cannot be read.
    limit_bytes: the cgroup's limit; None if unlimited.
    final: the cgroup is gone or empty, and no report follows.
    since_s: when it was first read, Unix seconds by the node's clock; None if what it needed before
        is known all the same, or if an older agent does not say.
    unseen_s: for how long in all no agent read it later, as far as it may have needed more then;
        None if an older agent does not say.
    before_bytes: the most that it had used when an agent first read it, or read it again after it
        was away; None if the kernel or an older agent does not say.
    measured_s: when it was last read, Unix seconds by the node's clock; 0 if only an earlier agent,
        killed since, had read it, so that no agent saw its end.
    """

    pod_uid: Id
    container_id: Id | None
    need_peak_bytes: Memory
    kernel_peak_bytes: Memory
    working_set_peak_bytes: Memory
    anon_peak_bytes: Memory
    cpu_s: Seconds | None
    limit_bytes: Memory | None
    final: bool
    measured_s: Seconds
    peak_cores: Cores | None = None
    since_s: Seconds | None = None
    unseen_s: Seconds | None = None
    before_bytes: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The controller's answer to a batch that it has taken.

    controller: which one answers; another one knows nothing yet.
    known_bytes: pod UID -> the largest known need of its task. Running maxima up to it are not
        wanted before the end. 0 wants all of a pod from now on. A pod that is not in it keeps what
        an earlier answer said of it; without one, all are wanted.
    rescuable: of the batch's pods, those that may be given more before they reach their limit.
    """

    controller: Annotated[str, Meta(max_length=128)] = ""
    known_bytes: dict[Id, Memory] = field(default_factory=dict)
    rescuable: tuple[Id, ...] = ()


def is_nearly_all(need_bytes: int, used_bytes: int | None) -> bool:
    """Say whether no clearly larger need was missed, as no more than ``used_bytes`` was used.

    used_bytes: page cache included; None if the kernel does not say.
    """
    return used_bytes is not None and need_bytes >= NEARLY_ALL * used_bytes


def within_sandbox(report: PeakReport | None, limit_bytes: int | None) -> PeakReport | None:
    """Return a sandbox's report as that of its container, which never has more than its limit.

    The pod's cgroup also holds the sandbox's own memory. limit_bytes: None leaves the report as it
    is: the pod is in no sandbox, or its container has no limit.
    """
    if report is None or limit_bytes is None:
        return report
    return replace(report, need_peak_bytes=min(report.need_peak_bytes, limit_bytes))
