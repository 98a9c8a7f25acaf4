"""`plimsoll explain`: who decides sizes, for a task, for a pod, and for missing ones."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.task_names import NothingToExplain
from plimsoll_operator.commands.sizes.explain import (
    asked_by,
    decided,
    explain_command,
)
from plimsoll_operator.commands.sizes.explain_tables import explained
from plimsoll_operator.names.labels import CONTAINER, DECISION
from plimsoll_operator.sizing.decision_note import DecisionNote, note_to_json
from plimsoll_operator.views.explanation import Explanation
from plimsoll_predictor.core.decision import Ask, Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.experts.panel import PANEL
from plimsoll_predictor.knowledge.guarded import Guarded
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import DecisionRecord, Store, TaskSummary
from tests.builders.experts.standings import SHIFTED_MIB, a_fleet, facts_of, keep
from tests.builders.pods import a_pod
from tests.builders.reports import START_S, TASK, a_model, an_attempt
from tests.rigs.processes.command_lines import run_here

HOSTILE = "[red]oh[/red] \x1b[31mred"
BY_NAME = a_pod().named("train-demand-x7").labelled("train-demand").in_namespace("shop")
NOTE = DecisionNote(
    task=str(TASK),
    run=None,
    attempt=2,
    allocation_bytes=512 * MIB,
    was_request_bytes=4 * GIB,
    was_limit_bytes=None,
    bin=None,
    probability=None,
    model=None,
    reason=Reason.LIFTED,
    why="attempt 2 of this run: 300Mi was too small, lifted to 512Mi",
    mode=Mode.ENFORCE,
    container="main",
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with forty runs of one task, its experts and a decision in recommend mode."""
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.observations.record(
        [
            replace(an_attempt(f"r{place}"), finished_s=START_S + place, features={"rows": 9.0})
            for place in range(3)
        ]
    )
    store.models.save(TASK, a_model(), {})
    words = "train-demand-x1: 4Gi would be → 512Mi: " + HOSTILE
    store.keep(
        decided=[
            DecisionRecord(
                task=TASK,
                attempt_uid="u",
                at_s=START_S,
                words=words,
                allocation_bytes=512 * MIB,
                request_bytes=4 * GIB,
                reason="learned",
            )
        ]
    )
    keep(store, a_fleet())
    store.close()
    return address


def explain(
    url: str,
    output: OutputForm = OutputForm.TABLE,
    named: str = str(TASK),
    kubeconfig: Path | None = None,
) -> int:
    path = None if kubeconfig is None else str(kubeconfig)
    return explain_command(named, url, Installation(kubeconfig=path), output)


def document(capsys: pytest.CaptureFixture[str], url: str) -> Any:
    assert explain(url, OutputForm.JSON) == 0
    return json.loads(capsys.readouterr().out)


def text_of(explanation: Explanation) -> str:
    console = Console(width=200, record=True, file=StringIO())
    console.print(explained(explanation))
    return console.export_text()


def an_explanation(**changes: Any) -> Explanation:
    made = Explanation(
        task=TASK,
        summary=TaskSummary(task=TASK, runs_known=29),
        ask=Ask(features={"rows": 9.0}, request_bytes=4 * GIB),
        standing=facts_of(a_fleet(SHIFTED_MIB)),
        decisions=(),
    )
    return replace(made, **changes)


@pytest.mark.slow
def test_a_task_is_explained_by_its_experts_their_bids_and_their_costs(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(url) == 0
    text = capsys.readouterr().out
    champion = facts_of(a_fleet()).champion
    for words in (str(TASK), f"serves        {champion}", "asks for 4Gi", "rows", "1.00×"):
        assert words in text
    for name in PANEL:
        assert name in text
    assert "its mode is recommend, so this is only written down" in text
    assert "\x1b" not in text, "what came from outside cannot colour the terminal"


@pytest.mark.slow
def test_a_program_is_told_the_same(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = document(capsys, url)
    facts = facts_of(a_fleet())
    assert (told["champion"], told["why"]) == (facts.champion, facts.why)
    assert told["usual_request_bytes"] == 4 * GIB
    assert told["features"] == ["rows"]
    by_name = {each["name"]: each for each in told["experts"]}
    assert by_name[facts.champion]["serves"]
    assert by_name["request"]["times_champion"] == pytest.approx(facts.times["request"])
    assert by_name["classifier"]["bid_bytes"] == a_model().bins.ceilings_bytes[-1]
    assert by_name["classifier"]["times_champion"] is None, "it has never bid before"
    assert told["drift"]["change"] == "Steady"


def test_a_store_of_before_the_experts_is_explained_as_far_as_it_goes(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = url.removeprefix("sqlite:///")
    older = Path(path).with_name("older.db")
    store = Store.open(f"sqlite:///{older}")
    store.observations.record([an_attempt()])
    store.close()
    told = document(capsys, f"sqlite:///{older}")
    assert (told["champion"], told["experts"]) == (None, [])
    assert explain(f"sqlite:///{older}") == 0
    serves = next(line for line in capsys.readouterr().out.splitlines() if "serves" in line)
    assert f"no controller has learned from its runs yet; until then {told['now']['why']}" in serves
    assert "request" not in serves


def test_a_damaged_standing_is_no_reason_to_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/damaged.db"
    store = Store.open(address)
    store.observations.record([an_attempt()])
    fleet = a_fleet()
    keep(store, fleet)
    through = store.experts.through()
    assert store.experts.save(through, {str(TASK): {"past": "gone"}}, {}, follows={through})
    store.close()
    assert document(capsys, address)["champion"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("shop/train-demnad", "did you mean shop/train-demand?"),
        ("shpo/train-demand", "did you mean shop/train-demand?"),
        ("far/other", "there are shop/train-demand"),
        ("train-demand", "is not 'namespace/name'; write 'shop/train', say"),
    ],
)
def test_of_a_name_that_is_not_there_the_nearest_are_told(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str, words: str
) -> None:
    assert explain(url, named=named, kubeconfig=tmp_path / "absent") == 1
    said = capsys.readouterr()
    assert words in said.err
    assert "?;" not in said.err
    assert said.out == ""


def test_an_empty_store_asks_whether_it_is_the_right_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/empty.db"
    Store.open(address).close()
    assert explain(address, kubeconfig=tmp_path / "absent") == 1
    assert "no task has been observed yet; is the --store right?" in capsys.readouterr().err


def test_a_pod_is_explained_by_the_decision_that_is_written_on_it() -> None:
    pod = BY_NAME.annotated({DECISION: note_to_json(NOTE)}).built()
    task, decision = decided(pod, TaskId("shop", "train-demand-x7"))
    assert task == TASK
    text = text_of(an_explanation(pod=decision))
    for words in ("pod train-demand-x7", "4Gi → 512Mi", NOTE.why, "enforce"):
        assert words in text
    assert an_explanation(pod=decision).to_dict()["pod"]["attempt"] == 2


def test_a_pod_without_a_decision_says_so() -> None:
    _, decision = decided(BY_NAME.built(), TaskId("shop", "train-demand-x7"))
    assert "none is written on it" in text_of(an_explanation(pod=decision))
    assert an_explanation(pod=decision).to_dict()["pod"]["decided"] is False


def test_a_pod_of_which_no_container_can_be_sized_is_told_why_and_not_anothers_request() -> None:
    pod = BY_NAME.annotated({CONTAINER: "mian"}).built()
    _, decision = decided(pod, TaskId("shop", "train-demand-x7"))
    assert asked_by(pod, decision) is None
    told = an_explanation(pod=decision)
    text = text_of(told)
    assert "'mian', which is none of its containers" in text
    assert "admission did not see it" not in text
    assert "usual run     asks for 4Gi" in text
    assert "this pod" not in text
    assert "none of its containers" in told.to_dict()["pod"]["why"]


def test_a_pod_of_which_a_container_can_be_sized_is_explained_by_its_own_request() -> None:
    _, decision = decided(BY_NAME.built(), TaskId("shop", "train-demand-x7"))
    assert "this pod      asks for 4Gi" in text_of(an_explanation(pod=decision))


def test_a_pod_that_is_not_plimsolls_is_told_how_to_become_so() -> None:
    with pytest.raises(NothingToExplain, match=r"label its template plimsoll\.dev/task"):
        decided(BY_NAME.unlabelled().built(), TaskId("shop", "train-demand-x7"))


def test_a_task_that_drifts_says_how_and_how_many_of_its_runs_count() -> None:
    text = text_of(an_explanation())
    assert "which needed 6.05Gi to 6.79Gi" in text
    assert "29 known, the last 9 of them count" in text


@pytest.mark.parametrize(
    ("reason", "words"),
    [("cold-start", "minRuns"), ("off", "sizing is switched off")],
)
def test_the_policy_that_holds_a_task_back_is_named(reason: str, words: str) -> None:
    decision = DecisionRecord(
        task=TASK,
        attempt_uid="u",
        at_s=START_S,
        words="p: 4Gi",
        allocation_bytes=None,
        request_bytes=None,
        reason=reason,
    )
    assert any(words in each for each in an_explanation(decisions=(decision,)).would_change)


@pytest.mark.slow
def test_it_is_a_command(url: str) -> None:
    done = run_here("explain", str(TASK), "--store", url, "--output", "json")
    assert json.loads(done.stdout)["task"] == str(TASK)


def test_why_its_latest_attempts_did_not_succeed_is_told() -> None:
    causes = (Cause.CUDA, Cause.CHILD, Cause.CUDA)
    text = text_of(an_explanation(causes=causes))
    words = "the GPU's memory was full (2), a child process was killed at the limit (1)"
    assert f"ended badly   {words}" in text
    assert an_explanation(causes=causes).to_dict()["causes"] == {"cuda": 2, "child": 1}
    assert "ended badly" not in text_of(an_explanation())


@pytest.mark.parametrize(
    ("ends", "runs", "told"),
    [
        pytest.param(3, 0, True, id="an engine deletes its pods"),
        pytest.param(2, 0, False, id="it may be chance"),
        pytest.param(3, 1, False, id="one taught its need"),
    ],
)
def test_a_task_whose_pods_are_all_deleted_is_told_that_this_teaches_nothing(
    ends: int, runs: int, *, told: bool
) -> None:
    summary = TaskSummary(task=TASK, runs_known=runs)
    deleted = an_explanation(causes=(Cause.DELETED,) * ends, summary=summary, standing=None)
    words = "spark.kubernetes.executor.deleteOnTermination=false"
    assert any(words in each for each in deleted.would_change) is told
    mixed = replace(deleted, causes=(*deleted.causes, Cause.OWN_LIMIT))
    assert not any(words in each for each in mixed.would_change)


@pytest.mark.slow
def test_the_causes_of_an_explanation_are_those_of_the_store(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(url)
    (latest,) = store.observations.of_task(TASK, limit=1)
    failed = replace(latest, attempt_uid="f", outcome=Outcome.FAILED, cause=Cause.SPARK)
    store.observations.record([failed])
    store.close()
    assert document(capsys, url)["causes"] == {"spark": 1}


def test_what_raises_sizes_now_is_told_beside_what_they_follow() -> None:
    standing = replace(facts_of(a_fleet()), follows="its size follows a straight line over rows")
    told = an_explanation(standing=standing, reached_bytes=2 * GIB, burst="5 runs failed")
    text = text_of(told)
    assert "follows       its size follows a straight line over rows" in text
    assert "running       running attempts have reached 2Gi, more than any run that ended" in text
    assert "burst         5 runs failed" in text
    assert told.to_dict()["reached_bytes"] == 2 * GIB
    assert told.to_dict()["follows"] == standing.follows
    quiet = text_of(an_explanation())
    assert not any(words in quiet for words in ("running attempts", "burst", "follows  "))


def test_a_task_that_the_guard_holds_says_so() -> None:
    held = Guarded(expert="request", times=1.31, runs=300)
    told = an_explanation(standing=replace(facts_of(a_fleet()), guarded=held))
    assert "the task follows this rule, because over 300 runs" in text_of(told)
    assert told.to_dict()["guarded"] == held.words


@pytest.mark.slow
def test_runs_that_fail_now_are_a_burst_in_the_store_too(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert document(capsys, url)["burst"] is None
    store = Store.open(url)
    for number in range(3):
        store.lifts.put(TASK, f"r{number}", Lift(2 * MIB, 2, MIB))
        store.lifts.put(TaskId("shop", "other"), f"r{number}", Lift(2 * MIB, 2, MIB))
    assert set(store.lifts.of_task(TASK)) == {"r0", "r1", "r2"}
    store.close()
    assert "3 runs failed and did not get through yet" in document(capsys, url)["burst"]


@pytest.mark.slow
def test_what_a_failure_counts_for_is_told_with_the_restart_as_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, fleet = f"sqlite:///{tmp_path}/restarts.db", a_fleet()
    for restart_s in range(1, 10):
        fleet.restarted(str(TASK), float(restart_s))
    store = Store.open(address)
    store.observations.record([an_attempt()])
    keep(store, fleet)
    store.close()
    price = document(capsys, address)["failure_price"]
    # Its runs take ten minutes.
    assert (price["restart_s"], price["restarts"], price["price_s"]) == (5.0, 9, 1805.0)
    assert explain(address) == 0
    assert "5 s for the restart" in " ".join(capsys.readouterr().out.split())
