"""The story of a task that its status tells in sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.profile.status import MAX_SENTENCES, status_of
from plimsoll_operator.profile.story import profile_story
from plimsoll_operator.wording.asking_words import TooLittle
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.experts.charging import Would
from plimsoll_predictor.knowledge.curve import Straight
from plimsoll_predictor.knowledge.error_budget import Spent
from plimsoll_predictor.knowledge.expert_names import CURVES
from plimsoll_predictor.knowledge.floor import Floor, FloorKind
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.rule import Rule
from plimsoll_predictor.knowledge.shown import Shown
from plimsoll_predictor.store import TaskSummary
from tests.builders.experts.standings import SHIFTED_MIB, a_fleet, facts_of
from tests.builders.reports import START_S, TASK
from tests.operator.profile.sized_task import facts, knowing

CRDS = Path(__file__).parents[3] / "deploy" / "crds"


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
    kept = "until then the request is kept, unless a run is known to need more."
    assert f"0 of the 1 runs needed are known; {kept}" in about
    assert not any("aved" in words for words in about)


@pytest.mark.parametrize(
    ("known", "tried"),
    [
        pytest.param({}, True, id="never seen"),
        pytest.param({"runs": 1}, False, id="a run is known"),
        pytest.param({"max_need_bytes": 3 * GIB}, False, id="the share was too small"),
        pytest.param({"policy": {"critical": True}}, False, id="critical"),
        pytest.param({"policy": {"first_size": 1.0}}, False, id="the whole request"),
    ],
)
def test_the_story_says_which_share_of_the_request_is_tried_first(
    known: dict[str, Any], tried: bool
) -> None:
    policy = replace(Policy(min_runs=2, first_size=0.75), **known.pop("policy", {}))
    about = status_of(facts(knowledge=Knowledge(task=TASK, policy=policy, **known)), now_s=0.0)
    told = [each for each in about["about"] if "runs needed are known" in each]
    shares = [each for each in told if "75% of the request is tried first (firstSize)" in each]
    assert len(told) == 1
    assert len(shares) == tried
    assert tried or "the request is kept" in told[0]


def test_the_story_says_what_kills_and_rescues_cost() -> None:
    costs = "over the latest 9 attempts: 2 kills lost 12 min and 0.4 GB·h"
    about = status_of(facts(costs=costs), now_s=START_S)["about"]
    assert f"O{costs[1:]}." in about
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


def test_a_story_has_no_more_sentences_than_any_definition_takes_and_tells_the_worst() -> None:
    standing = replace(
        facts_of(a_fleet(SHIFTED_MIB)),
        would=Would(runs=9, killed=1, asked_gb_h=9.0, decided_gb_h=4.0),
        spent=Spent(runs=300, killed=2),
    )
    everything = replace(
        knowing(
            policy=Policy(mode=Mode.RECOMMEND, error_budget=0.01),
            shown=Shown(floor_bytes=2048 * MIB),
            lifts={f"r{number}": Lift(2, 2, 1) for number in range(11)},
            floor=Floor(None, FloorKind.ELASTIC),
        ),
        causes=(Cause.OWN_LIMIT,),
        costs="over the latest 9 attempts: 2 kills lost 12 min and 0.4 GB·h",
        standing=standing,
        too_little=TooLittle(100 * MIB, 210 * MIB),
        left="report-1: the VPA sets it",
        leaking="lifted 3 times",
    )
    assert len(profile_story(everything)) == 15, "all that there is to tell"
    about = status_of(everything, now_s=0.0)["about"]
    schema = yaml.safe_load((CRDS / "taskprofiles.yaml").read_text())["spec"]["versions"][0]
    status = schema["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert len(about) <= MAX_SENTENCES <= status["about"]["maxItems"]
    story = " ".join(about)
    for worst in (
        "A run was given up: lifted 3 times; the next ones are sized and lifted as before",
        "Plimsoll steps back",
        "Its pods request 100Mi of memory, but the task needs 210Mi",
        "Enforcing",
    ):
        assert worst in story
