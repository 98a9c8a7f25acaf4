"""A TaskProfile's status: what it says, and when it is written again."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names.conditions import TROUBLE, ConditionType, timestamp
from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.profile import conditions as profile_conditions
from plimsoll_operator.profile.facts import (
    Ailment,
    Degradation,
    Measurement,
    ProfileFacts,
    TrainingFact,
)
from plimsoll_operator.profile.status import changed, newly_shifted, status_of
from plimsoll_operator.wording.asking_words import TooLittle
from plimsoll_operator.wording.drift_words import DriftKind
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import PeakSource
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.lifting import LIFTING_OFF
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN, REQUEST
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import TaskSummary
from tests.builders.experts.standings import SHIFTED_MIB, a_fleet, facts_of
from tests.builders.reports import START_S, TASK, a_model
from tests.operator.profile.sized_task import facts, knowing

SHIFTED = facts_of(a_fleet(SHIFTED_MIB[:-1]))
FULL = (Degradation(Ailment.STORE, "disk full"),)
UNSEEN = Measurement(None, 1)
STALE = Measurement(None, 3, "n1", START_S)


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in status["conditions"] if each["type"] == kind)


def test_the_columns_of_kubectl_get_have_something_to_show() -> None:
    status = status_of(facts(), now_s=START_S)
    version = a_model().version
    columns = ("task", "mode", "phase", "binsText", "runs", "oomKills", "saved", "model")
    assert [status[column] for column in columns] == [
        "train-demand",
        "enforce",
        "Sizing",
        "512Mi",
        40,
        2,
        "62% (12.4 GB·h)",
        f"classifier {version}",
    ]
    assert status["bins"] == [{"ceiling": "512Mi", "count": 40}]
    assert (status["savedGbH"], status["uScore"], status["accuracy"]) == (12.3765, 0.25, 0.9975)


def test_a_task_that_asks_for_too_little_is_told_in_words_and_not_in_percent() -> None:
    tally = TaskSummary(task=TASK, observations=44, requested_gb_h=1.0, allocated_gb_h=4.0)
    asks_little = facts(tally=tally, too_little=TooLittle(100 * MIB, 210 * MIB))
    status = status_of(asks_little, now_s=START_S)
    assert status["saved"] == "none (3 GB·h more)"
    assert status["savedGbH"] == -3.0
    assert status["asks"] == "too little: 100Mi, needs 210Mi"
    told = "Its pods request 100Mi of memory, but the task needs 210Mi; raise the request."
    assert told in status["about"]
    assert "Its sizes took 3 GB·h more than the 1 GB·h asked for." in status["about"]
    assert not any("-" in words for words in (status["saved"], status["asks"]))


def test_a_task_that_asks_for_enough_has_nothing_in_that_column() -> None:
    assert status_of(facts(), now_s=START_S)["asks"] is None


@pytest.mark.parametrize(
    ("mode", "asks"),
    [
        pytest.param(Mode.ENFORCE, "too little CPU: 100m, uses 258m", id="CPU is sized"),
        pytest.param(Mode.OFF, None, id="idle CPU is anybody's"),
    ],
)
def test_too_little_cpu_is_told_where_cpu_is_sized(mode: Mode, asks: str | None) -> None:
    known = facts().knowledge
    policy = replace(known.policy, cpu=replace(known.policy.cpu, mode=mode))
    used = replace(known, policy=policy, cpu=CpuUse(runs=20, high_cores=0.2575))
    assert facts(knowledge=used, asked_cores=0.1).asks == asks


def test_a_status_is_plain_json() -> None:
    status = status_of(facts(decisions=("a", "b")), now_s=START_S)
    assert json.loads(json.dumps(status)) == status


@pytest.mark.parametrize(
    ("now_known", "phase"),
    [
        pytest.param(knowing(runs=0), "ColdStart", id="too few runs"),
        pytest.param(knowing(champion=REQUEST, model=None), "Learning", id="no model yet"),
        pytest.param(knowing(champion=REQUEST), "Sizing", id="the request won"),
        pytest.param(knowing(champion=MAX_SEEN, model=None), "Sizing", id="without a model"),
        pytest.param(knowing(policy=Policy(mode=Mode.OFF)), "Paused", id="switched off"),
        pytest.param(knowing(policy=Policy(paused=True)), "Paused", id="paused"),
        pytest.param(facts(leaking="lifted 3 times"), "Leaking", id="given up"),
    ],
)
def test_the_phase_follows_from_what_is_known(now_known: ProfileFacts, phase: str) -> None:
    assert status_of(now_known, now_s=START_S)["phase"] == phase


def test_another_champion_is_shown_without_the_version_of_a_model_it_does_not_use() -> None:
    status = status_of(knowing(champion=MAX_SEEN), now_s=START_S)
    assert (status["model"], status["modelVersion"]) == ("max-seen", a_model().version)


@pytest.mark.parametrize("champion", [CLASSIFIER, BOOSTING])
def test_a_champion_that_is_a_model_has_its_version_beside_it(champion: str) -> None:
    status = status_of(knowing(champion=champion), now_s=0.0)
    assert status["model"] == f"{champion} {a_model().version}"


def test_a_task_whose_lifting_is_switched_off_is_told_nothing_else_of_its_kills() -> None:
    status = status_of(facts(leaking=LIFTING_OFF), now_s=0.0)
    assert condition(status, "Leaking")["message"] == LIFTING_OFF
    assert "Lifting is switched off (maxLifts 0)." in status["about"]


def test_without_a_model_or_a_request_there_is_nothing_to_boast_of() -> None:
    bare = facts(knowledge=Knowledge(task=TASK, policy=Policy()), tally=TaskSummary(task=TASK))
    status = status_of(bare, now_s=START_S)
    for field in ("bins", "binsText", "saved", "savedGbH", "maxNeed", "modelVersion", "uScore"):
        assert status[field] is None
    assert status["model"] == "request"


def test_a_failed_training_leaves_the_model_serving_and_shows() -> None:
    failed = facts(training=TrainingFact(at_s=START_S, failure="killed by signal 9 (memory cap?)"))
    status = status_of(failed, now_s=START_S)
    failure = condition(status, "TrainingFailed")
    assert (failure["status"], failure["reason"]) == ("True", "LastTrainingFailed")
    assert "killed by signal 9" in failure["message"]
    assert f"model {a_model().version} keeps serving" in failure["message"]
    assert condition(status, "ModelReady")["status"] == "True"
    assert status["phase"] == "Sizing"


def test_a_training_cut_short_says_so() -> None:
    cut = facts(training=TrainingFact(at_s=START_S, note="cut short by its budget of 60 s"))
    assert "cut short" in condition(status_of(cut, now_s=START_S), "ModelReady")["message"]


@pytest.mark.parametrize(
    ("now_known", "kind", "verdict", "words"),
    [
        (facts(), "MeasurementsFresh", "Unknown", "no attempt has succeeded yet"),
        (
            facts(measurement=Measurement(None, 1)),
            "MeasurementsFresh",
            "False",
            "learned from it; check that the agent runs on each node",
        ),
        (facts(measurement=Measurement(PeakSource.AGENT)), "MeasurementsFresh", "True", "agent"),
        (facts(measurement=STALE), "MeasurementsFresh", "False", "latest 3 attempts"),
        (facts(measurement=STALE), "MeasurementsFresh", "False", "on node n1"),
        (facts(), "Leaking", "False", "no run is beyond help"),
        (facts(leaking="at the largest node"), "Leaking", "True", "at the largest node; that run"),
        (facts(leaking="lifted once"), "Leaking", "True", "the next ones are sized and lifted as"),
        (facts(problems=("bins 9 is bad",)), "Degraded", "True", "bins 9 is bad"),
        (facts(), "Degraded", "False", "nothing keeps Plimsoll from its work"),
        (facts(), "Drifting", "False", "need what its earlier runs needed"),
        (facts(standing=SHIFTED), "Drifting", "True", "which needed 6.05Gi to 6.79Gi"),
        (facts(troubles=FULL), "Degraded", "True", "disk full"),
        (facts(training=TrainingFact(at_s=0.0)), "TrainingFailed", "False", "succeeded"),
        (knowing(model=None, runs=3), "ModelReady", "False", "3 of the 5 runs"),
        (knowing(model=None), "ModelReady", "False", "a training is due; until"),
        (
            replace(knowing(model=None), training=TrainingFact(at_s=0.0, has_model=True)),
            "ModelReady",
            "False",
            "there is no room for it",
        ),
        (
            replace(knowing(model=None), due_since_s=START_S),
            "ModelReady",
            "False",
            f"a training is due since {timestamp(START_S)}; until then",
        ),
        (facts(paused_by=PausedBy.CLUSTER), "Paused", "True", "Plimsoll's own namespace"),
        (facts(), "Paused", "False", "nobody pauses it"),
        (facts(left="report-1: the VPA sets it"), "SteppedBack", "True", "report-1: the VPA sets"),
        (facts(), "SteppedBack", "False", "nobody else"),
    ],
)
def test_conditions_say_what_holds(
    now_known: ProfileFacts, kind: str, verdict: str, words: str
) -> None:
    found = condition(status_of(now_known, now_s=START_S), kind)
    assert found["status"] == verdict
    assert words in found["message"]


def test_a_condition_keeps_its_time_until_it_flips() -> None:
    first = status_of(facts(), now_s=0.0)
    stayed = status_of(facts(), previous=first, now_s=3600.0)
    flipped = status_of(facts(troubles=FULL), previous=stayed, now_s=7200.0)
    times = [condition(each, "Degraded")["lastTransitionTime"] for each in (first, stayed, flipped)]
    assert times == ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T02:00:00Z"]
    assert condition(flipped, "ModelReady")["lastTransitionTime"] == "1970-01-01T00:00:00Z"


def test_a_damaged_old_status_is_no_reason_to_fail() -> None:
    previous = {"conditions": [None, "rubbish", {"type": "ModelReady"}]}
    status = status_of(facts(), previous=previous, now_s=0.0)
    assert condition(status, "ModelReady")["lastTransitionTime"] == "1970-01-01T00:00:00Z"


def test_the_same_facts_are_not_written_twice() -> None:
    first = status_of(facts(), now_s=0.0)
    stored = json.loads(json.dumps({key: each for key, each in first.items() if each is not None}))
    assert not changed(stored, status_of(facts(), previous=stored, now_s=60.0))


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(knowing(runs=41), id="one more run"),
        pytest.param(knowing(model=None), id="the model went"),
        pytest.param(facts(leaking="lifted 3 times"), id="a condition flipped"),
        pytest.param(facts(decisions=("bin 1 of 3",)), id="a decision was made"),
        pytest.param(facts(generation=2), id="the spec was read again"),
    ],
)
def test_a_real_change_is_written(after: ProfileFacts) -> None:
    first = status_of(facts(), now_s=0.0)
    assert changed(first, status_of(after, previous=first, now_s=0.0))
    assert changed(None, first)


def test_decisions_are_bounded_in_number_and_length() -> None:
    status = status_of(facts(decisions=["x" * 9999] * 50), now_s=0.0)
    assert [len(words) for words in status["lastDecisions"]] == [512] * 10


def test_what_each_expert_would_have_cost_is_shown_over_the_champions_cost() -> None:
    experts = facts_of(a_fleet())
    status = status_of(facts(standing=experts), now_s=0.0)
    assert status["expertCosts"][experts.champion] == 1.0
    assert status["expertCosts"]["request"] == round(experts.times["request"], 2)
    assert status["championWords"] == "the bin classifier"


def test_a_cost_that_is_no_number_is_left_out_and_does_not_change_at_each_look() -> None:
    experts = facts_of(a_fleet())
    strange = tuple(
        replace(each, times=math.nan if each.name == "request" else each.times)
        for each in experts.experts
    )
    told = facts(standing=replace(experts, experts=strange))
    status = status_of(told, now_s=0.0)
    assert "request" not in status["expertCosts"]
    assert not changed(status, status_of(told, previous=status, now_s=1.0))


def test_before_the_first_run_no_expert_has_a_cost() -> None:
    assert status_of(facts(), now_s=0.0)["expertCosts"] is None


def test_an_expert_that_is_gone_is_taken_away_from_the_status() -> None:
    previous = {"expertCosts": {"oracle": 0.5, "request": 3.0}}
    costs = status_of(facts(standing=SHIFTED), previous=previous, now_s=0.0)["expertCosts"]
    assert costs["oracle"] is None
    assert costs["request"] is not None


def test_a_shift_is_news_once_however_often_the_status_is_written() -> None:
    steady = status_of(facts(), now_s=0.0)
    shifted = status_of(facts(standing=SHIFTED), previous=steady, now_s=1.0)
    later = facts(standing=facts_of(a_fleet(SHIFTED_MIB)))
    assert newly_shifted(steady, shifted)
    assert newly_shifted(None, shifted)
    assert not newly_shifted(shifted, status_of(later, previous=shifted, now_s=2.0))
    assert not newly_shifted(shifted, status_of(facts(), previous=shifted, now_s=3.0))


def test_another_shift_while_drifting_is_news_again() -> None:
    shifted = status_of(facts(standing=SHIFTED), now_s=1.0)
    lower = facts_of(a_fleet([*SHIFTED_MIB, *[500 + place for place in range(8)]]))
    assert lower.drift.shifts == 2
    assert newly_shifted(shifted, status_of(facts(standing=lower), previous=shifted, now_s=2.0))


def test_a_profile_has_every_condition_and_no_other_is_trouble() -> None:
    kinds = {each["type"] for each in status_of(facts(), now_s=0.0)["conditions"]}
    of_others = {ConditionType.IN_FORCE, ConditionType.ACCEPTED, ConditionType.PROGRESSING}
    assert kinds == {*ConditionType} - of_others
    assert kinds >= TROUBLE.keys()


def test_the_columns_of_the_definitions_show_conditions_that_there_are() -> None:
    for kind, found in (("taskprofiles", 3), ("sizingpolicies", 2)):
        definition = (Path(__file__).parents[3] / "deploy" / "crds" / f"{kind}.yaml").read_text()
        named = re.findall(r'conditions\[\?\(@\.type=="(\w+)"\)\]', definition)
        assert len(named) >= found
        assert {*named} <= {*ConditionType}


def test_every_condition_and_reason_is_in_the_documentation() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "status.md").read_text()
    written = Path(profile_conditions.__file__).read_text()
    reasons = set(re.findall(r'ConditionStatus\.\w+,\s*"(\w+)"', written))
    reasons |= {*Ailment, *PausedBy, *DriftKind}
    kinds = {each["type"] for each in status_of(facts(), now_s=0.0)["conditions"]}
    assert len(reasons) > 15
    assert [each for each in sorted(reasons | kinds) if f"`{each}`" not in documented] == []


def test_the_worst_of_several_troubles_names_the_condition_and_all_are_told() -> None:
    troubles = (Degradation(Ailment.FEED, "nobody asks"), Degradation(Ailment.STORE, "disk full"))
    status = status_of(facts(troubles=troubles, problems=("bins 9 is bad",)), now_s=0.0)
    found = condition(status, "Degraded")
    assert found["reason"] == "StoreUnavailable"
    assert found["message"] == "disk full; nobody asks; bins 9 is bad"


def test_a_task_that_keeps_its_request_for_many_runs_is_sized_and_not_learning() -> None:
    standing = facts_of(a_fleet())
    known = knowing(champion=REQUEST, model=None)
    assert status_of(known, now_s=0.0)["phase"] == "Learning"
    assert status_of(replace(known, standing=standing), now_s=0.0)["phase"] == "Sizing"
