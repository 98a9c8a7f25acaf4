"""What a new driver of Spark gets, and when it is left as written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.spark_driver import (
    OPTIONS,
    STEP,
    DriverOutcome,
    GivenDriver,
    give_driver,
)
from plimsoll_predictor.core.policy import Mode, Policy, Replaceable, SparkPolicy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.pods import APod, a_pod, decision_of, memory_of
from tests.builders.splitting.spark_drivers import (
    DRIVER,
    DRIVERS,
    EXECUTORS,
    SMALLER,
    of_spark,
    options_of,
)
from tests.rigs.servers.admission_servers import knowledge_of


def a_state(
    mode: Mode = Mode.ENFORCE,
    partitions: int | None = None,
    steps: int = 0,
    attempts: int | None = 3,
    replaces: tuple[Replaceable, ...] = (),
    **policy: Any,
) -> AdmissionState:
    spark = SparkPolicy(mode=mode, partitions=partitions, replaces=replaces)
    made = Policy(spark=spark, attempts=attempts, **policy)
    state = AdmissionState(tasks={DRIVERS: Knowledge(task=DRIVERS, policy=made)})
    if steps:
        state.smaller[EXECUTORS] = steps
    return state


def given(pod: APod, state: AdmissionState, unhealed: str | None = None) -> GivenDriver | None:
    return give_driver(pod.built(), size(pod.built(), state), state, unhealed)


def patched(
    pod: APod, state: AdmissionState, outcome: DriverOutcome = DriverOutcome.GIVEN
) -> dict[str, Any]:
    """The pod as in the API server."""
    found = given(pod, state)
    assert found is not None
    assert found.outcome is outcome
    return pod.patched([*size(pod.built(), state).patch, *found.patch]).built()


def test_after_a_kill_partitions_are_smaller_at_the_same_memory() -> None:
    state = a_state(steps=1)
    made = patched(DRIVER, state)
    assert options_of(made) == SMALLER
    assert memory_of(APod(made)) == ("1Gi", "1Gi")
    annotations = made["metadata"]["annotations"]
    assert annotations[STEP] == "1"
    note = json.loads(annotations[labels.SPARK])
    assert (note["step"], note["done"]) == (1, True)
    assert note["properties"]["spark.sql.shuffle.partitions"] == "400"
    assert "killed" in note["why"]


def test_what_was_taught_is_given_where_another_attempt_is_sure() -> None:
    made = patched(DRIVER, a_state(partitions=8))
    assert options_of(made).startswith("-Dspark.sql.shuffle.partitions=8 ")
    assert made["metadata"]["annotations"][STEP] == "0"


def test_a_kill_comes_before_what_was_taught() -> None:
    assert options_of(patched(DRIVER, a_state(partitions=8, steps=1))) == SMALLER


@pytest.mark.parametrize(
    ("pod", "state", "outcome"),
    [
        pytest.param(DRIVER, a_state(), DriverOutcome.NOTHING, id="nothing is known"),
        pytest.param(DRIVER, a_state(Mode.OFF, 8, 1), None, id="off, as by itself"),
        pytest.param(DRIVER, AdmissionState(), None, id="an unknown task"),
        pytest.param(of_spark("executor"), a_state(steps=1), None, id="an executor"),
        pytest.param(a_pod(), a_state(steps=1), None, id="no pod of Spark"),
        pytest.param(
            DRIVER, a_state(Mode.RECOMMEND, steps=1), DriverOutcome.RECOMMENDED, id="recommended"
        ),
        pytest.param(
            DRIVER, a_state(partitions=8, attempts=None), DriverOutcome.ONE_ATTEMPT, id="once"
        ),
        pytest.param(DRIVER, a_state(steps=1, mode=Mode.ENFORCE, paused=True), None, id="paused"),
        pytest.param(DRIVER.in_mode("off"), a_state(steps=1), None, id="the pod's own mode is off"),
        pytest.param(of_spark("driver", "other"), a_state(steps=1), None, id="another application"),
        pytest.param(
            DRIVER.annotated({"n": "n" * 64_000}),
            a_state(steps=1),
            DriverOutcome.NO_ROOM,
            id="no room",
        ),
    ],
)
def test_who_is_left_as_written(
    pod: APod, state: AdmissionState, outcome: DriverOutcome | None
) -> None:
    found = given(pod, state)
    assert (found.outcome if found else None) is outcome
    assert found is None or all("/env" not in each["path"] for each in found.patch)


def test_fewer_partitions_are_not_given_while_nobody_would_see_a_failure() -> None:
    found = given(DRIVER, a_state(partitions=8), "the controller is away")
    assert found == GivenDriver(DriverOutcome.ONE_ATTEMPT)
    more = given(DRIVER, a_state(steps=1), "the controller is away")
    assert more is not None
    assert more.outcome is DriverOutcome.GIVEN


def test_the_author_s_own_options_come_last_and_so_they_win() -> None:
    own = "-Dspark.sql.shuffle.partitions=9 -Dx=y"
    pod = DRIVER.with_environment({"A": "b", OPTIONS: own})
    made = patched(pod, a_state(steps=1))
    assert options_of(made) == f"{SMALLER} {own}"
    assert made["spec"]["containers"][0]["env"][0] == {"name": "A", "value": "b"}


def started(*args: str, **fields: Any) -> APod:
    """A driver whose container starts with these words."""
    pod = DRIVER.built()
    pod["spec"]["containers"][0] |= {"args": list(args), **fields}
    return APod(pod)


OF_CLUSTER_MODE = ("driver", "--properties-file", "/p", "--class", "Sales", "local:///x.jar", "a")
REPLACES = (Replaceable.PARTITIONS,)


def test_a_number_in_configuration_is_replaced_where_the_policy_says_so() -> None:
    pod = started(*OF_CLUSTER_MODE)
    made = patched(pod, a_state(partitions=8, replaces=REPLACES), DriverOutcome.REPLACED)
    options = ("--conf", "spark.sql.shuffle.partitions=8")
    assert made["spec"]["containers"][0]["args"] == [
        *(*OF_CLUSTER_MODE[:5], *options, *OF_CLUSTER_MODE[5:])
    ]
    assert "-Dspark.plimsoll.partitions=8" in options_of(made)
    note = json.loads(made["metadata"]["annotations"][labels.SPARK])
    assert note["replaces"] == ["spark.sql.shuffle.partitions"]
    assert made["metadata"]["annotations"][STEP] == "0"


def test_without_the_policy_s_word_the_container_s_words_stay() -> None:
    made = patched(started(*OF_CLUSTER_MODE), a_state(partitions=8))
    assert made["spec"]["containers"][0]["args"] == list(OF_CLUSTER_MODE)
    assert "replaces" not in json.loads(made["metadata"]["annotations"][labels.SPARK])


def test_smaller_partitions_after_kills_never_replace_a_number_in_configuration() -> None:
    made = patched(started(*OF_CLUSTER_MODE), a_state(partitions=8, steps=1, replaces=REPLACES))
    assert made["spec"]["containers"][0]["args"] == list(OF_CLUSTER_MODE)
    assert options_of(made) == SMALLER


def test_where_no_place_is_sure_configuration_stays_and_the_note_says_so() -> None:
    shell = started("spark-submit --verbose x.py", command=["/bin/sh", "-c"])
    made = patched(shell, a_state(partitions=8, replaces=REPLACES))
    assert made["spec"]["containers"][0]["args"] == ["spark-submit --verbose x.py"]
    assert options_of(made).startswith("-Dspark.sql.shuffle.partitions=8 ")
    note = json.loads(made["metadata"]["annotations"][labels.SPARK])
    assert "a number in configuration stays" in note["warning"]


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        pytest.param(
            a_state(partitions=8, attempts=None, replaces=REPLACES),
            DriverOutcome.ONE_ATTEMPT,
            id="once",
        ),
        pytest.param(
            a_state(steps=5, partitions=8, replaces=REPLACES), DriverOutcome.NOTHING, id="failed"
        ),
        pytest.param(
            a_state(Mode.RECOMMEND, partitions=8, replaces=REPLACES),
            DriverOutcome.RECOMMENDED,
            id="recommended",
        ),
    ],
)
def test_what_keeps_a_driver_as_it_is_keeps_configuration(
    state: AdmissionState, outcome: DriverOutcome
) -> None:
    found = given(started(*OF_CLUSTER_MODE), state)
    assert found is not None
    assert found.outcome is outcome
    assert all("/annotations/" in each["path"] for each in found.patch)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"envFrom": [{"configMapRef": {"name": "m"}}]}, id="a map of variables"),
        pytest.param(
            {"env": [{"name": OPTIONS, "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]},
            id="from elsewhere",
        ),
        pytest.param({"env": [{"name": OPTIONS, "value": "x" * 20_000}]}, id="too long"),
        pytest.param({"env": [{"name": OPTIONS, "value": 7}]}, id="no text"),
    ],
)
def test_a_variable_that_cannot_be_read_is_left(fields: dict[str, Any]) -> None:
    pod = DRIVER.built()
    pod["spec"]["containers"][0] |= fields
    assert given(APod(pod), a_state(steps=1)) == GivenDriver(DriverOutcome.OWN)


def test_a_pod_that_is_asked_for_again_is_given_nothing_more() -> None:
    state = a_state(steps=1)
    again = APod(patched(DRIVER, state))
    assert given(again, replace(state, smaller={EXECUTORS: 2})) is None


def test_two_applications_of_one_name_in_two_namespaces_are_two() -> None:
    state = a_state(steps=1)
    elsewhere = TaskId("other", DRIVERS.name)
    state.tasks[elsewhere] = replace(state.tasks[DRIVERS], task=elsewhere)
    assert given(DRIVER.in_namespace("other"), state) == GivenDriver(DriverOutcome.NOTHING)


def executor_after(step: str | None, told: int | None, **knows: Any) -> APod:
    """An executor of 256Mi after admission; its task is known to need some 500 MB."""
    known = replace(knowledge_of(**knows), task=EXECUTORS)
    state = AdmissionState(tasks={EXECUTORS: known})
    if told is not None:
        state.smaller[EXECUTORS] = told
    pod = of_spark("executor").asking("256Mi").limited("256Mi")
    pod = pod if step is None else pod.annotated({STEP: step})
    return pod.patched(size(pod.built(), state).patch)


def test_an_executor_has_what_was_written_while_smaller_partitions_are_tried() -> None:
    held = executor_after("1", 1)
    assert memory_of(held) == ("256Mi", "256Mi")
    assert decision_of(held)["reason"] == "kept"
    assert "before it has more" in decision_of(held)["why"]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        pytest.param(None, None, id="nothing was given"),
        pytest.param("1", 2, id="killed with these partitions, too"),
        pytest.param("3", 4, id="after the last step"),
        pytest.param("0", 0, id="for time alone"),
        pytest.param("1", None, id="an annotation that nobody told of"),
        pytest.param("10e9", 1, id="no step"),
    ],
)
def test_an_executor_has_more_memory_as_ever(step: str | None, told: int | None) -> None:
    assert memory_of(executor_after(step, told))[1] != "256Mi"
