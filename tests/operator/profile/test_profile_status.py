"""A TaskProfile's status: what it says, and when it is written again."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.profiles.gathering import (
    PEAK_DELAY_S,
    Measured,
    measurement_of,
)
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
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.curve import Straight
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER, CURVES, MAX_SEEN, REQUEST
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.rule import Rule
from plimsoll_predictor.knowledge.shown import Shown
from plimsoll_predictor.store import TaskSummary
from tests.builders.experts.standings import SHIFTED_MIB, a_fleet, facts_of
from tests.builders.reports import START_S, TASK, a_model

SHIFTED = facts_of(a_fleet(SHIFTED_MIB[:-1]))
FULL = (Degradation(Ailment.STORE, "disk full"),)
UNSEEN = Measurement(None, 1)
STALE = Measurement(None, 3, "n1", START_S)


def facts(**changes: Any) -> ProfileFacts:
    """A task that is being sized by a model."""
    known = Knowledge(
        task=TASK,
        policy=Policy(mode=Mode.ENFORCE),
        runs=40,
        max_need_bytes=300 * MIB,
        champion=CLASSIFIER,
        model=a_model(),
    )
    tally = TaskSummary(
        task=TASK, observations=44, oom_kills=2, requested_gb_h=20.0, allocated_gb_h=7.62349
    )
    return replace(ProfileFacts(knowledge=known, tally=tally, trains_from=5), **changes)


def knowing(**changes: Any) -> ProfileFacts:
    return facts(knowledge=replace(facts().knowledge, **changes))


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
    assert "Asks for too little: 100Mi, needs 210Mi." in status["about"]
    assert "Took 3 GB·h more than the 1 GB·h asked for." in status["about"]
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
            "is the agent running",
        ),
        (facts(measurement=Measurement(PeakSource.AGENT)), "MeasurementsFresh", "True", "agent"),
        (facts(measurement=STALE), "MeasurementsFresh", "False", "last 3 attempts"),
        (facts(measurement=STALE), "MeasurementsFresh", "False", "on node n1"),
        (facts(), "Leaking", "False", "no run is beyond help"),
        (facts(leaking="at the largest node"), "Leaking", "True", "at the largest node"),
        (facts(problems=("bins 9 is bad",)), "Degraded", "True", "bins 9 is bad"),
        (facts(), "Degraded", "False", "nothing keeps Plimsoll from its work"),
        (facts(), "Drifting", "False", "need what those before them needed"),
        (facts(standing=SHIFTED), "Drifting", "True", "those before 6.05Gi to 6.79Gi"),
        (facts(troubles=FULL), "Degraded", "True", "disk full"),
        (facts(training=TrainingFact(at_s=0.0)), "TrainingFailed", "False", "succeeded"),
        (knowing(model=None, runs=3), "ModelReady", "False", "3 of the 5 runs"),
        (knowing(model=None), "ModelReady", "False", "a training is due; until"),
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


def test_the_story_begins_with_what_is_done_to_pods() -> None:
    told = {
        mode: status_of(knowing(policy=Policy(mode=mode)), now_s=0.0)["about"][0] for mode in Mode
    }
    assert told[Mode.ENFORCE] == "Pods get the sizes decided here (mode enforce)."
    assert told[Mode.RECOMMEND].startswith("Nothing is changed: what pods would get is written")
    assert told[Mode.OFF] == "Off: pods are neither changed nor observed."
    paused = status_of(facts(paused_by=PausedBy.NAMESPACE), now_s=0.0)
    assert paused["about"][0].startswith("Paused in this namespace")


def test_the_story_of_a_task_nobody_knows_yet_promises_nothing() -> None:
    bare = facts(knowledge=Knowledge(task=TASK, policy=Policy()), tally=TaskSummary(task=TASK))
    about = status_of(bare, now_s=0.0)["about"]
    assert "0 of the 1 runs needed are known; until then the request is kept." in about
    assert not any("aved" in words for words in about)


def test_a_task_that_keeps_its_request_for_many_runs_is_sized_and_not_learning() -> None:
    standing = facts_of(a_fleet())
    known = knowing(champion=REQUEST, model=None)
    assert status_of(known, now_s=0.0)["phase"] == "Learning"
    assert status_of(replace(known, standing=standing), now_s=0.0)["phase"] == "Sizing"


def an_end(number: int, source: PeakSource | None, **changes: Any) -> Observation:
    return Observation(
        attempt_uid=f"u{number}",
        task=TASK,
        run=f"r{number}",
        outcome=Outcome.SUCCEEDED,
        peak_source=source,
        node="n1",
        started_s=START_S,
        finished_s=START_S + 60 * number,
        **changes,
    )


NOW_S = START_S + 3600


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        pytest.param([], None, id="nothing ended"),
        pytest.param([None, PeakSource.AGENT], Measurement(PeakSource.AGENT), id="the last was"),
        pytest.param([None, None], Measurement(None, 2, "n1"), id="none ever was"),
        pytest.param(
            [PeakSource.AGENT, None, None],
            Measurement(None, 2, "n1", START_S),
            id="the last two were not",
        ),
    ],
)
def test_whether_attempts_are_measured_follows_from_the_latest(
    sources: list[PeakSource | None], found: Measurement | None
) -> None:
    latest = [an_end(number, source) for number, source in enumerate(sources)]
    assert measurement_of(latest, NOW_S) == Measured(found)


def test_a_report_that_may_still_come_is_not_missed_yet() -> None:
    latest = [an_end(0, PeakSource.AGENT), an_end(1, None)]
    just_now_s = START_S + 60 + PEAK_DELAY_S - 1
    found = measurement_of(latest, just_now_s)
    assert found == Measured(Measurement(PeakSource.AGENT), awaited=True)
    assert measurement_of(latest, just_now_s + 2).measurement == Measurement(None, 1, "n1", START_S)


def test_an_attempt_that_failed_says_nothing_of_the_agent() -> None:
    failed = replace(an_end(1, None), outcome=Outcome.FAILED)
    assert measurement_of([an_end(0, PeakSource.AGENT), failed], NOW_S).measurement is not None
    assert measurement_of([failed], NOW_S) == Measured(None)


def test_the_story_says_what_kills_and_rescues_cost() -> None:
    costs = "2 kills lost 12 min and 0.4 GB·h"
    about = status_of(facts(costs=costs), now_s=START_S)["about"]
    assert f"Of the latest attempts, {costs}." in about
    assert not any("kills lost" in words for words in status_of(facts(), now_s=START_S)["about"])


def test_the_story_counts_why_the_latest_attempts_did_not_succeed() -> None:
    words = "killed at its limit (2), the GPU's memory was full (1)"
    causes = (Cause.OWN_LIMIT, Cause.CUDA, Cause.OWN_LIMIT)
    status = status_of(facts(causes=causes), now_s=START_S)
    assert status["causes"] == words
    assert f"Lately 3 attempts did not succeed: {words}." in status["about"]
    # None deletes the field of a status that had one.
    assert status_of(facts(), now_s=START_S)["causes"] is None


def test_what_sizes_follow_and_what_raises_them_now_is_part_of_the_story() -> None:
    line = Straight(features=("rows",), slopes=(1000.0,), intercept=60.0 * MIB, factor=1.05)
    told = status_of(
        knowing(
            champion=CURVES,
            rule=Rule(base_bytes=1.0, curves=(line,)),
            shown=Shown(floor_bytes=2048 * MIB),
            lifts={f"r{number}": Lift(2, 2, 1) for number in range(11)},
        ),
        now_s=0.0,
    )
    story = " ".join(told["about"])
    assert (
        "; its size follows a straight line over rows, with room: 1.05 times that, which" in story
    )
    assert "Running attempts have reached 2Gi, more than any run that ended" in story
    assert "11 runs failed and did not get through yet, beside 40 known" in story
    assert told["reached"] == "2Gi"


def test_a_task_of_which_nothing_runs_and_nothing_fails_says_nothing_of_that() -> None:
    told = status_of(facts(), now_s=0.0)
    assert told["reached"] is None
    assert not any("follows" in each or "burst" in each for each in told["about"])
