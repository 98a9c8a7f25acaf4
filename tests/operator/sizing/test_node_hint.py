"""A hint at nodes on a new pod: which pods get one, what it says, and what stays as written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.bounds.nodes import NO_NODES
from plimsoll_operator.sizing.node_hint import (
    HOST_NAME,
    MOST_SILENCE_S,
    PREFERRED,
    Heard,
    Hinted,
    HintOutcome,
    hint_for,
    without_hint,
)
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Placing
from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.hinting import Hint
from plimsoll_predictor.placing.kinds import OTHERS
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

NOW = Heard(now_s=100.0, age_s=1.0)
LOUD = [(1, 2)]
"""Two pods of the task itself, which slows itself."""


def a_state(placing: Placing = Placing.ENFORCE, **policy: Any) -> AdmissionState:
    """Three nodes, of which ``free`` is the best."""
    state = AdmissionState(tasks={TRAIN: knowledge_of(placing=placing, **policy)})
    state.placing.costs = Costs(
        (OTHERS, str(TRAIN)), np.array([[0.2, 0.2], [0.2, 1.5]]), np.ones((2, 2))
    )
    for name, residents in {"busy-1": LOUD, "free": [], "busy-2": LOUD}.items():
        state.placing.put(name, residents)
    return state


def hinted(pod: APod, state: AdmissionState | None = None, heard: Heard = NOW) -> Hinted | None:
    state = state or a_state()
    return hint_for(pod.built(), size(pod.built(), state), state, heard)


def patched(pod: APod, state: AdmissionState | None = None) -> APod:
    """The pod as in the API server, with its size and its hint."""
    state = state or a_state()
    sized = size(pod.built(), state)
    hint = hint_for(pod.built(), sized, state, NOW)
    assert hint is not None
    assert hint.outcome is HintOutcome.GIVEN
    return pod.patched([*sized.patch, *hint.patch])


POD = a_pod().asking("2Gi")
TERMS = [
    {
        "weight": weight,
        "preference": {
            "matchExpressions": [{"key": HOST_NAME, "operator": "In", "values": ["free"]}]
        },
    }
    for weight in (60, 40)
]
ELSEWHERE = {
    "podAntiAffinity": {
        PREFERRED: [
            {
                "weight": 7,
                "podAffinityTerm": {
                    "topologyKey": HOST_NAME,
                    "labelSelector": {"matchLabels": {"app": "x"}},
                },
            }
        ]
    }
}
ON_SSD = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    ]
}
PREFERS = {
    PREFERRED: [{"weight": 1, "preference": ON_SSD["nodeSelectorTerms"][0]}],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_a_pod_prefers_the_node_where_its_task_gets_along() -> None:
    pod = patched(POD).built()
    assert pod["spec"]["affinity"] == {"nodeAffinity": {PREFERRED: TERMS}}
    assert json.loads(pod["metadata"]["annotations"][labels.HINT]) == {
        "nodes": ["free"],
        "gain": 2.0,
    }


def test_what_its_author_wrote_about_other_pods_stays() -> None:
    pod = patched(POD.with_spec(affinity=ELSEWHERE)).built()
    assert pod["spec"]["affinity"] == {**ELSEWHERE, "nodeAffinity": {PREFERRED: TERMS}}


@pytest.mark.parametrize("affinity", [None, {}, {"nodeAffinity": None}, {"nodeAffinity": {}}])
def test_an_affinity_that_says_nothing_is_as_none(affinity: Any) -> None:
    pod = patched(POD.with_spec(affinity=affinity)).built()
    assert pod["spec"]["affinity"] == {"nodeAffinity": {PREFERRED: TERMS}}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeName": "node-7"}, id="its node"),
        pytest.param({"nodeSelector": {HOST_NAME: "busy-1"}}, id="a host"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, id="a kind of nodes"),
        pytest.param({"affinity": {"nodeAffinity": {REQUIRED: ON_SSD}}}, id="nodes it needs"),
        pytest.param({"affinity": {"nodeAffinity": PREFERS}}, id="nodes it likes"),
    ],
)
def test_a_pod_that_says_where_it_belongs_is_not_advised(spec: dict[str, Any]) -> None:
    assert hinted(POD.with_spec(**spec)) == Hinted(HintOutcome.CHOSEN)


def test_the_operating_system_says_nothing_of_where() -> None:
    pod = POD.with_spec(nodeSelector={"kubernetes.io/os": "linux"})
    assert patched(pod).built()["spec"]["affinity"]["nodeAffinity"] == {PREFERRED: TERMS}


def test_recommend_leaves_the_pod_and_counts_nobody() -> None:
    state = a_state(Placing.RECOMMEND)
    assert hinted(POD, state) == Hinted(HintOutcome.RECOMMENDED)
    before = state.placing.hint(str(TRAIN), NOW.now_s)
    assert before == Hint(("free",), 2.0)


def test_a_hint_says_which_node_is_best_and_counts_nobody_itself() -> None:
    state = a_state()
    found = hinted(POD, state)
    assert found is not None
    assert found.best == "free"
    assert state.placing.hint(str(TRAIN), NOW.now_s) == Hint(("free",), 2.0)


@pytest.mark.parametrize("mode", [Mode.RECOMMEND, Mode.ENFORCE])
def test_hints_do_not_go_by_the_mode_of_sizes(mode: Mode) -> None:
    found = hinted(POD, a_state(mode=mode))
    assert found is not None
    assert found.outcome is HintOutcome.GIVEN


@pytest.mark.parametrize(
    ("pod", "policy"),
    [
        pytest.param(POD, {"placing": Placing.NEVER}, id="never"),
        pytest.param(POD, {"mode": Mode.OFF}, id="off"),
        pytest.param(POD, {"paused": True}, id="paused"),
        pytest.param(POD.in_mode("off"), {}, id="off by its own word"),
        pytest.param(POD.unlabelled(), {}, id="nobody's"),
        pytest.param(POD.annotated({labels.HINT: "{}"}), {}, id="hinted before"),
        pytest.param(POD.annotated({labels.CONTAINER: "x"}), {}, id="not sizable"),
    ],
)
def test_who_gets_no_hint_is_not_counted_either(pod: APod, policy: dict[str, Any]) -> None:
    assert hinted(pod, a_state(**policy)) is None


def test_a_pod_that_is_asked_for_again_has_its_hint_already() -> None:
    state = a_state()
    pod = patched(POD, state)
    sized = size(pod.built(), state)
    assert hint_for(pod.built(), sized, state, NOW) is None
    assert sized.patch == []


def test_where_karpenter_makes_nodes_no_pod_names_hosts() -> None:
    """Older ones make no node for such a pod, so it would be pending for good."""
    state = a_state()
    state.nodes = replace(NO_NODES, karpenter=True)
    assert hinted(POD, state) == Hinted(HintOutcome.KARPENTER)


def test_a_later_attempt_gets_no_hint() -> None:
    """A descheduler that looks at preferences would evict one attempt after another."""
    index = {"job-completion-index": "0", "job-index-failure-count": "1"}
    notes = {f"batch.kubernetes.io/{key}": value for key, value in index.items()}
    pod = POD.owned_by_job().annotated(notes)
    assert hinted(pod) == Hinted(HintOutcome.LATER)


@pytest.mark.parametrize("age_s", [None, MOST_SILENCE_S + 0.1])
def test_while_the_feed_is_silent_there_is_no_hint(age_s: float | None) -> None:
    assert hinted(POD, heard=Heard(100.0, age_s)) == Hinted(HintOutcome.SILENT)


def test_without_news_of_nodes_there_is_no_hint() -> None:
    state = AdmissionState(tasks={TRAIN: knowledge_of(placing=Placing.ENFORCE)})
    assert hinted(POD, state) == Hinted(HintOutcome.UNKNOWN)


def test_nodes_that_are_alike_make_no_difference() -> None:
    state = a_state()
    state.placing.put("free", LOUD)
    assert hinted(POD, state) == Hinted(HintOutcome.ALIKE)


def test_a_pod_full_of_annotations_is_left() -> None:
    pod = POD.annotated({"note": "x" * 70_000})
    assert hinted(pod) == Hinted(HintOutcome.NO_ROOM)


def test_the_patch_is_small_whatever_nodes_are_called() -> None:
    state = a_state()
    for number in range(60):
        state.placing.put(f"{number:063d}", [])
    found = hinted(POD, state)
    assert found is not None
    assert len(json.dumps(list(found.patch))) < 2048
    assert len(found.patch[1]["value"]) <= 512


def test_the_next_attempt_has_what_its_author_wrote() -> None:
    pod = POD.with_spec(affinity=ELSEWHERE)
    assert without_hint(patched(pod).built())["spec"] == patched(pod).built()["spec"] | {
        "affinity": ELSEWHERE
    }
    assert "affinity" not in without_hint(patched(POD).built())["spec"]
    assert labels.HINT not in without_hint(patched(POD).built())["metadata"]["annotations"]


def test_a_preference_that_somebody_added_since_stays() -> None:
    pod = patched(POD).built()
    pod["spec"]["affinity"]["nodeAffinity"][PREFERRED].append(PREFERS[PREFERRED][0])
    assert without_hint(pod)["spec"]["affinity"] == {"nodeAffinity": PREFERS}


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(
    affinity=ANY | st.fixed_dictionaries({"nodeAffinity": ANY}),
    selector=ANY,
    note=ANY.map(json.dumps) | st.text() | st.none(),
)
def test_whatever_a_pod_says_it_is_answered(affinity: Any, selector: Any, note: Any) -> None:
    pod = POD.with_spec(affinity=affinity, nodeSelector=selector)
    if note is not None:
        pod = pod.annotated({labels.HINT: note})
    found = hinted(pod)
    assert found is None or found.outcome in HintOutcome
    without_hint(pod.built())
