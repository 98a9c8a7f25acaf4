"""Pods as they are after admission has sized them."""

from __future__ import annotations

from dataclasses import replace

from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import knowledge_of

ASKING = a_pod().asking("4Gi").limited("4Gi")
FITS = "1127Mi"
"""The size by knowledge_of(): 1.1 times its largest need of 1Gi."""


def state_of(*knowledge: Knowledge, mode: Mode = Mode.ENFORCE) -> AdmissionState:
    return AdmissionState(
        default_policy=Policy(mode=mode), tasks={known.task: known for known in knowledge}
    )


def after(pod: APod, state: AdmissionState) -> APod:
    return pod.patched(size(pod.built(), state).patch)


def bounded(bounds: NamespaceBounds) -> AdmissionState:
    state = state_of(knowledge_of())
    state.namespaces["shop"] = NamespaceState(None, bounds)
    return state


def lifted(run: str, allocation_bytes: int = 6 * GIB) -> AdmissionState:
    lift = Lift(allocation_bytes=allocation_bytes, attempt=2, after_bytes=GIB)
    return state_of(replace(knowledge_of(), lifts={run: lift}))
