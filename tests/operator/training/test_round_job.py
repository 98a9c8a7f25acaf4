"""The Job of a round, by a template; strangers may have changed what is mounted."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from plimsoll_operator.training.round_job import (
    SHARDS_A_WORKER,
    BadTemplate,
    JobTemplate,
    RoundState,
    state_of,
)


def document(**spec: Any) -> dict[str, Any]:
    worker = {"name": "trainer", "image": "plimsoll:1", "args": ["train-shard"]}
    pod = {"spec": {"containers": [worker]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "plimsoll-trainers", "labels": {"a": "b"}},
        "spec": {"parallelism": 2, "template": pod, **spec},
    }


def parsed(**spec: Any) -> JobTemplate:
    return JobTemplate.parse(yaml.safe_dump(document(**spec)))


def test_a_round_is_an_indexed_job_whose_pods_know_it() -> None:
    template = parsed()
    job = template.job(template.round_name(1_700_000_000.9), shards=8)
    assert job["metadata"] == {"name": "plimsoll-trainers-1700000000", "labels": {"a": "b"}}
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 8, 2)
    (worker,) = spec["template"]["spec"]["containers"]
    assert worker["args"] == ["train-shard", "--round", "plimsoll-trainers-1700000000"]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert template.document == document(), "the template itself stays as it was"


def test_what_the_template_says_of_restarts_stands() -> None:
    job = parsed(backoffLimitPerIndex=9, ttlSecondsAfterFinished=60).job("r", 1)
    assert (job["spec"]["backoffLimitPerIndex"], job["spec"]["ttlSecondsAfterFinished"]) == (9, 60)


@pytest.mark.parametrize(
    ("due", "shards"), [(1, 1), (3, 3), (8, 8), (2_000, 2 * SHARDS_A_WORKER), (0, 1)]
)
def test_there_are_some_shares_a_worker_and_no_empty_ones(due: int, shards: int) -> None:
    assert parsed().shards(due) == shards


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{", "is no YAML", id="torn"),
        pytest.param("[]", "of kind None", id="a list"),
        pytest.param(yaml.safe_dump({**document(), "kind": "Pod"}), "'Pod'", id="a pod"),
        pytest.param(yaml.safe_dump({**document(), "metadata": {}}), "metadata.name", id="no name"),
        pytest.param(yaml.safe_dump(document(parallelism=0)), "parallelism of 0", id="no pods"),
        pytest.param(yaml.safe_dump(document(parallelism=True)), "of True", id="a truth"),
        pytest.param(yaml.safe_dump(document(template={})), "has 0 containers", id="no container"),
    ],
)
def test_a_template_that_is_none_is_named(text: str, words: str) -> None:
    with pytest.raises(BadTemplate, match=words):
        JobTemplate.parse(text)


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        (None, RoundState.GOING),
        ([{"type": "Complete", "status": "False"}], RoundState.GOING),
        ([{"type": "SuccessCriteriaMet", "status": "True"}], RoundState.GOING),
        ([{"type": "Complete", "status": "True"}], RoundState.DONE),
        ([{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}],
         RoundState.FAILED),
        (["odd", {"status": "True"}], RoundState.GOING),
    ],
)  # fmt: skip
def test_a_job_says_how_far_its_round_is(conditions: Any, state: RoundState) -> None:
    assert state_of({"status": {"conditions": conditions}}) is state
