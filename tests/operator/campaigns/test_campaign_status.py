"""What a campaign's status says, and its conditions' sentences."""

from __future__ import annotations

from dataclasses import replace

from plimsoll_operator.campaigns.status import Counts, State, status_of
from plimsoll_predictor.campaigns.ending import Ending
from plimsoll_predictor.campaigns.planning import AGENTS_SILENT_S, TRIED_AFTER_S
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.core.units import MIB
from tests.builders.campaigns import RUNS, STATE, run_of


def sentences(state: State) -> dict[str, tuple[str, str, str]]:
    conditions = status_of(state, {}, 100.0)["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in conditions}


def test_scenarios_are_counted_by_their_latest_attempt() -> None:
    assert Counts.of(RUNS) == Counts(scenarios=7, waiting=1, running=1, done=4, failed=1, killed=1)


def test_a_running_campaign_says_how_far_it_is_and_what_failed_last() -> None:
    status = status_of(STATE, {}, 100.0)
    assert (status["phase"], status["observedGeneration"]) == ("Running", 2)
    assert status["binCeilings"]
    assert status["estSaved"].endswith("%")
    said = sentences(STATE)
    assert said["Accepted"] == ("True", "Valid", "it can run as it is written")
    assert said["Progressing"] == (
        "True",
        "Running",
        "4 of 7 scenarios done, 1 failed, 1 under way; scenario 5: its program failed",
    )


def test_a_campaign_that_waits_for_agents_says_whether_a_run_is_tried() -> None:
    silent = sentences(replace(STATE, silent_s=AGENTS_SILENT_S + 1))["Progressing"]
    assert silent[:2] == ("True", "WaitsForAgents")
    assert "no run would be measured: none begins; 4 of 7 scenarios done" in silent[2]
    tried = sentences(replace(STATE, silent_s=TRIED_AFTER_S + 1))["Progressing"]
    assert "one at a time begins" in tried[2]
    over = replace(STATE, silent_s=TRIED_AFTER_S + 1, ending=Ending.ALL_RUN, ended=True)
    assert sentences(over)["Progressing"][1] == "AllRun"


def test_a_campaign_whose_pods_never_start_blames_no_template_for_a_lack_of_room() -> None:
    stuck = [
        run_of(each, RunState.STUCK, note="no node takes it: 1 Insufficient") for each in (0, 1)
    ]
    state = State(generation=1, runs=stuck, ending=Ending.NEVER_STARTS, ended=True)
    words = sentences(state)["Progressing"][2]
    assert "mend what holds them back, in spec.podTemplate or in the cluster" in words
    assert words.endswith("scenario 0: no node takes it: 1 Insufficient")


def test_an_ending_campaign_waits_for_what_runs_and_an_ended_one_says_why() -> None:
    ending = replace(STATE, ending=Ending.BUDGET_SPENT)
    assert sentences(ending)["Progressing"][:2] == ("True", "Ending")
    ended = replace(ending, ended=True)
    status, reason, words = sentences(ended)["Progressing"]
    assert (status, reason) == ("False", "BudgetSpent")
    assert words.startswith("its budget is used up; 4 of 7 scenarios done")
    assert status_of(ended, {}, 0.0)["phase"] == "Finished"
    stopped = replace(ended, ending=Ending.STOPPED)
    assert status_of(stopped, {}, 0.0)["phase"] == "Stopped"


def test_a_stopped_campaign_whose_jobs_nobody_deletes_says_which_command_does() -> None:
    stopped = replace(STATE, ending=Ending.STOPPED, ended=True, left_to="kubectl delete jobs")
    words = sentences(stopped)["Progressing"][2]
    assert "may not delete its Jobs, and those that run go on: `kubectl delete jobs`" in words
    never_ran = replace(stopped, runs=[CampaignRun(scenario=0, values={}, memory_bytes=MIB)])
    assert "kubectl" not in sentences(never_ran)["Progressing"][2]


def test_a_refused_and_a_waiting_campaign_say_what_they_wait_for() -> None:
    refused = State(generation=1, refusal=("QuotaTooSmall", "a quota allows 1Gi"))
    assert status_of(refused, {}, 0.0)["phase"] == "Refused"
    assert sentences(refused)["Accepted"] == ("False", "QuotaTooSmall", "a quota allows 1Gi")
    assert sentences(refused)["Progressing"] == (
        "False",
        "Refused",
        "nothing runs until this is mended: a quota allows 1Gi",
    )
    began = sentences(replace(STATE, refusal=refused.refusal, going=1))["Progressing"][2]
    assert began == (
        "no more runs begin until this is mended: a quota allows 1Gi; 1 run that began may go on"
    )
    waits = State(generation=1, waits_for="first")
    assert status_of(waits, {}, 0.0)["phase"] == "Waiting"
    assert "it waits for the end of first" in sentences(waits)["Progressing"][2]


def test_a_refused_campaign_is_stopped_and_says_still_why_it_could_not_run() -> None:
    stopping = replace(STATE, refusal=("InvalidTemplate", "no"), ending=Ending.STOPPED)
    assert sentences(stopping)["Progressing"][:2] == ("True", "Ending")
    stopped = replace(stopping, ended=True)
    assert status_of(stopped, {}, 0.0)["phase"] == "Stopped"
    assert sentences(stopped)["Accepted"] == ("False", "InvalidTemplate", "no")
    assert sentences(stopped)["Progressing"][:2] == ("False", "Stopped")


def test_a_refused_campaign_of_which_all_runs_began_is_refused_until_they_end() -> None:
    last = replace(STATE, refusal=("QuotaTooSmall", "no"), ending=Ending.ALL_RUN)
    assert status_of(last, {}, 0.0)["phase"] == "Refused"
    assert status_of(replace(last, ended=True), {}, 0.0)["phase"] == "Finished"


def test_left_out_duplicates_are_said() -> None:
    said = sentences(replace(STATE, duplicates=3))["Accepted"]
    assert said == ("True", "DuplicatesLeftOut", "3 scenarios left out, as others are the same")


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    first = status_of(STATE, {}, 100.0)
    again = status_of(STATE, first, 900.0)
    assert [each["lastTransitionTime"] for each in again["conditions"]] == [
        each["lastTransitionTime"] for each in first["conditions"]
    ]


def test_scenarios_of_a_recording_say_how_many_runs_they_stand_for() -> None:
    runs = [replace(each, weight=5) for each in RUNS]
    assert sentences(replace(STATE, runs=runs))["Accepted"] == (
        "True",
        "Valid",
        "its 7 scenarios stand for 35 recorded runs",
    )


def test_what_has_no_room_to_start_is_told() -> None:
    waits = run_of(7, RunState.STARTING, note="it has no pod; maybe a quota")
    told = sentences(replace(STATE, runs=(*RUNS, waits)))["Progressing"]
    assert told[:2] == ("True", "Running")
    assert "2 under way; scenario 7 waits: it has no pod; maybe a quota; scenario 5" in told[2]
