"""Features as pods declare them: written by strangers, so bounded."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names import labels
from plimsoll_operator.pods.features import (
    MAX_FEATURES,
    MAX_TOTAL_BYTES,
    MAX_WORDS,
    PodFeatures,
    feature_value,
    read_features,
)
from tests.builders.kubernetes.hostile_pods import wordy_pod
from tests.builders.pods import APod, a_pod

PREFIX = labels.FEATURE_PREFIX


def test_numbers_are_numbers_and_the_rest_is_text() -> None:
    pod = a_pod().knowing(rows="18234", share="-1.5e3", region="north", day="2026-11-20")
    assert values(pod) == {
        "rows": 18234.0,
        "share": -1500.0,
        "region": "north",
        "day": "2026-11-20",
    }


@pytest.mark.parametrize("text", ["NaN", "nan", "-nan", "inf", "-Infinity", "1e400", "", "  "])
def test_what_is_not_finite_or_empty_is_missing(text: str) -> None:
    assert read_features(a_pod().knowing(rows=text).built()) == PodFeatures({}, 0)


def test_the_largest_number_is_still_a_number() -> None:
    assert values(a_pod().knowing(rows="1e308")) == {"rows": 1e308}


@pytest.mark.parametrize("text", ["1_000", "٣", "0x10", "1,5", "true", "12 rows"])
def test_what_only_python_or_nobody_reads_as_a_number_is_text(text: str) -> None:
    assert feature_value(text) == text


def test_ten_thousand_annotations_leave_the_first_by_name() -> None:
    pod = a_pod().annotated({f"{PREFIX}f{i:05}": "1" for i in range(10_000)})
    found = read_features(pod.built())
    assert sorted(found.values) == [f"f{i:05}" for i in range(MAX_FEATURES)]
    assert found.ignored == 10_000 - MAX_FEATURES


def test_a_value_of_256_kib_is_ignored_and_counted() -> None:
    found = read_features(a_pod().knowing(rows="1", notes="x" * 262_144).built())
    assert found == PodFeatures({"rows": 1.0}, ignored=1)


def test_values_of_256_characters_are_the_longest() -> None:
    found = read_features(a_pod().knowing(a="x" * 256, b="x" * 257).built())
    assert found == PodFeatures({"a": "x" * 256}, ignored=1)


@pytest.mark.parametrize(
    "name", ["", "a b", "ä", "-a", "a-", "a/b", "\N{BELL}", "$(rm)", "a\n", "x" * 64, "'; drop"]
)
def test_names_with_odd_characters_are_ignored_and_counted(name: str) -> None:
    found = read_features(a_pod().annotated({f"{PREFIX}{name}": "1"}).built())
    assert found == PodFeatures({}, ignored=1)


def test_all_together_stay_within_a_size() -> None:
    pod = a_pod().annotated({f"{PREFIX}f{i:02}": "x" * 250 for i in range(60)})
    found = read_features(pod.built())
    assert sum(len(k) + len(str(v)) for k, v in found.values.items()) <= MAX_TOTAL_BYTES
    assert found.ignored == 60 - len(found.values)


def test_the_order_of_annotations_changes_nothing() -> None:
    names = [f"f{i:02}" for i in range(60)]
    forth = a_pod().annotated({f"{PREFIX}{name}": "x" * 250 for name in names})
    back = a_pod().annotated({f"{PREFIX}{name}": "x" * 250 for name in reversed(names)})
    assert read_features(forth.built()) == read_features(back.built())


SOURCED = (
    a_pod()
    .with_labels({"team": "ml"})
    .annotated({"example.com/rows": "12"})
    .with_environment({"REGION": "north", "TOKEN": {"secretKeyRef": {"name": "s", "key": "k"}}})
    .running_with("--columns=7", "--mode", "fast", "--last")
)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ({"annotation": "example.com/rows"}, 12.0),
        ({"label": "team"}, "ml"),
        ({"env": "REGION"}, "north"),
        ({"arg": "--columns"}, 7.0),
        ({"arg": "--mode"}, "fast"),
    ],
)
def test_a_declared_source_is_read(source: dict[str, str], value: float | str) -> None:
    assert read_features(SOURCED.built(), {"x": source}).values == {"x": value}


@pytest.mark.parametrize(
    "source",
    [
        {"annotation": "gone"},
        {"label": "gone"},
        {"env": "gone"},
        {"env": "TOKEN"},
        {"arg": "--gone"},
        {"arg": "--last"},
        {"file": "/etc/passwd"},
        {},
    ],
)
def test_a_source_that_says_nothing_leaves_the_feature_out(source: dict[str, str]) -> None:
    assert read_features(SOURCED.built(), {"x": source}) == PodFeatures({}, 0)


def test_a_secret_is_never_a_feature() -> None:
    found = read_features(SOURCED.built(), {"token": {"env": "TOKEN"}})
    assert "token" not in found.values


def test_environment_and_arguments_are_those_of_the_sized_container() -> None:
    pod = SOURCED.with_container("other", args=["--columns=9"]).annotated(
        {labels.CONTAINER: "other"}
    )
    sources = {"columns": {"arg": "--columns"}, "region": {"env": "REGION"}}
    assert read_features(pod.built(), sources).values == {"columns": 9.0}


def test_many_sources_read_the_words_of_a_hostile_pod_once_and_not_all_of_them() -> None:
    pod, arguments, variables = wordy_pod()
    sources = {f"a{number}": {"arg": f"--a{number}"} for number in range(MAX_FEATURES // 2)}
    sources |= {f"e{number}": {"env": f"E{number}"} for number in range(MAX_FEATURES // 2)}
    read_features(pod, sources)
    assert 0 < arguments.reads <= MAX_WORDS
    assert 0 < variables.reads <= MAX_WORDS


def test_without_a_source_no_word_is_read() -> None:
    pod, arguments, variables = wordy_pod()
    read_features(pod, {"team": {"label": "team"}})
    assert (arguments.reads, variables.reads) == (0, 0)


@pytest.mark.parametrize(("before", "found"), [(MAX_WORDS - 1, {"x": 7.0}), (MAX_WORDS, {})])
def test_the_first_words_and_variables_are_read(before: int, found: dict[str, float]) -> None:
    arguments = a_pod().running_with(*["x"] * before, "--rows=7")
    assert read_features(arguments.built(), {"x": {"arg": "--rows"}}).values == found
    names = {f"V{number}": "1" for number in range(before)}
    variables = a_pod().with_environment({**names, "ROWS": "7"})
    assert read_features(variables.built(), {"x": {"env": "ROWS"}}).values == found


def test_the_first_of_several_values_is_the_feature() -> None:
    pod = a_pod().running_with("--rows", "1", "--rows=2", "--set=rows=3").built()
    pod["spec"]["containers"][0]["env"] = [
        {"name": ["odd"], "value": "0"},
        {"name": "ROWS", "value": "4"},
        {"name": "ROWS", "value": "5"},
    ]
    sources = {"a": {"arg": "--rows"}, "b": {"arg": "--set=rows"}, "c": {"env": "ROWS"}}
    assert read_features(pod, sources).values == {"a": 1.0, "b": 3.0, "c": 4.0}


def test_a_source_wins_over_the_annotation_of_its_name() -> None:
    pod = SOURCED.knowing(team="other", rows="3")
    found = read_features(pod.built(), {"team": {"label": "team"}, "rows": {"label": "gone"}})
    assert found.values == {"team": "ml", "rows": 3.0}


@pytest.mark.parametrize("annotations", [None, [], "x", {f"{PREFIX}rows": 3}])
def test_annotations_of_any_shape_raise_nothing(annotations: Any) -> None:
    pod = a_pod().built()
    pod["metadata"]["annotations"] = annotations
    assert read_features(pod).values in ({}, {"rows": 3.0})


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=70), st.text(max_size=300), max_size=80))
def test_any_annotations_give_bounded_features(texts: dict[str, str]) -> None:
    pod = a_pod().annotated({f"{PREFIX}{name}": text for name, text in texts.items()})
    found = read_features(pod.built())
    assert len(found.values) <= MAX_FEATURES
    assert not any(isinstance(v, float) and math.isnan(v) for v in found.values.values())
    assert len(found.values) + found.ignored <= len(texts)


def values(pod: APod) -> dict[str, float | str]:
    return read_features(pod.built()).values
