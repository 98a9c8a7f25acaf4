"""Agents' alarms for tests."""

from __future__ import annotations

from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_predictor.core.units import MIB

LIMIT = 128 * MIB


def an_alarm(name: str = "train-1", limit: int = LIMIT, container: str = "main") -> Alarm:
    """A container that has grown by 10 MiB a second for 12 s, and has 8 MiB left."""
    used = limit - 8 * MIB
    return Alarm(
        pod_uid=f"uid-{name}",
        container_id=container,
        used_bytes=used,
        anon_bytes=used,
        file_bytes=0,
        limit_bytes=limit,
        growth_bytes_s=10.0 * MIB,
        step_bytes=0,
        steps=0,
        react_s=0.5,
        shape=((0.0, 0), (12.0, used)),
    )
