"""One pod sized, by what is known and what people set."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.pods.spec import Qos, qos_of
from plimsoll_operator.policy.pod_policy import resolve_policy
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.sizing.state import NamespaceState
from plimsoll_predictor.core.policy import Limits, Mode, Policy, Retry
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import APod, a_pod, decision_of, memory_of
from tests.operator.sizing.admitted import ASKING, FITS, after, bounded, state_of
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of


def test_a_known_task_gets_what_it_needs() -> None:
    pod = after(ASKING, state_of(knowledge_of()))
    assert memory_of(pod) == (FITS, FITS)
    note = decision_of(pod)
    assert note["task"] == "shop/train"
    assert note["was"] == {"request": "4Gi", "limit": "4Gi"}
    assert note["mode"] == "enforce"
    assert note["attempt"] == 1
    assert "largest need" in note["why"]


def test_the_same_pod_twice_gives_no_second_patch() -> None:
    state = state_of(knowledge_of())
    assert size(after(ASKING, state).built(), state).patch == []


@pytest.mark.parametrize("limits", Limits)
@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.RECOMMEND])
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(), id="BestEffort"),
        pytest.param(a_pod().limited("4Gi"), id="a limit alone"),
        pytest.param(a_pod().asking("4Gi"), id="a request alone"),
        pytest.param(a_pod().asking("4Gi").limited("8Gi").with_cpu("1"), id="Burstable"),
        pytest.param(ASKING.with_cpu("1", "1"), id="Guaranteed"),
        pytest.param(a_pod().asking("4Gi").limited("8Gi").with_cpu("1", "1"), id="nearly so"),
        pytest.param(a_pod().asking("16Mi"), id="below the minimum"),
        pytest.param(ASKING.in_mode("sometimes"), id="an unknown mode"),
        pytest.param(ASKING.annotated({f"{labels.FEATURE_PREFIX}a b": "1"}), id="odd features"),
    ],
)
@pytest.mark.parametrize("runs", [0, 20])
def test_whatever_the_pod_a_second_look_changes_nothing(
    pod: APod, mode: Mode, limits: Limits, runs: int
) -> None:
    known = replace(knowledge_of(mode=mode, limits=limits), runs=runs)
    state = state_of(known)
    assert size(after(pod, state).built(), state).patch == []


def test_recommending_writes_the_annotation_and_changes_no_memory() -> None:
    pod = after(ASKING, state_of(knowledge_of(mode=Mode.RECOMMEND)))
    assert memory_of(pod) == ("4Gi", "4Gi")
    assert decision_of(pod)["allocation"] == FITS
    assert decision_of(pod)["mode"] == "recommend"


def test_a_recommendation_that_equals_the_request_is_still_the_users_request() -> None:
    state = state_of(knowledge_of(mode=Mode.RECOMMEND))
    pod = after(a_pod().asking(FITS), state)
    assert decision_of(pod)["was"] == {"request": FITS, "limit": None}


def test_off_writes_nothing() -> None:
    sized = size(ASKING.built(), state_of(knowledge_of(mode=Mode.OFF)))
    assert (sized.treatment, sized.patch) == (Treatment.OFF, [])


@pytest.mark.parametrize(
    ("tasks", "pods", "outcome"),
    [
        (Mode.RECOMMEND, "enforce", Treatment.ENFORCED),
        (Mode.ENFORCE, "recommend", Treatment.RECOMMENDED),
        (Mode.ENFORCE, "off", Treatment.OFF),
        (Mode.OFF, "enforce", Treatment.ENFORCED),
    ],
)
def test_the_pods_own_mode_comes_first(tasks: Mode, pods: str, outcome: Treatment) -> None:
    state = state_of(knowledge_of(mode=tasks))
    assert size(ASKING.in_mode(pods).built(), state).treatment is outcome
    assert size(ASKING.with_labels({labels.MODE: pods}).built(), state).treatment is outcome


@pytest.mark.parametrize("mode", ["ENFORCE", "sometimes", " off", "x" * 500])
def test_an_unknown_mode_is_as_if_it_were_not_there_and_said(mode: str) -> None:
    pod = ASKING.in_mode(mode)
    sized = size(pod.built(), state_of(knowledge_of()))
    assert sized.treatment is Treatment.ENFORCED
    assert sized.warning is not None
    assert "off, recommend, enforce" in sized.warning
    assert "was ignored" in decision_of(pod.patched(sized.patch))["why"]
    assert len(sized.warning) < 120


def test_a_task_nobody_knows_keeps_its_request_by_its_namespaces_policy() -> None:
    state = state_of(mode=Mode.OFF)
    state.namespaces["shop"] = NamespaceState(Policy(mode=Mode.ENFORCE), NamespaceBounds())
    sized = size(ASKING.built(), state)
    assert sized.treatment is Treatment.KEPT
    assert memory_of(ASKING.patched(sized.patch)) == ("4Gi", "4Gi")
    assert decision_of(ASKING.patched(sized.patch))["reason"] == "cold-start"


def test_a_task_nobody_knows_in_a_plain_namespace_goes_by_the_clusters_policy() -> None:
    assert size(ASKING.built(), state_of(mode=Mode.OFF)).treatment is Treatment.OFF


def test_a_kept_request_leaves_even_the_limit_alone() -> None:
    pod = a_pod().asking("4Gi").limited("8Gi")
    assert memory_of(after(pod, state_of(replace(knowledge_of(), runs=0)))) == ("4Gi", "8Gi")


def test_a_pod_without_label_is_not_touched() -> None:
    sized = size(ASKING.unlabelled().built(), state_of(knowledge_of()))
    assert sized == Sized(Treatment.NOT_OURS, [])


@pytest.mark.parametrize(
    "pod",
    [
        ASKING.annotated({labels.CONTAINER: "gone"}),
        ASKING.with_spec(resources={"limits": {"memory": "8Gi"}}),
        a_pod().asking("lots"),
        a_pod().with_spec(containers=[]),
    ],
)
def test_a_pod_that_cannot_be_sized_is_not_touched_and_said(pod: APod) -> None:
    sized = size(pod.built(), state_of(knowledge_of()))
    assert (sized.treatment, sized.patch) == (Treatment.NOT_SIZABLE, [])
    assert sized.decision is not None
    assert sized.decision.why.startswith("not sized: ")


def test_a_besteffort_pod_stays_so_and_is_told_how_it_gets_a_size() -> None:
    pod = after(a_pod(), state_of(knowledge_of()))
    assert memory_of(pod) == (None, None)
    assert decision_of(pod)["reason"] == "not-lowered"
    assert (
        "BestEffort, and a size would make it Burstable: write a request"
        in (decision_of(pod)["why"])
    )


def test_a_besteffort_pod_stays_so_while_only_recommending() -> None:
    pod = after(a_pod(), state_of(knowledge_of(mode=Mode.RECOMMEND)))
    assert memory_of(pod) == (None, None)
    assert "BestEffort" not in decision_of(pod)["why"]


def test_a_limit_below_the_request_is_set_right() -> None:
    pod = a_pod().asking("4Gi").limited("1Gi")
    assert memory_of(after(pod, state_of(knowledge_of()))) == (FITS, FITS)


def test_only_the_sized_container_changes() -> None:
    pod = (
        ASKING.owned_by_job()
        .with_container("shipper")
        .asking("64Mi", of="shipper")
        .with_init_container("fetch", resources={"requests": {"memory": "1Gi"}})
        .with_sidecar("proxy", resources={"limits": {"memory": "32Mi"}})
    )
    sized = after(pod, state_of(knowledge_of()))
    assert memory_of(sized) == (FITS, FITS)
    assert memory_of(sized, "shipper") == ("64Mi", None)
    assert memory_of(sized, "fetch") == ("1Gi", None)
    assert memory_of(sized, "proxy") == (None, "32Mi")


def test_nothing_is_asked_beyond_a_limit_range() -> None:
    assert memory_of(after(ASKING, bounded(NamespaceBounds(most=512 * MIB)))) == (
        "512Mi",
        "512Mi",
    )
    assert memory_of(after(ASKING, bounded(NamespaceBounds(least=2 * GIB)))) == ("2Gi", "2Gi")


def test_a_kept_request_that_a_limit_range_forbids_is_raised_to_its_minimum() -> None:
    state = bounded(NamespaceBounds(least=256 * MIB))
    state.tasks.clear()
    pod = a_pod().asking("64Mi").limited("1Gi")
    assert memory_of(after(pod, state)) == ("256Mi", "1Gi")


def test_a_pod_on_a_node_that_its_author_names_is_neither_lowered_nor_raised() -> None:
    pinned = ASKING.with_spec(nodeName="node-1")
    assert memory_of(after(pinned, state_of(knowledge_of()))) == ("4Gi", "4Gi")
    small = pinned.asking("512Mi").limited("512Mi")
    assert memory_of(after(small, state_of(knowledge_of()))) == ("512Mi", "512Mi")
    roomy = pinned.asking("512Mi").limited("2Gi")
    assert memory_of(after(roomy, state_of(knowledge_of()))) == ("512Mi", "2Gi")


def test_the_largest_node_holds_back_a_raise_and_cuts_no_request() -> None:
    state = state_of(knowledge_of(max_need_bytes=20 * GIB))
    state.nodes = nodes_of(a_node("10Gi"))
    assert memory_of(after(ASKING, state)) == ("9Gi", "9Gi")
    asking = a_pod().asking("64Gi").limited("64Gi")
    assert memory_of(after(asking, state)) == ("22Gi", "22Gi")
    state.tasks[TRAIN] = knowledge_of(max_need_bytes=70 * GIB)
    assert memory_of(after(asking, state)) == ("64Gi", "64Gi")


@pytest.mark.parametrize(
    ("request_", "limit"), [("4Gi", None), ("4Gi", "32Gi"), (None, None), ("4Gi", "10Gi")]
)
def test_a_pod_that_may_use_more_as_written_than_the_node_has_is_left_so(
    request_: str | None, limit: str | None
) -> None:
    state = state_of(knowledge_of(max_need_bytes=20 * GIB))
    state.nodes = nodes_of(a_node("10Gi"))
    pod = a_pod().asking(request_).limited(limit)
    sized = size(pod.built(), state)
    assert sized.treatment is Treatment.KEPT
    assert memory_of(pod.patched(sized.patch)) == (request_, limit)
    assert sized.decision is not None
    assert "more than nine tenths of the largest node for it, 9Gi" in sized.decision.why


def test_what_the_user_asked_survives_a_changed_mind() -> None:
    """Sized, then looked at again when nothing is known any more: the request is back."""
    sized = after(ASKING, state_of(knowledge_of()))
    forgotten = state_of(replace(knowledge_of(), runs=0))
    assert memory_of(after(sized, forgotten)) == ("4Gi", "4Gi")


def test_ignored_features_are_counted_and_said() -> None:
    pod = ASKING.knowing(notes="x" * 300)
    sized = size(pod.built(), state_of(knowledge_of()))
    assert sized.ignored_features == 1
    assert "1 features were out of bounds" in decision_of(pod.patched(sized.patch))["why"]


def test_the_pod_says_whether_it_may_be_retried() -> None:
    policy = Policy()
    never, words = resolve_policy(ASKING.annotated({labels.RETRY: "never"}).built(), policy)
    assert (never.retry, words) == (Retry.NEVER, "")
    same, words = resolve_policy(ASKING.annotated({labels.RETRY: "maybe"}).built(), policy)
    assert same is policy
    assert "auto, never" in words


sizes = st.none() | st.integers(1, 64).map(lambda n: n * 256 * MIB)


@pytest.mark.slow
@given(
    sizes, sizes, st.integers(1, 64), st.sampled_from(Limits), st.sampled_from([None, ("1", "1")])
)
def test_no_size_breaks_a_pod(
    request_bytes: int | None,
    limit_bytes: int | None,
    need: int,
    limits: Limits,
    cpu: tuple[str, str] | None,
) -> None:
    """The limit is never below the request, and a Guaranteed pod stays one."""
    pod = a_pod().asking(request_bytes).limited(limit_bytes)
    if cpu is not None:
        pod = pod.with_cpu(*cpu)
    sized = after(pod, state_of(knowledge_of(max_need_bytes=need * MIB, limits=limits)))
    request, limit = memory_of(sized)
    assert qos_of(sized.built()) is qos_of(pod.built())
    if qos_of(pod.built()) is Qos.BEST_EFFORT:
        return
    assert request is not None
    assert limit is None or parse_bytes(limit) >= parse_bytes(request)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
PLACES = [
    ("metadata",),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("metadata", "annotations", labels.DECISION),
    ("metadata", "ownerReferences"),
    ("spec",),
    ("spec", "containers"),
    ("spec", "initContainers"),
    ("spec", "restartPolicy"),
    ("spec", "resources"),
]


@pytest.mark.slow
@given(st.sampled_from(PLACES), json_values)
def test_no_pod_of_any_shape_raises_or_is_changed(place: tuple[str, ...], value: Any) -> None:
    pod = ASKING.annotated({}).built()
    target = pod
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    before = copy.deepcopy(pod)
    state = state_of(knowledge_of())
    first, second = size(pod, state, "shop"), size(pod, state, "shop")
    assert first == second
    assert pod == before
    assert state.tasks == {TRAIN: knowledge_of()}
