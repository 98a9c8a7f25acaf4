"""What a controller grants to an agent, for tests."""

from __future__ import annotations

from plimsoll_operator.attempts.grants import Grant
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import LIMIT


def a_grant(name: str = "train-1", namespace: str = "shop") -> Grant:
    """A grant for a pod that was never raised, alone on a node of 64 GiB."""
    return Grant(
        pod_uid=f"uid-{name}",
        container_id="main",
        namespace=namespace,
        name=name,
        container="main",
        request_bytes=LIMIT // 2,
        limit_bytes=LIMIT,
        first_bytes=LIMIT,
        raises=0,
        needs_bytes=(),
        most_bytes=None,
        free_bytes=64 * 1024 * MIB,
        allocatable_bytes=64 * 1024 * MIB,
        added_bytes=0,
        in_namespace_bytes=0,
    )
