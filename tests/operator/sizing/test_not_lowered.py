"""Pods whose size a safeguard holds: what was written stays, or is raised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.names.labels import ATTEMPTS, CHUNK_MEMORY, ITEM, RUN
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_operator.sizing.chunk_floor import AS_WRITTEN
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.floor import Floor, FloorKind
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import JOB_UID, APod, a_pod, decision_of, memory_of
from tests.operator.sizing.admitted import ASKING, FITS, after, bounded, lifted, state_of
from tests.rigs.servers.admission_servers import knowledge_of

ONLY_ONE = ASKING.owned_by_job(attempts=1)


def test_a_pod_that_nobody_retries_keeps_what_was_written() -> None:
    pod = after(ONLY_ONE, state_of(knowledge_of()))
    assert memory_of(pod) == memory_of(ONLY_ONE)
    assert decision_of(pod)["reason"] == "not-lowered"
    assert decision_of(pod)["why"].startswith("nobody makes a second attempt (its Job makes 1)")


def test_a_pod_of_which_nobody_knows_whether_it_is_retried_keeps_what_was_written() -> None:
    pod = ASKING.owned_by_job(attempts=None)
    assert memory_of(after(pod, state_of(knowledge_of()))) == memory_of(pod)


def test_a_number_of_attempts_that_cannot_be_read_is_not_asked_for_again() -> None:
    pod = ASKING.owned_by_job(attempts=None).annotated({ATTEMPTS: "three"})
    decided = after(pod, state_of(knowledge_of()))
    assert memory_of(decided) == memory_of(pod)
    why = decision_of(decided)["why"]
    assert "(what plimsoll.dev/attempts on the pod says cannot be read)" in why
    assert "plimsoll.dev/attempts: 'three' is no whole number" in why


def test_a_limit_above_the_request_stays_while_the_request_is_raised() -> None:
    pod = a_pod().asking("512Mi").limited("4Gi").owned_by_job(attempts=1)
    assert memory_of(after(pod, state_of(knowledge_of()))) == (FITS, "4Gi")


def test_a_pod_without_a_limit_gets_none_if_nobody_retries_it() -> None:
    pod = a_pod().asking("512Mi").owned_by_job(attempts=1)
    assert memory_of(after(pod, state_of(knowledge_of()))) == (FITS, None)


@pytest.mark.parametrize("limits", Limits)
def test_a_limit_of_zero_gets_no_request_above_it(limits: Limits) -> None:
    """The kubelet takes it for no limit; the API server refuses a request above it, and the pod."""
    pod = a_pod().asking("0").limited("0").with_cpu("1").owned_by_job(attempts=1)
    knowledge = knowledge_of()
    state = state_of(replace(knowledge, policy=replace(knowledge.policy, limits=limits)))
    assert memory_of(after(pod, state)) == memory_of(pod)
    sized = memory_of(after(pod.owned_by_job(attempts=7), state))
    assert sized == (FITS, FITS), "with other attempts it is sized"


def test_a_need_above_the_request_raises_it_though_nobody_retries() -> None:
    pod = a_pod().asking("512Mi").limited("512Mi").owned_by_job(attempts=1)
    assert memory_of(after(pod, state_of(knowledge_of()))) == (FITS, FITS)


def test_the_last_attempt_gets_no_less_than_was_written() -> None:
    pod = ASKING.owned_by_job(attempts=3)
    sized = after(pod, lifted(f"job:{JOB_UID}", 2 * GIB))
    assert memory_of(sized) == memory_of(pod)
    assert decision_of(sized)["reason"] == "lifted"
    assert decision_of(sized)["attempt"] == 2
    assert memory_of(after(ASKING.owned_by_job(), lifted(f"job:{JOB_UID}", 2 * GIB)))[1] == "2Gi"


def test_the_last_attempt_of_a_pod_without_a_limit_has_none() -> None:
    pod = a_pod().asking("4Gi").owned_by_job(attempts=3)
    assert memory_of(after(pod, lifted(f"job:{JOB_UID}"))) == ("6Gi", None)


FLOOR = Floor(2 * GIB, FloorKind.FAILED)
WITHOUT_LIMIT = a_pod().asking("4Gi")


@pytest.mark.parametrize(
    ("pod", "floor", "memory"),
    [
        pytest.param(ASKING, None, (FITS, FITS), id="no floor"),
        pytest.param(ASKING, FLOOR, ("2Gi", "2Gi"), id="a floor over its need"),
        pytest.param(ASKING, replace(FLOOR, size_bytes=GIB), (FITS, FITS), id="a floor below it"),
        pytest.param(
            a_pod().asking("1536Mi").limited("1536Mi"), FLOOR, ("1536Mi", "1536Mi"), id="as written"
        ),
        pytest.param(ASKING, replace(FLOOR, size_bytes=None), ("4Gi", "4Gi"), id="not lowered"),
        pytest.param(WITHOUT_LIMIT, FLOOR, ("2Gi", "2Gi"), id="without a limit"),
        pytest.param(
            a_pod().asking("1536Mi"), FLOOR, ("1536Mi", None), id="without a limit, and below it"
        ),
    ],
)
def test_a_size_does_not_go_below_its_tasks_floor(
    pod: APod, floor: Floor | None, memory: tuple[str, str | None]
) -> None:
    assert memory_of(after(pod, state_of(replace(knowledge_of(), floor=floor)))) == memory


@pytest.mark.parametrize(
    ("needed", "known", "memory"),
    [
        pytest.param(str(2 * GIB), None, ("2Gi", "2Gi"), id="above its need"),
        pytest.param(str(GIB), None, (FITS, FITS), id="below its need"),
        pytest.param(str(8 * GIB), None, ("4Gi", "4Gi"), id="never above what was written"),
        pytest.param(str(GIB), FLOOR, ("2Gi", "2Gi"), id="a higher floor of the task"),
        pytest.param(str(3 * GIB), FLOOR, ("3Gi", "3Gi"), id="a lower floor of the task"),
        pytest.param(
            str(GIB), replace(FLOOR, size_bytes=None), ("4Gi", "4Gi"), id="a task not lowered"
        ),
        pytest.param("3Gi", None, (FITS, FITS), id="what Plimsoll does not write"),
        pytest.param("9" * 40, None, (FITS, FITS), id="what no memory is"),
    ],
)
def test_a_pod_is_not_sized_below_what_holds_its_chunk(
    needed: str, known: Floor | None, memory: tuple[str, str]
) -> None:
    state = state_of(replace(knowledge_of(), floor=known))
    sized = after(ASKING.annotated({CHUNK_MEMORY: needed}), state)
    assert memory_of(sized) == memory


def test_a_limit_that_stays_holds_the_chunk_already() -> None:
    pod = a_pod().asking("512Mi").limited("4Gi").annotated({CHUNK_MEMORY: str(3 * GIB)})
    known = knowledge_of()
    keeps = replace(known, policy=replace(known.policy, limits=Limits.KEEP))
    assert memory_of(after(pod, state_of(keeps))) == (FITS, "4Gi")
    assert memory_of(after(pod, state_of(known))) == ("3Gi", "3Gi")


@pytest.mark.parametrize("limits", Limits)
@pytest.mark.parametrize("asked", ["2Gi", "4Gi"])
def test_a_pod_whose_chunk_is_larger_than_any_has_exactly_what_was_written(
    asked: str, limits: Limits
) -> None:
    pod = a_pod().asking(asked).limited("4Gi").annotated({CHUNK_MEMORY: AS_WRITTEN})
    known = knowledge_of()
    state = state_of(replace(known, policy=replace(known.policy, limits=limits)))
    assert memory_of(after(pod, state)) == memory_of(pod)
    why = decision_of(after(pod, state))["why"]
    assert "its chunk is larger than any that succeeded" in why


def test_a_pod_says_what_its_largest_chunk_may_need() -> None:
    sized = after(ASKING.annotated({CHUNK_MEMORY: str(2 * GIB)}), state_of(knowledge_of()))
    assert "raised: its largest chunk may need 2Gi" in decision_of(sized)["why"]


FAILED = Lift(allocation_bytes=4 * GIB, attempt=2, after_bytes=GIB, as_written=True)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod().asking("4Gi").limited("8Gi"), id="a limit over its request"),
        pytest.param(WITHOUT_LIMIT, id="no limit"),
        pytest.param(a_pod(), id="BestEffort"),
    ],
)
def test_a_run_that_failed_by_itself_goes_on_as_written(pod: APod) -> None:
    owned = pod.owned_by_job()
    known = replace(knowledge_of(), lifts={f"job:{JOB_UID}": FAILED})
    again = after(owned, state_of(known))
    assert memory_of(again)[1] == memory_of(owned)[1]
    note = decision_of(again)
    assert (note["attempt"], note["reason"]) == (2, "not-lowered")
    assert "attempt 2 of this run, whose attempt before ended too early at 1Gi" in note["why"]


def test_a_run_that_failed_by_itself_gets_more_than_was_written_where_it_is_needed() -> None:
    known = replace(knowledge_of(), lifts={f"job:{JOB_UID}": FAILED})
    again = after(a_pod().asking("1Gi").limited("1Gi").owned_by_job(), state_of(known))
    assert memory_of(again) == (FITS, FITS)


def test_bare_pods_of_a_task_that_often_fails_by_itself_are_not_lowered() -> None:
    known = replace(knowledge_of(), fails_often=True)
    assert memory_of(after(ASKING, state_of(known))) == ("4Gi", "4Gi")
    assert memory_of(after(ASKING.owned_by_job(), state_of(known))) == (FITS, FITS)


def test_what_is_known_of_failures_travels_whole() -> None:
    known = replace(
        knowledge_of(), floor=FLOOR, fails_often=True, lifts={"r": FAILED, "s": Lift(1, 2, 3)}
    )
    assert Knowledge.from_dict(known.to_dict()) == known


def test_one_attempt_is_kept_for_failures_of_other_kinds() -> None:
    state = state_of(knowledge_of())
    twice, thrice = (ASKING.owned_by_job(attempts=attempts) for attempts in (2, 3))
    assert memory_of(after(twice, state)) == memory_of(twice)
    assert "for failures of other kinds" in decision_of(after(twice, state))["why"]
    assert memory_of(after(thrice, state)) == (FITS, FITS)


def test_a_pod_keeps_what_was_written_if_other_jobs_of_its_jobset_may_fail_with_it() -> None:
    jobset = {"jobset-name": "train", "replicatedjob-name": "workers", "global-replicas": "2"}
    its = {f"jobset.sigs.k8s.io/{name}": value for name, value in jobset.items()}
    worker, state = ASKING.owned_by_job().with_labels(its), state_of(knowledge_of())
    sized = after(worker, state)
    assert memory_of(sized) == ("4Gi", "4Gi")
    assert "other Jobs of its JobSet may fail with it" in decision_of(sized)["why"]
    assert memory_of(after(worker.annotated({ATTEMPTS: "3"}), state)) == (FITS, FITS)


def test_a_request_is_not_lowered_alone_where_nobody_retries() -> None:
    keep = replace(knowledge_of(), policy=replace(knowledge_of().policy, limits=Limits.KEEP))
    pod = a_pod().asking("4Gi").limited("8Gi").owned_by_job(attempts=1)
    assert memory_of(after(pod, state_of(keep))) == ("4Gi", "8Gi")
    assert memory_of(after(pod.owned_by_job(attempts=7), state_of(keep))) == (FITS, "8Gi")


def test_a_limit_that_was_raised_after_the_decision_is_its_authors() -> None:
    state = state_of(knowledge_of())
    sized = after(a_pod().asking("4Gi").limited("4Gi"), state)
    raised = sized.limited("16Gi")
    assert memory_of(after(raised, replace(state, paused=True))) == (FITS, "16Gi")
    assert decision_of(after(raised, state))["was"]["limit"] == "16Gi"


def test_the_ratio_of_a_whole_pods_limits_holds_for_a_lowered_size() -> None:
    state = bounded(NamespaceBounds(pod_max_ratio=2.0))
    pod = a_pod().asking("8Gi").limited("8Gi")
    pod = pod.with_container("proxy").asking("100Mi", of="proxy").limited("4Gi", of="proxy")
    request, limit = memory_of(after(pod, state))
    ratio = (parse_bytes(limit) + 4 * GIB) / (parse_bytes(request) + 100 * MIB)
    assert ratio <= 2.0


KILLED_S = 1_767_225_600.0
HOURS = 3600.0
STRANGERS = ASKING.generated_from("r-").owned_by("RayJob", "r", version="ray.io/v1")
POLLED = ASKING.labelled(jenkins="agent")
A_RUN = {RUN: "nightly", ITEM: "sample-3"}
RAY = STRANGERS.annotated(A_RUN)
THREE = {ATTEMPTS: "3"}
BY_PEOPLE = RAY.annotated(THREE)


def hours_after(
    pod: APod, hours: float, lift: Lift | None = None, said: int | None = None
) -> tuple[str, dict[str, object]]:
    """The size of a pod that many hours after another run's kill, and its decision."""
    killed = lift or Lift(2 * GIB, 2, GIB, killed_s=KILLED_S)
    known = knowledge_of()
    known = replace(known, lifts={"run:other": killed})
    known = replace(known, policy=replace(known.policy, attempts=said))
    told = Knowledge.from_dict(known.to_dict())  # as admission learns it
    patch = size(pod.built(), state_of(told), now_s=KILLED_S + hours * HOURS).patch
    sized = pod.patched(patch)
    return str(memory_of(sized)[0]), decision_of(sized)


def test_people_are_not_believed_once_nobody_made_a_killed_runs_next_attempt() -> None:
    memory, note = hours_after(BY_PEOPLE, 7)
    assert memory == "4Gi"
    assert "nobody is seen to have made its next attempt" in str(note["why"])
    assert "plimsoll.dev/attempts says 3" in str(note["why"])
    assert hours_after(RAY, 7, said=3)[0] == "4Gi", "a policy is the word of people, too"


@pytest.mark.parametrize(
    ("pod", "hours", "lift"),
    [
        pytest.param(BY_PEOPLE, 5, None, id="it may still come"),
        pytest.param(ASKING.owned_by_job(), 7, None, id="a Job's own number"),
        pytest.param(ASKING, 7, None, id="Plimsoll makes them"),
        pytest.param(BY_PEOPLE, 7, Lift(2 * GIB, 2, GIB), id="nobody says when it was killed"),
        pytest.param(
            BY_PEOPLE,
            7,
            Lift(2 * GIB, 2, GIB, killed_s=KILLED_S, answered=True),
            id="a sibling with its key has succeeded",
        ),
        pytest.param(
            BY_PEOPLE, 7, Lift(GIB, 2, 0, as_written=True, killed_s=KILLED_S), id="an eviction"
        ),
    ],
)
def test_who_may_still_be_believed_is(pod: APod, hours: float, lift: Lift | None) -> None:
    assert hours_after(pod, hours, lift)[0] == FITS


GITLAB = ASKING.with_labels({"project.runner.gitlab.com/id": "42"}).annotated(
    {"job.runner.gitlab.com/name": "train", "job.runner.gitlab.com/id": "7"}
)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(STRANGERS.annotated(THREE), id="another name each time"),
        pytest.param(POLLED.annotated(THREE), id="bare, and its maker makes the next"),
        pytest.param(
            ASKING.annotated({"helm.sh/hook": "test", **THREE}), id="bare, and an installer's hook"
        ),
        pytest.param(GITLAB.annotated(THREE), id="another number each time"),
        pytest.param(
            STRANGERS.annotated({**THREE, RUN: "nightly"}), id="a run of many, and no item"
        ),
    ],
)
def test_a_pod_whose_next_attempt_cannot_be_known_again_keeps_what_was_written(pod: APod) -> None:
    """Each of its attempts would seem to be the first one, and the last would be lowered, too."""
    state = state_of(knowledge_of())
    alone = after(pod, state)
    assert memory_of(alone) == ("4Gi", "4Gi")
    assert decision_of(alone)["reason"] == "not-lowered"
    why = "its attempts cannot be told apart: write plimsoll.dev/run and plimsoll.dev/item"
    assert decision_of(alone)["why"].startswith(why)
    assert memory_of(after(pod.annotated(A_RUN), state)) == (FITS, FITS)


@pytest.mark.parametrize(
    ("pod", "memory"),
    [
        pytest.param(ASKING, FITS, id="a bare pod, which Plimsoll copies"),
        pytest.param(
            ASKING.named("r-worker-0").owned_by("Job", "r", version="batch.volcano.sh/v1alpha1"),
            FITS,
            id="the same name each time",
        ),
        pytest.param(GITLAB.annotated({"job.runner.gitlab.com/sha": "c0"}), FITS, id="a commit"),
        pytest.param(ASKING.owned_by_job(attempts=3), FITS, id="a Job that makes as many"),
        pytest.param(ASKING.owned_by_job(attempts=1), "4Gi", id="a Job that makes one"),
        pytest.param(
            ASKING.owned_by_job(attempts=1).annotated(A_RUN), FITS, id="one of a run's Jobs"
        ),
        pytest.param(
            ASKING.owned_by_job("r-29391234", attempts=1).annotated(A_RUN),
            "4Gi",
            id="a CronJob's Job, whose key is for one night",
        ),
    ],
)
def test_people_are_believed_as_far_as_the_key_of_a_run_reaches(pod: APod, memory: str) -> None:
    sized = after(pod.annotated(THREE), state_of(knowledge_of()))
    assert memory_of(sized) == (memory, memory)


def of_spark(role: str) -> APod:
    marks = {"spark-app-selector": "s", "spark-app-name": "sales", "spark-role": role}
    return ASKING.with_labels(marks)


def test_a_policy_that_says_the_attempts_of_a_driver_lowers_no_executor() -> None:
    """A lost executor's task goes to a living one, which is as small: four of them may be lost."""
    state = state_of(knowledge_of(attempts=3))
    driver = of_spark("driver").owned_by("SparkApplication", "sales")
    executor = of_spark("executor").owned_by("Pod", "sales-driver")
    assert memory_of(after(driver, state)) == (FITS, FITS)
    sized = after(executor, state)
    assert memory_of(sized) == ("4Gi", "4Gi")
    assert f"only {ATTEMPTS} on the pod counts" in decision_of(sized)["why"]
    assert memory_of(after(executor.annotated(THREE), state)) == (FITS, FITS)
