"""Bursts of pods near a quota: with Plimsoll the quota is never fuller than without."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import APod, a_pod, memory_of
from tests.rigs.drawing import examples
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

HARD_BYTES, ASKED = 100 * GIB, "1Gi"
SIZES = st.integers(33, 4096).map(lambda mib: f"{mib}Mi")
REQUESTS, LIMITS = "requests.memory", "limits.memory"


def a_replica(need_bytes: int, *keys: str, used: str = "0", **policy: Any) -> AdmissionState:
    """One replica of admission. used: what the feed told it last, not the present use."""
    quota = {
        "spec": {"hard": dict.fromkeys(keys, "100Gi")},
        "status": {"used": dict.fromkeys(keys, used)},
    }
    return AdmissionState(
        tasks={TRAIN: knowledge_of(max_need_bytes=need_bytes, **policy)},
        namespaces={"shop": NamespaceState(None, read_namespace([], [quota]))},
    )


def sized(pod: APod, replica: AdmissionState) -> APod:
    return pod.patched(size(pod.built(), replica).patch)


def asked_for(pod: APod, key: str) -> int | None:
    """What a quota counts; None if the pod does not say it, and the API server refuses the pod."""
    request, limit = memory_of(pod)
    written = limit if key == LIMITS else request or limit
    return None if written is None else parse_bytes(written)


@pytest.mark.parametrize("key", [REQUESTS, LIMITS])
@pytest.mark.parametrize("need_bytes", [GIB * 5 // 4, 64 * GIB])
@pytest.mark.parametrize("replicas", [1, 3])
def test_ninety_pods_of_one_gi_fit_into_a_hundred(key: str, need_bytes: int, replicas: int) -> None:
    """Their task needs more than they ask for; no replica learns how much is used meanwhile."""
    states = [a_replica(need_bytes, key, used=f"{i}Gi") for i in range(replicas)]
    pod = a_pod().asking(ASKED).limited(ASKED)
    free_bytes, refused = HARD_BYTES, 0
    for number in range(90):
        counted = asked_for(sized(pod, states[number % replicas]), key)
        if counted is None or counted > free_bytes:
            refused += 1
        else:
            free_bytes -= counted
    assert refused == 0


@pytest.mark.slow
@given(
    request=st.none() | SIZES,
    limit=st.none() | SIZES,
    need_mib=st.integers(1, 8192),
    limits=st.sampled_from(list(Limits)),
    keys=st.sampled_from([(REQUESTS,), (LIMITS,), (REQUESTS, LIMITS)]),
    minimum=st.none() | st.integers(32 * MIB, 4 * GIB),
)
@examples(300)
def test_no_first_attempt_takes_more_of_a_quota_than_its_author_asked(
    request: str | None,
    limit: str | None,
    need_mib: int,
    limits: Limits,
    keys: tuple[str, ...],
    minimum: int | None,
) -> None:
    if request and limit and parse_bytes(request) > parse_bytes(limit):
        request, limit = limit, request
    policy: dict[str, Any] = {"limits": limits} | (
        {} if minimum is None else {"min_bytes": minimum}
    )
    pod = a_pod().asking(request).limited(limit)
    changed = sized(pod, a_replica(need_mib * MIB, *keys, **policy))
    for key in keys:
        written, now = asked_for(pod, key), asked_for(changed, key)
        if written is not None:
            assert now is not None, "a quota requires that it is said"
            assert now <= written


def test_where_no_quota_counts_memory_a_task_that_asks_for_too_little_is_raised() -> None:
    pod = sized(a_pod().asking(ASKED).limited(ASKED), a_replica(2 * GIB, "requests.cpu"))
    assert memory_of(pod) == ("2253Mi", "2253Mi")


def test_a_lower_size_is_given_in_a_quota_too() -> None:
    pod = sized(a_pod().asking("4Gi").limited("4Gi"), a_replica(GIB, REQUESTS, LIMITS))
    assert memory_of(pod) == ("1127Mi", "1127Mi")
