"""Scenarios of what people ask from Plimsoll, and take back while a run goes on."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names import labels
from tests.e2e.workloads import LONG_S
from tests.harm import engines
from tests.harm.manifests import a_container, a_job, a_pod, a_template, eats, memory
from tests.harm.plays import bare, burst, jobs, meanwhile, once_it_lends
from tests.harm.scenario import ASKED_MIB, NEEDS_MIB, Manifest, Past, Scenario

SAID_WITHIN_S = 30
"""Seconds from a pod's start to its kill: enough for a change of policy to arrive everywhere."""
LENDS_MIB, LENDS_ASKED_MIB = 64, 512
LATE_MIB = (80, 80, 80)
"""Memory that a lender takes in its last seconds: more at once than it has kept."""
RESCUED_PAST_MIB, RESCUED_NEEDS_MIB = 60, 86
KIB_S = 1536


def a_policy(**spec: Any) -> Manifest:
    """The namespace's SizingPolicy."""
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "SizingPolicy",
        "metadata": {"name": "default"},
        "spec": spec,
    }


def unlabelled() -> Manifest:
    """A template without a word about Plimsoll."""
    template = a_template()
    template["metadata"]["labels"] = {}
    return template


def late(mib: int = NEEDS_MIB) -> dict[str, Any]:
    """A container that is killed only after people have changed the policy."""
    return a_container(eats(mib, after_s=SAID_WITHIN_S))


def runs(command: str, asked_mib: int) -> dict[str, Any]:
    return a_container(["/task", *command.split()], memory(asked_mib, asked_mib))


FLAT_THEN_LATE = f"steps {LENDS_MIB} {LONG_S} " + " ".join(f"{mib} 1" for mib in LATE_MIB)
GROWS = f"pace {RESCUED_PAST_MIB - 4} 3 {RESCUED_NEEDS_MIB - RESCUED_PAST_MIB + 4} {KIB_S} 1"

SCENARIOS = (
    Scenario(
        "a Job without a label, its namespace opted in",
        plays=jobs(a_job("work", unlabelled(), backoffLimit=3)),
        opted_in=True,
        lowers=True,
    ),
    Scenario(
        "an Airflow task without a label, its namespace opted in",
        plays=engines.airflow(2, labelled=False),
        opted_in=True,
        task="nightly.work",
        lowers=True,
    ),
    Scenario(
        "a Job tried once that lends, and grows late",
        plays=once_it_lends(
            jobs(a_job("lender", a_template(runs(FLAT_THEN_LATE, LENDS_ASKED_MIB)), backoffLimit=0))
        ),
        past=None,
        around=(a_policy(lending="auto"),),
        leaves=labels.LENT,
    ),
    Scenario(
        "two bare pods that grow where rescue is on",
        plays=burst([a_pod(f"grower-{n}", runs(GROWS, ASKED_MIB)) for n in range(2)]),
        past=Past((RESCUED_PAST_MIB,) * 12),
        around=(a_policy(rescue="auto"),),
        leaves=labels.RESCUED,
    ),
    Scenario(
        "a bare pod, paused while it runs",
        plays=meanwhile(bare(a_pod("paused", late())), a_policy(paused=True)),
        lowers=True,
        taken_back=True,
    ),
    Scenario(
        "a bare pod, switched off while it runs",
        plays=meanwhile(bare(a_pod("off", late())), a_policy(mode="off")),
        lowers=True,
        taken_back=True,
    ),
    Scenario(
        "a Job restarted in place, paused while it runs",
        plays=meanwhile(
            jobs(a_job("inplace", a_template(late(), restartPolicy="OnFailure"), backoffLimit=6)),
            a_policy(paused=True),
        ),
        lowers=True,
        taken_back=True,
    ),
)
