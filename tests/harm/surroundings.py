"""Scenarios of what a cluster does to runs: bounds, full nodes, evictions, a sick Plimsoll."""

from __future__ import annotations

from typing import Any

from tests.harm.engines import polled
from tests.harm.manifests import a_container, a_job, a_pod, a_template, eats, memory
from tests.harm.plays import (
    burst,
    evicted,
    jobs,
    left_alone,
    too_large,
    while_nothing_heals,
)
from tests.harm.scenario import NEEDS_MIB, Ending, Manifest, Past, Scenario

BURST = 12
BURST_MIB, BURST_PAST_MIB = 64, 100
LARGEST_MIB = 128
AWAY_S = 30
"""Enough for a controller that is upgraded, and for restarts in place."""


def _around(kind: str, **spec: Any) -> tuple[Manifest, ...]:
    return ({"apiVersion": "v1", "kind": kind, "metadata": {"name": "bounds"}, "spec": spec},)


def larger(pod: Manifest, number: int) -> None:
    """Give the second try of a pod what the first one lacked."""
    pod["spec"]["containers"][0]["resources"] = memory(64 * number, 64 * number)


SCENARIOS = (
    Scenario(
        f"{BURST} pods at once in a quota that just holds them",
        plays=burst(
            [
                a_pod(f"burst-{n}", a_container(eats(20, for_s=8), memory(BURST_MIB, BURST_MIB)))
                for n in range(BURST)
            ]
        ),
        around=_around(
            "ResourceQuota",
            hard={
                "requests.memory": f"{BURST * BURST_MIB + 32}Mi",
                "limits.memory": f"{BURST * BURST_MIB + 32}Mi",
            },
        ),
        past=Past((BURST_PAST_MIB,) * 12),
    ),
    Scenario(
        "a Job where a quota counts pods until they are deleted",
        plays=jobs(a_job("counted", backoffLimit=3)),
        around=_around("ResourceQuota", hard={"count/pods": "1"}),
    ),
    Scenario(
        "a pod near the largest that a LimitRange allows",
        plays=jobs(a_job("near", a_template(a_container(eats(112))), backoffLimit=1)),
        around=_around(
            "LimitRange", limits=[{"type": "Container", "max": {"memory": f"{LARGEST_MIB}Mi"}}]
        ),
        past=Past((122,) * 12),
    ),
    Scenario(
        "a lift beyond what a LimitRange allows",
        plays=jobs(a_job("capped", a_template(a_container(eats(118))), backoffLimit=2)),
        around=_around(
            "LimitRange", limits=[{"type": "Container", "max": {"memory": f"{LARGEST_MIB}Mi"}}]
        ),
    ),
    Scenario(
        "a request that no node has yet (autoscaled)",
        plays=too_large(asked_mib=40 * 1024, needs_mib=30 * 1024),
        past=Past((30 * 1024,) * 12, asked_mib=40 * 1024),
        without=Ending.PENDING,
    ),
    Scenario(
        "a Job tried twice, evicted once",
        plays=evicted(
            a_job("evicted", a_template(a_container(eats(NEEDS_MIB, after_s=6))), backoffLimit=1),
            evict=1,
        ),
    ),
    Scenario(
        "a Job tried four times, evicted after a kill",
        plays=evicted(
            a_job("evicted", a_template(a_container(eats(NEEDS_MIB, after_s=6))), backoffLimit=3),
            evict=2,
        ),
    ),
    Scenario(
        "a Job of an excluded namespace",
        plays=jobs(a_job("harm-excluded", a_template(restartPolicy="OnFailure"), backoffLimit=1)),
        namespace="kube-system",
    ),
    Scenario(
        "an excluded namespace, whose own maker tries again",
        plays=polled(
            a_pod("harm-own", a_container(eats(), memory(64, 64))), tries=2, numbered=larger
        ),
        namespace="kube-system",
        past=None,
    ),
    Scenario(
        "a Job tried twice while Plimsoll's controller is down",
        plays=while_nothing_heals(a_job("unhealed", backoffLimit=1)),
        alone=True,
    ),
    Scenario(
        "a Job tried four times while Plimsoll's controller is down",
        plays=while_nothing_heals(a_job("unhealed", backoffLimit=3)),
        alone=True,
    ),
    Scenario(
        "a Job restarted in place, whose healer goes for 30 s",
        plays=left_alone(
            a_job(
                "left",
                a_template(a_container(eats(after_s=4)), restartPolicy="OnFailure"),
                backoffLimit=5,
            ),
            for_s=AWAY_S,
        ),
        lowers=True,
        alone=True,
    ),
)
