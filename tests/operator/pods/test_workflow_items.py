"""A pod's run of a workflow, its item, and what is written on the pod about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.workflow_items import MAX_TASK_BYTES, Work
from plimsoll_operator.sizing.decision_note import (
    MAX_ANNOTATION_CHARS,
    note_from_json,
    note_to_json,
)
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.bounded_text import MOST_ITEM_BYTES
from plimsoll_predictor.core.item_needs import EARLIER, MOST_UPSTREAM, UPSTREAM
from plimsoll_predictor.core.policy import Mode, Policy
from tests.builders.pods import APod, a_pod, decision_of

POD = a_pod().asking("4Gi").limited("4Gi")
AUTO = a_pod().labelled("auto")
IN_R1 = {labels.RUN: "r1", labels.ITEM: "s1"}


def work_of(pod: APod) -> Work:
    found = identify(pod.built())
    assert found is not None
    return found.work


def test_run_and_item_are_read_from_annotations_and_labels() -> None:
    assert work_of(POD.annotated(IN_R1)) == Work("r1", "s1")
    assert work_of(POD.with_labels(IN_R1)) == Work("r1", "s1")
    assert work_of(POD.with_labels(IN_R1).annotated({labels.ITEM: "s2"})) == Work("r1", "s2")
    assert work_of(POD) == Work()


@pytest.mark.parametrize("odd", ["", "a\x00b", "a\nb", "\ud800", 7, None, ["s1"]])
def test_what_is_not_printable_counts_as_not_written(odd: Any) -> None:
    pod = POD.annotated({labels.RUN: "r1", labels.ITEM: odd})
    assert work_of(pod) == Work("r1", None)


@pytest.mark.parametrize(
    ("pod", "work"),
    [
        pytest.param(
            AUTO.with_labels({"dag_id": "etl", "task_id": "load", "run_id": "manual__1"}),
            Work("airflow:etl:manual__1"),
            id="Airflow, whose run ids repeat from DAG to DAG",
        ),
        pytest.param(
            AUTO.with_labels(
                {"dag_id": "etl", "task_id": "load", "run_id": "manual__1", "map_index": "3"}
            ),
            Work("airflow:etl:manual__1"),
            id="an index that only counts is no item",
        ),
        pytest.param(
            POD.with_labels({"workflows.argoproj.io/workflow": "etl-x7k2p"}).annotated(
                {"workflows.argoproj.io/node-name": "etl-x7k2p[1].join(0:apple)(2)"}
            ),
            Work("argo:etl-x7k2p", "apple"),
            id="Argo's loop over items, retried",
        ),
        pytest.param(
            POD.with_labels({"workflows.argoproj.io/workflow": "etl-x7k2p"}).annotated(
                {"workflows.argoproj.io/node-name": "etl-x7k2p(0:eu)[0].load(1:pear)"}
            ),
            Work("argo:etl-x7k2p", "pear"),
            id="Argo's loop within a loop",
        ),
        pytest.param(
            POD.with_labels({"workflows.argoproj.io/workflow": "etl-x7k2p"}).annotated(
                {"workflows.argoproj.io/node-name": "etl-x7k2p.join(2)"}
            ),
            Work("argo:etl-x7k2p"),
            id="an Argo retry's number is no item",
        ),
        pytest.param(
            AUTO.with_labels(
                {
                    "nextflow.io/processName": "NF_ALIGN",
                    "nextflow.io/runName": "mad_curie",
                    "nextflow.io/taskName": "NF_ALIGN_sample1",
                }
            ),
            Work("nextflow:mad_curie", "sample1"),
            id="Nextflow's tag",
        ),
        pytest.param(
            AUTO.with_labels(
                {
                    "nextflow.io/processName": "NF_ALIGN",
                    "nextflow.io/runName": "mad_curie",
                    "nextflow.io/taskName": "NF_ALIGN_12",
                }
            ),
            Work("nextflow:mad_curie"),
            id="Nextflow's count of untagged tasks",
        ),
        pytest.param(
            AUTO.with_labels(
                {
                    "tekton.dev/pipelineRun": "b-x7k2p",
                    "tekton.dev/pipeline": "b",
                    "tekton.dev/pipelineTask": "test",
                }
            ),
            Work("tekton:b-x7k2p"),
            id="Tekton",
        ),
        pytest.param(
            AUTO.with_labels({"tekton.dev/taskRun": "b-x7k2p", "tekton.dev/task": "b"}),
            Work(),
            id="a Tekton task of no pipeline",
        ),
        pytest.param(AUTO.owned_by_job("load-x7k2p"), Work(), id="a Job"),
    ],
)
def test_engines_are_believed_where_they_say_it(pod: APod, work: Work) -> None:
    assert work_of(pod) == work


def test_what_the_author_wrote_wins_over_the_engine() -> None:
    pod = AUTO.with_labels({"dag_id": "etl", "task_id": "load", "run_id": "manual__1"})
    assert work_of(pod.annotated({labels.ITEM: "eu"})) == Work("airflow:etl:manual__1", "eu")
    assert work_of(pod.annotated(IN_R1)) == Work("r1", "s1")


def knowing_items() -> AdmissionState:
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE))
    state.siblings.note("r1", "shop/s1", "align", 5e8)
    state.siblings.note("r0", "shop/s1", "train", 3e8)
    return state


def sized(pod: APod, state: AdmissionState) -> APod:
    return pod.patched(size(pod.built(), state).patch)


def test_what_was_known_of_the_item_is_written_on_the_pod() -> None:
    pod = sized(POD.annotated(IN_R1), knowing_items())
    assert decision_of(pod)["context"] == {f"{UPSTREAM}align": 500_000_000, EARLIER: 300_000_000}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(POD, id="no item"),
        pytest.param(POD.annotated({labels.RUN: "r1"}), id="a run alone"),
        pytest.param(POD.annotated({**IN_R1, labels.ITEM: "s2"}), id="an item nobody knows"),
        pytest.param(POD.annotated(IN_R1).in_namespace("bank"), id="another namespace's item"),
    ],
)
def test_where_nothing_is_known_nothing_is_written(pod: APod) -> None:
    assert "context" not in decision_of(sized(pod, knowing_items()))


def test_the_longest_context_fits_into_an_annotation_that_is_read_back() -> None:
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE))
    run, item, task = "r" * MOST_ITEM_BYTES, "i" * MOST_ITEM_BYTES, "t" * MAX_TASK_BYTES
    for number in range(20):
        name = f"{number:02}{'u' * (MAX_TASK_BYTES - 2)}"
        state.siblings.note(run, f"shop/{item}", name, 1e15)
    state.siblings.note(None, f"shop/{item}", task, 1e15)
    pod = POD.labelled(task).annotated({labels.RUN: run, labels.ITEM: item})
    text = sized(pod, state).built()["metadata"]["annotations"][labels.DECISION]
    assert len(text) < MAX_ANNOTATION_CHARS
    note = note_from_json(text)
    assert note is not None
    assert len(note.context) == MOST_UPSTREAM + 1
    assert note_to_json(note) == text


@pytest.mark.parametrize(
    "context",
    [
        pytest.param("text", id="no mapping"),
        pytest.param({EARLIER: "5"}, id="no number"),
        pytest.param({EARLIER: True}, id="a boolean"),
        pytest.param({EARLIER: 0}, id="nothing"),
        pytest.param({EARLIER: -5}, id="below zero"),
        pytest.param({"rows": 5}, id="an author's feature"),
        pytest.param({f"{UPSTREAM}{'x' * 200}": 5}, id="a long name"),
        pytest.param({f"{UPSTREAM}{n}": 5 for n in range(MOST_UPSTREAM + 2)}, id="too many"),
    ],
)
def test_a_context_that_nobody_of_ours_wrote_makes_no_decision(context: Any) -> None:
    pod = sized(POD.annotated(IN_R1), knowing_items())
    data = {**decision_of(pod), "context": context}
    assert note_from_json(json.dumps(decision_of(pod))) is not None
    assert note_from_json(json.dumps(data)) is None


def test_a_decision_from_before_there_were_items_is_read() -> None:
    data = decision_of(sized(POD, knowing_items()))
    assert "context" not in data
    note = note_from_json(json.dumps(data))
    assert note is not None
    assert note.context == {}
