"""Scores of nodes for one pod: which pods get unequal ones, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plimsoll_operator.sizing.node_hint import MOST_SILENCE_S, PREFERRED, Heard, hint_for
from plimsoll_operator.sizing.node_scores import Graded, Scores, score_nodes
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Mode, Placing
from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.loads import NodeLoad
from tests.builders.kubernetes.hostile_pods import hostile_pods, oddly_typed_pods
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

NOW = Heard(now_s=100.0, age_s=1.0)
NODES = ("busy", "free", "half")
POD = a_pod().asking("2Gi")


def a_state(placing: Placing = Placing.ENFORCE, **policy: Any) -> AdmissionState:
    """Three nodes, with two, none and one pod of a task that slows itself."""
    state = AdmissionState(tasks={TRAIN: knowledge_of(placing=placing, **policy)})
    rows = np.array([[0.2, 0.2], [0.2, 0.4]])
    state.placing.costs = Costs((OTHERS, str(TRAIN)), rows, np.ones((2, 2)))
    for name, count in zip(NODES, (2, 0, 1), strict=True):
        state.placing.put(name, [(1, count)])
    return state


def scored(pod: APod, state: AdmissionState | None = None, heard: Heard = NOW) -> Scores:
    return score_nodes(pod.built(), NODES, state or a_state(), heard)


def test_the_node_has_most_on_which_least_is_lost() -> None:
    found = scored(POD)
    assert found == Scores(Graded.GIVEN, [0, 10, 5], TRAIN)
    assert found.best == 1


def test_a_node_on_which_a_task_has_no_memory_loses_to_one_where_tasks_slow_each_other() -> None:
    state = a_state()
    state.placing.put_load("free", NodeLoad(8000, 6000, 1024))
    state.placing.put_load("half", NodeLoad(8000, 6000, 4096))
    # The costs are 0.8, then 0.5 of a run for the GiB without room, and 0.4.
    assert scored(POD, state).scores == [0, 8, 10]
    assert scored(POD.asking("1Gi"), state).scores == [0, 10, 5]


def test_what_others_use_of_the_processors_counts_by_what_the_tasks_runs_used() -> None:
    state = a_state()
    state.placing.put_load("free", NodeLoad(2000, 0, 64_000))
    pod = POD.with_cpu("1")
    assert scored(pod, state).scores == [0, 8, 10], "it would take 1.5 times as long"
    state.tasks[TRAIN] = replace(state.tasks[TRAIN], cpu=CpuUse(runs=9, high_cores=0.02))
    assert scored(pod, state).scores == [0, 10, 5]


def test_a_node_under_pressure_has_no_score_whoever_runs_there() -> None:
    state = a_state()
    state.placing.remove("free")
    state.placing.put_load("free", NodeLoad(pressed=True))
    assert scored(POD, state).scores == [6, 0, 10]


def test_where_nobody_knows_who_slows_whom_loads_alone_count() -> None:
    state = a_state()
    state.placing.costs = None
    assert scored(POD, state) == Scores(Graded.UNKNOWN)
    state.placing.put_load("busy", NodeLoad(8000, 6000, 0))
    assert scored(POD, state) == Scores(Graded.ALIKE), "the others are not known to be better"
    state.placing.put_load("half", NodeLoad(8000, 6000, 64_000))
    assert scored(POD, state).scores == [0, 5, 10]
    state.placing.forget_load("busy")
    state.placing.forget_load("half")
    assert scored(POD, state) == Scores(Graded.UNKNOWN)


def test_where_several_are_best_none_is_the_best() -> None:
    state = a_state()
    state.placing.put("half", [])
    found = scored(POD, state)
    assert found.scores == [0, 10, 10]
    assert found.best is None
    assert Scores(Graded.ALIKE).best is None


@pytest.mark.parametrize(
    ("pod", "policy"),
    [
        pytest.param(POD.unlabelled(), {}, id="nobody's"),
        pytest.param(POD, {"placing": Placing.NEVER}, id="never"),
        pytest.param(POD, {"mode": Mode.OFF}, id="off"),
        pytest.param(POD, {"paused": True}, id="paused"),
        pytest.param(POD.in_mode("off"), {}, id="off by its own word"),
    ],
)
def test_who_did_not_ask_for_it_gets_equal_scores(pod: APod, policy: dict[str, Any]) -> None:
    assert scored(pod, a_state(**policy)) == Scores(Graded.OTHER)


def test_while_the_whole_cluster_is_paused_scores_are_equal() -> None:
    state = a_state()
    state.paused = True
    assert scored(POD, state) == Scores(Graded.OTHER)


def test_recommend_is_only_counted() -> None:
    assert scored(POD, a_state(Placing.RECOMMEND)) == Scores(Graded.RECOMMENDED)


@pytest.mark.parametrize("mode", [Mode.RECOMMEND, Mode.ENFORCE])
def test_scores_do_not_go_by_the_mode_of_sizes(mode: Mode) -> None:
    assert scored(POD, a_state(mode=mode)).graded is Graded.GIVEN


@pytest.mark.parametrize("age_s", [None, MOST_SILENCE_S + 0.1])
def test_while_the_feed_is_silent_scores_are_equal(age_s: float | None) -> None:
    assert scored(POD, heard=Heard(100.0, age_s)) == Scores(Graded.SILENT)


def test_a_task_that_nobody_knows_gets_equal_scores() -> None:
    state = a_state()
    state.tasks.clear()
    assert scored(POD, state) == Scores(Graded.OTHER)
    state.default_policy = knowledge_of(placing=Placing.ENFORCE).policy
    other = a_pod().labelled("never-seen")
    assert scored(other, state) == Scores(Graded.UNKNOWN)


def test_without_news_of_nodes_scores_are_equal() -> None:
    state = AdmissionState(tasks={TRAIN: knowledge_of(placing=Placing.ENFORCE)})
    assert scored(POD, state) == Scores(Graded.UNKNOWN)
    assert score_nodes(POD.built(), ("new-1", "new-2"), a_state(), NOW) == Scores(Graded.UNKNOWN)


def preferring(pod: APod) -> APod:
    term = {"weight": 1, "preference": {"matchFields": []}}
    return pod.with_spec(affinity={"nodeAffinity": {PREFERRED: [term]}})


def test_an_author_who_prefers_nodes_is_not_contradicted() -> None:
    assert scored(preferring(POD)) == Scores(Graded.CHOSEN)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeSelector": {"disk": "ssd"}}, id="a selector"),
        pytest.param(
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            id="required",
        ),
    ],
)
def test_a_pod_that_selects_nodes_is_scored_among_those(spec: dict[str, Any]) -> None:
    assert scored(POD.with_spec(**spec)).graded is Graded.GIVEN


def test_a_hint_is_no_preference_of_the_author() -> None:
    state = a_state()
    sized = size(POD.built(), state)
    hint = hint_for(POD.built(), sized, state, NOW)
    assert hint is not None
    pod = POD.patched([*sized.patch, *hint.patch])
    assert PREFERRED in str(pod.built())
    assert scored(pod, state).graded is Graded.GIVEN


@pytest.mark.slow
def test_no_pod_of_a_stranger_breaks_it() -> None:
    state = a_state()
    odd = [*oddly_typed_pods(300, seed=3), *(each.document for each in hostile_pods(300, seed=3))]
    for pod in odd:
        found = score_nodes(pod, NODES, state, NOW)
        assert (found.scores is None) is (found.graded is not Graded.GIVEN)
