"""What people wrote, level over level, becomes one policy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names.profile_names import MAX_NAME, profile_name, task_of_profile
from plimsoll_operator.policy.policy_levels import sizing_policy_problem
from plimsoll_operator.policy.policy_resolution import BadPolicy, policy_from_spec, resolve
from plimsoll_operator.policy.policy_status import PolicyFacts, policy_status_of
from plimsoll_predictor.core.policy import (
    JobsWait,
    KilledAttempts,
    Lending,
    Limits,
    Mode,
    Order,
    Placing,
    Policy,
    Replaceable,
    Rescue,
    Retry,
    SparkPolicy,
)
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from tests.rigs.drawing import examples

WHERE = "TaskProfile shop/train"
EVERYTHING = {
    "mode": "enforce",
    "paused": True,
    "min": "64Mi",
    "max": "16Gi",
    "risk": {"overheadSeconds": 600, "penalty": 4, "errorBudget": 0.01},
    "firstSize": 0.75,
    "critical": True,
    "bins": 3,
    "maxLifts": 2,
    "attempts": 4,
    "minRuns": 9,
    "headroom": 1.5,
    "limits": "keep",
    "retry": "never",
    "lending": "auto",
    "rescue": "auto",
    "placing": "enforce",
    "order": "enforce",
    "jobsWait": "suspended",
    "killedAttempts": "ignore",
    "features": {"rows": {"annotation": "example.com/rows"}},
    "spark": {
        "mode": "enforce",
        "partitions": 8,
        "replaces": ["spark.sql.shuffle.partitions"],
    },
    "splitting": {"memoryWeight": 0.5},
}


def test_every_field_of_a_spec_reaches_the_policy() -> None:
    assert policy_from_spec(Policy(), EVERYTHING, WHERE) == Policy(
        mode=Mode.ENFORCE,
        paused=True,
        min_bytes=64 * MIB,
        max_bytes=16 * GIB,
        overhead_s=600.0,
        penalty=4.0,
        error_budget=0.01,
        first_size=0.75,
        critical=True,
        max_bins=3,
        max_lifts=2,
        attempts=4,
        min_runs=9,
        headroom=1.5,
        limits=Limits.KEEP,
        retry=Retry.NEVER,
        lending=Lending.AUTO,
        rescue=Rescue.AUTO,
        placing=Placing.ENFORCE,
        order=Order.ENFORCE,
        jobs_wait=JobsWait.SUSPENDED,
        killed_attempts=KilledAttempts.IGNORE,
        feature_sources={"rows": {"annotation": "example.com/rows"}},
        spark=SparkPolicy(mode=Mode.ENFORCE, partitions=8, replaces=(Replaceable.PARTITIONS,)),
        memory_weight=0.5,
    )


def test_a_task_that_was_taught_keeps_the_mode_of_its_namespace() -> None:
    base = policy_from_spec(Policy(), {"spark": {"mode": "enforce"}}, WHERE)
    taught = policy_from_spec(base, {"spark": {"partitions": 8}}, WHERE)
    assert taught.spark == SparkPolicy(mode=Mode.ENFORCE, partitions=8)


def test_a_task_may_take_back_what_its_namespace_replaces() -> None:
    replaces = {"spark": {"replaces": ["spark.sql.shuffle.partitions"]}}
    assert resolve(Policy(), replaces, None).policy.spark.replaces == (Replaceable.PARTITIONS,)
    assert resolve(Policy(), replaces, {"spark": {"replaces": []}}).policy.spark.replaces == ()


def test_what_is_replaced_travels_with_a_policy() -> None:
    policy = Policy(spark=SparkPolicy(replaces=(Replaceable.PARTITIONS,)))
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


def test_absent_null_and_unknown_fields_leave_the_base_as_it_is() -> None:
    base = policy_from_spec(Policy(), EVERYTHING, WHERE)
    assert policy_from_spec(base, {}, WHERE) == base
    assert policy_from_spec(base, {"max": None, "task": "Train"}, WHERE) == base


def test_the_profile_wins_over_the_namespace_and_the_namespace_over_the_chart() -> None:
    chart = Policy(headroom=1.5, max_bins=8, min_runs=5)
    resolved = resolve(chart, {"headroom": 1.3, "bins": 4}, {"headroom": 1.2})
    assert (resolved.policy.headroom, resolved.policy.max_bins, resolved.policy.min_runs) == (
        1.2,
        4,
        5,
    )
    assert resolved.problems == ()


def test_risk_is_laid_over_field_by_field() -> None:
    namespace = {"risk": {"overheadSeconds": 60, "penalty": 5}}
    resolved = resolve(Policy(), namespace, {"risk": {"overheadSeconds": 0, "penalty": None}})
    assert (resolved.policy.overhead_s, resolved.policy.penalty) == (0.0, 5.0)
    assert resolved.problems == ()


def test_a_profile_may_take_back_that_its_namespace_is_critical() -> None:
    assert resolve(Policy(), {"critical": True}, None).policy.critical
    assert not resolve(Policy(), {"critical": True}, {"critical": False}).policy.critical


def test_features_of_two_levels_are_merged_by_name() -> None:
    namespace = {"features": {"rows": {"label": "rows"}, "region": {"env": "REGION"}}}
    resolved = resolve(Policy(), namespace, {"features": {"rows": {"arg": "--rows"}}})
    assert resolved.policy.feature_sources == {
        "rows": {"arg": "--rows"},
        "region": {"env": "REGION"},
    }


def test_a_cap_below_an_inherited_floor_lowers_the_floor() -> None:
    policy = resolve(Policy(min_bytes=512 * MIB), None, {"max": "128Mi"}).policy
    assert (policy.min_bytes, policy.max_bytes) == (128 * MIB, 128 * MIB)


def test_a_floor_above_an_inherited_cap_is_ignored_because_caps_protect_nodes() -> None:
    resolved = resolve(Policy(), {"max": "1Gi"}, {"min": "2Gi"})
    assert (resolved.policy.min_bytes, resolved.policy.max_bytes) == (32 * MIB, GIB)
    assert resolved.problems == (
        "TaskProfile: min 2Gi is larger than max 1Gi; lower min or raise max; ignored",
    )


def test_an_unquoted_off_which_yaml_reads_as_false_still_means_off() -> None:
    assert policy_from_spec(Policy(), {"mode": False}, WHERE).mode is Mode.OFF


BAD_FIELDS = [
    pytest.param("mode", "on", "mode 'on' is not known; write one of off, recommend, enforce"),
    pytest.param("mode", True, "is not known"),
    pytest.param("min", "lots", "min 'lots' is not a quantity; write for example '512Mi' or '2Gi'"),
    pytest.param("min", "100m", "is below 1Mi; write it with its unit"),
    pytest.param("max", "-1Gi", "is not a quantity"),
    pytest.param("max", ["1Gi"], "is not a quantity"),
    pytest.param("max", True, "is not a quantity"),
    pytest.param("risk", 10, "is not a map; write risk: {overheadSeconds: 600}"),
    pytest.param("risk", {"price": 1}, "unknown field 'price'; write one of overheadSeconds"),
    pytest.param("risk", {"penalty": 0.5}, "field penalty that is out of range; write a number"),
    pytest.param("risk", {"penalty": float("nan")}, "is out of range"),
    pytest.param("risk", {"penalty": "10"}, "is not a number"),
    pytest.param("risk", {"errorBudget": 0.6}, "write a number from 0 to 0.5"),
    pytest.param("risk", {"overheadSeconds": -1}, "write a number from 0 to 86400"),
    pytest.param("risk", {"overheadSeconds": True}, "field overheadSeconds that is not a number"),
    pytest.param("splitting", 1, "is not a map; write splitting: {memoryWeight: 0.5}"),
    pytest.param("splitting", {"memoryWeight": 1.5}, "write a number from 0 to 1"),
    pytest.param("firstSize", 0.49, "is out of range; write a number from 0.5 to 1"),
    pytest.param("firstSize", 1.01, "is out of range"),
    pytest.param("critical", "true", "is neither true nor false"),
    pytest.param("bins", 9, "is out of range; write a number from 1 to 8"),
    pytest.param("bins", 2.5, "is not a whole number"),
    pytest.param("maxLifts", 11, "from 0 to 10"),
    pytest.param("attempts", 0, "from 1 to 1000"),
    pytest.param("minRuns", 0, "from 1 to 10000"),
    pytest.param("headroom", 0.9, "from 1 to 10"),
    pytest.param("limits", "none", "write one of equal, keep"),
    pytest.param("retry", 3, "write one of auto, never"),
    pytest.param("lending", "always", "write one of auto, never"),
    pytest.param("rescue", "always", "write one of auto, never"),
    pytest.param("placing", "auto", "write one of never, recommend, enforce"),
    pytest.param("killedAttempts", "never", "write one of count, ignore"),
    pytest.param("jobsWait", "never", "write one of gated, suspended"),
    pytest.param("spark", "enforce", "is not a map; write spark: {mode: enforce}"),
    pytest.param("spark", {"partitions": 10**9}, "write a number from 2 to 1000"),
    pytest.param("spark", {"partitions": 0}, "write a number from 2 to 1000"),
    pytest.param("spark", {"replaces": "x"}, "is not a list; write some of [spark.sql.shuffle"),
    pytest.param("spark", {"replaces": ["spark.jars"]}, "is not known; write one of spark.sql"),
    pytest.param("spark", {"replaces": [{}]}, "is not known"),
    pytest.param("spark", {"replaces": ["x"] * 10**5}, "is longer than all that is known"),
    pytest.param("features", ["rows"], "is not a map"),
    pytest.param("features", {"rows": {"env": "A", "arg": "b"}}, "not exactly one source"),
    pytest.param("features", {"rows": {}}, "not exactly one source"),
    pytest.param("features", {"rows": "env"}, "not exactly one source"),
    pytest.param("features", {"rows": {"secret": "s"}}, "not exactly one source"),
    pytest.param("features", {"x" * 64: {"env": "A"}}, "feature name"),
    pytest.param("features", {str(n): {"env": "A"} for n in range(65)}, "65 features"),
]


@pytest.mark.parametrize(("field", "value", "words"), BAD_FIELDS)
def test_nonsense_is_an_error_that_says_where_and_what_to_write(
    field: str, value: Any, words: str
) -> None:
    with pytest.raises(BadPolicy) as caught:
        policy_from_spec(Policy(), {field: value}, WHERE)
    assert str(caught.value).startswith(f"{WHERE}: {field} ")
    assert words in str(caught.value)


@pytest.mark.parametrize(("field", "value", "words"), BAD_FIELDS)
def test_a_bad_field_costs_only_itself(field: str, value: Any, words: str) -> None:
    resolved = resolve(Policy(), None, {**EVERYTHING, field: value})
    good = {key: kept for key, kept in EVERYTHING.items() if key != field}
    assert resolved.policy == resolve(Policy(), None, good).policy
    assert len(resolved.problems) == 1
    assert words in resolved.problems[0]
    assert resolved.problems[0].endswith("; ignored")


def test_a_good_bound_survives_a_bad_one_beside_it() -> None:
    resolved = resolve(Policy(), None, {"min": "rubbish", "max": "2Gi"})
    assert (resolved.policy.min_bytes, resolved.policy.max_bytes) == (32 * MIB, 2 * GIB)
    assert len(resolved.problems) == 1


def test_a_spec_that_is_no_object_is_ignored_with_a_message() -> None:
    rubbish: Any = ["enforce"]
    resolved = resolve(Policy(), rubbish, {"mode": "enforce"})
    assert resolved.policy.mode is Mode.ENFORCE
    assert resolved.problems == ("SizingPolicy: spec is list, not an object; ignored",)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from(sorted(EVERYTHING)), ANYTHING),
    st.dictionaries(st.sampled_from(sorted(EVERYTHING)), ANYTHING),
)
@examples(50)
def test_whatever_slips_past_the_schema_a_sane_policy_comes_out(
    namespace: dict[str, Any], profile: dict[str, Any]
) -> None:
    policy = resolve(Policy(), namespace, profile).policy
    assert policy.max_bytes is None or MIB <= policy.min_bytes <= policy.max_bytes
    assert policy.penalty >= 1
    assert policy.overhead_s is None or 0 <= policy.overhead_s <= 86_400
    assert 0.5 <= policy.first_size <= 1
    assert 1 <= policy.max_bins <= 8
    assert 0 <= policy.max_lifts <= 10
    assert Policy.from_dict(policy.to_dict()) == policy


def test_only_the_sizing_policy_named_default_is_in_force() -> None:
    assert sizing_policy_problem("shop", "default", "plimsoll") is None
    status = policy_status_of(PolicyFacts("shop", "mine", "plimsoll"), now_s=0.0)
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"]) == ("InForce", "False")
    assert "only the SizingPolicy named 'default'" in condition["message"]


def test_a_sizing_policy_in_force_says_which_of_its_fields_were_ignored() -> None:
    facts = PolicyFacts("shop", "default", "plimsoll", ("bins 0 is bad",))
    [condition] = policy_status_of(facts, now_s=0.0)["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "FieldsIgnored")
    assert condition["message"] == "bins 0 is bad; in force in its namespace"


@pytest.mark.parametrize(
    ("task", "name"),
    [
        pytest.param("train-demand", "train-demand", id="a valid name stays"),
        pytest.param("dag.task", "dag.task", id="dots are valid"),
        pytest.param("Train_Demand", "train-demand-892efd52", id="else spelled anew with a hash"),
        pytest.param("___", "task-", id="nothing to spell"),
        pytest.param("a..b", "a-b-", id="an empty label is not valid"),
    ],
)
def test_a_profile_is_named_after_its_task(task: str, name: str) -> None:
    assert profile_name(TaskId("shop", task)).startswith(name)


def test_tasks_that_spell_alike_get_two_profiles() -> None:
    assert profile_name(TaskId("shop", "Train_A")) != profile_name(TaskId("shop", "train-A"))


@pytest.mark.slow
@given(st.text(min_size=1, max_size=400))
def test_any_task_gets_a_name_that_kubernetes_accepts(task: str) -> None:
    name = profile_name(TaskId("shop", task))
    assert 1 <= len(name) <= MAX_NAME
    assert all(
        label and label.isascii() and label.strip("-") == label and label == label.lower()
        for label in name.split(".")
    )


def test_a_profile_with_a_spelled_name_still_knows_its_task() -> None:
    task = TaskId("shop", "Train_A")
    assert task_of_profile("shop", profile_name(task), task.name) == task
    assert task_of_profile("shop", "train", None) == TaskId("shop", "train")
