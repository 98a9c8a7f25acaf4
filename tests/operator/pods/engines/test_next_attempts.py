"""A run's next pod has the run's key, or it is known that it has not."""

from __future__ import annotations

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.row import Executions
from plimsoll_operator.pods.identity import Reach, RunIdentity, identify
from tests.builders.engines.orchestrators import dagster, flyte
from tests.builders.engines.pipelines import nextflow
from tests.builders.engines.runs import Chance
from tests.builders.engines.trainings import ray
from tests.builders.pods import APod, a_pod


def identified(pod: APod) -> RunIdentity:
    found = identify(pod.labelled(labels.AUTO).built())
    assert found is not None
    return found


def a_flyte_pod(attempt: int, inside: str = "", items: str | None = None, seed: int = 1) -> APod:
    return APod(flyte(Chance(seed), "etl-load", inside=inside, items=items, attempt=attempt))


@pytest.mark.parametrize("inside", ["", "n1-0-", "n1-0-dn0-2-", "n0-0-"])
@pytest.mark.parametrize("items", [None, "n", ""], ids=["alone", "of an array", "of an older map"])
def test_flytes_next_pod_has_the_key_of_its_run(inside: str, items: str | None) -> None:
    tries = [identified(a_flyte_pod(attempt, inside, items)) for attempt in range(3)]
    assert len({each.run for each in tries}) == 1
    assert [each.attempt for each in tries] == [1, 2, 3]
    assert {each.reach for each in tries} == {Reach.RUN}


def test_flytes_nodes_of_other_places_are_other_runs() -> None:
    pods = [
        a_flyte_pod(0, inside, items)
        for inside in ("", "n1-0-", "n1-1-", "n2-0-")
        for items in (None, "n", "")
    ]
    assert len({identified(pod).run for pod in pods}) == len(pods)


def named(name: str, node: str = "n0") -> RunIdentity:
    pod = a_flyte_pod(0).with_labels({"execution-id": "ax", "node-id": node})
    return identified(pod.named(name))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("ax-fopyxg7y-0", "ax-fopyxg7y-1", id="a long place is a hash"),
        pytest.param("ax-load-3-0", "ax-load-3-1", id="a node that is named so"),
    ],
)
def test_flytes_last_number_is_the_attempt_where_it_follows_a_name(first: str, second: str) -> None:
    node = "load-3" if "load" in first else "n0"
    one, two = named(first, node), named(second, node)
    assert (one.run, one.attempt, one.reach) == (two.run, two.attempt - 1, Reach.RUN)


@pytest.mark.parametrize(
    ("name", "node"),
    [
        pytest.param("fk3vq7a2hcs5wyh4bnm2", "n0", id="all of it is a hash"),
        pytest.param("ax-fopyxg7y-0-3", "n0", id="an item, or an attempt at one"),
        pytest.param("ax-1-0-1-0", "1", id="all of it are numbers"),
        pytest.param("ax-n0", "n0", id="no attempt"),
        pytest.param("", "n0", id="no name"),
    ],
)
def test_where_no_number_is_surely_the_attempt_the_pod_is_not_known_again(
    name: str, node: str
) -> None:
    found = named(name, node)
    assert (found.attempt, found.reach) == (1, Reach.POD)


LONG = "NFCORE_SAREK:SAREK:BAM_VARIANT_CALLING:PAIRED_TUMOR_NORMALS"
SHORT = "NFCORE_RNASEQ:STAR"


def a_nextflow_pod(process: str, tag: str, uid: str, job: bool = False) -> RunIdentity:
    pod = APod(nextflow(Chance(1), process, f"{tag}_", job))
    return identified(pod.named(f"nf-{uid}", uid=uid))


def test_samples_whose_names_nextflow_cut_to_one_are_two_runs_without_an_item() -> None:
    tumor, normal = (a_nextflow_pod(LONG, f"patient_{of}", of) for of in ("tumor", "normal"))
    assert tumor.task == normal.task
    assert tumor.run != normal.run
    assert (tumor.work.item, tumor.reach) == (None, Reach.POD)
    assert tumor.work.run == normal.work.run is not None


def test_where_each_has_a_job_the_jobs_own_attempts_are_known_again() -> None:
    found = a_nextflow_pod(LONG, "patient_tumor", "tumor", job=True)
    assert str(found.run).startswith("job:")
    assert (found.work.item, found.reach) == (None, Reach.JOB)


def test_a_sample_whose_name_fits_is_known_again() -> None:
    first, second = (a_nextflow_pod(SHORT, "patient", uid) for uid in ("1", "2"))
    assert first.run == second.run
    assert first.reach is Reach.RUN
    assert str(first.work.item).startswith("patient_")


def test_a_tag_whose_signs_became_fewer_may_have_been_cut_though_it_is_short() -> None:
    found = a_nextflow_pod(SHORT, ", ".join("abcdefghijklmnopq"), "1")
    assert found.reach is Reach.POD


def test_shards_with_one_tag_share_their_key_at_once_unless_people_say_which_is_which() -> None:
    first, second = (a_nextflow_pod(SHORT, "patient", uid) for uid in ("1", "2"))
    assert (first.run, first.executions) == (second.run, Executions.AT_ONCE)
    shard = APod(nextflow(Chance(1), SHORT, "patient_"))
    named = identified(shard.annotated({labels.RUN: "r", labels.ITEM: "patient/chr1"}))
    assert (named.run, named.executions) == ("run:r/patient/chr1", Executions.ONE)


def test_a_name_that_was_cut_is_no_key_that_is_shared() -> None:
    assert a_nextflow_pod(LONG, "patient_tumor", "tumor").executions is Executions.ONE


@pytest.mark.parametrize(
    ("notes", "executions"),
    [
        ({"sha": "abc", "ref": "main"}, Executions.IN_TURN),
        ({"id": "1"}, Executions.ONE),
    ],
)
def test_gitlabs_jobs_of_one_commit_share_their_key(
    notes: dict[str, str], executions: Executions
) -> None:
    pod = a_pod().with_labels({"project.runner.gitlab.com/id": "7"})
    written = {f"job.runner.gitlab.com/{name}": text for name, text in notes.items()}
    found = identified(pod.annotated({"job.runner.gitlab.com/name": "etl", **written}))
    assert found.executions is executions


def test_a_cluster_of_ray_that_is_made_again_is_another_run() -> None:
    pods = [APod(ray(Chance(seed), "tune", "cpu", of="RayCluster")) for seed in (1, 1, 2)]
    worker, next_worker, of_the_next = (identified(pod).run for pod in pods)
    assert worker == next_worker != of_the_next


@pytest.mark.parametrize(
    ("of", "reach"),
    [
        pytest.param("RayCluster", Reach.RUN, id="a cluster that people named"),
        pytest.param("RayJob", Reach.POD, id="a RayJob tries again in another cluster"),
    ],
)
def test_a_lost_worker_of_ray_is_known_again_as_long_as_its_cluster_lasts(
    of: str, reach: Reach
) -> None:
    assert identified(APod(ray(Chance(1), "tune", "cpu", of=of))).reach is reach


@pytest.mark.parametrize(
    ("component", "op", "reach"),
    [("step_worker", "load", Reach.RUN), ("run_worker", None, Reach.JOB)],
)
def test_dagster_tries_a_step_again_in_its_run_and_a_run_in_another(
    component: str, op: str | None, reach: Reach
) -> None:
    pod = APod(dagster(Chance(1), "etl", op, component))
    assert identified(pod).reach is reach
