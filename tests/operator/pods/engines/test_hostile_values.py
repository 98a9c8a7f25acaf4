"""Whatever an engine's labels contain, names of tasks are short, plain, and never shared."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import mapping
from plimsoll_operator.pods.engines.row import joined
from plimsoll_operator.pods.engines.table import ENGINES
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.recognising import recognise
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance, Json

ODD: tuple[Any, ...] = (
    "",
    "x" * 64,
    "x" * 100_000,
    "a/b",
    "../../etc",
    "größe",
    "💥" * 70,
    "\x00",
    "a\nb",
    "\ud800",
    ".",
    "..",
    ".a",
    "a.",
    "[" * 5000,
    "(" * 5000,
    "-",
    "bcdfg",
    "28391234",
    None,
    3,
    True,
    [],
    {},
    ["x"],
)
READ = sorted(
    {name for engine in ENGINES for name in (*engine.marks, *engine.labels, *engine.annotations)}
)
NAMES = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=20)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_an_odd_value_in_any_place_breaks_no_bound(odd: Any) -> None:
    for pod in (task.make(Chance(1)) for task in TASKS):
        for where in ("labels", "annotations"):
            for key in pod["metadata"].get(where, {}):
                is_bounded(with_value(pod, where, key, odd))
        for key in ("name", "generateName", "ownerReferences", "labels", "annotations"):
            is_bounded(with_value(pod, None, key, odd))


@pytest.mark.slow
@given(
    its=st.dictionaries(st.sampled_from(READ), st.sampled_from(ODD) | NAMES, max_size=12),
    notes=st.dictionaries(st.sampled_from(READ), st.sampled_from(ODD) | NAMES, max_size=12),
)
def test_any_mixture_of_engines_breaks_no_bound(
    its: Mapping[str, Any], notes: Mapping[str, Any]
) -> None:
    metadata = {"namespace": "shop", "labels": its, "annotations": notes}
    is_bounded({"metadata": metadata, "spec": {"restartPolicy": "Never"}})


@pytest.mark.slow
@given(
    st.lists(NAMES, min_size=1, max_size=3),
    st.lists(NAMES, min_size=1, max_size=3),
    st.sampled_from([engine.name for engine in ENGINES]),
    st.sampled_from([engine.name for engine in ENGINES]),
)
def test_names_are_joined_so_that_two_stay_two(
    first: list[str], second: list[str], one: str, other: str
) -> None:
    names = joined(one, *first), joined(other, *second)
    if None not in names and (one, first) != (other, second):
        assert names[0] != names[1]


@pytest.mark.slow
@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=2, unique=True))
def test_two_tasks_of_airflow_stay_two(tasks: list[tuple[str, str]]) -> None:
    names = [airflows(dag, task) for dag, task in tasks]
    if None not in names:
        assert names[0] != names[1]


@pytest.mark.slow
@given(NAMES, NAMES, st.sampled_from(ENGINES), st.lists(NAMES, min_size=1, max_size=3))
def test_a_task_of_airflow_is_none_of_another_engine(
    dag: str, task: str, engine: Any, parts: list[str]
) -> None:
    name = airflows(dag, task)
    if engine.name != "airflow" and name is not None:
        assert name != joined(engine.name, *parts)
        assert name != joined("job", *parts)


def airflows(dag: str, task: str) -> str | None:
    its = {"dag_id": dag, "task_id": task, "run_id": "r"}
    return recognise({"metadata": {"labels": its}, "spec": {}}).task


def with_value(pod: Json, where: str | None, key: str, value: Any) -> Json:
    metadata = pod["metadata"]
    if where is None:
        return {**pod, "metadata": {**metadata, key: value}}
    return {**pod, "metadata": {**metadata, where: {**metadata[where], key: value}}}


def is_bounded(pod: Json) -> None:
    found = recognise(pod)
    if found.task is None:
        assert found.why is not None
        return
    assert 0 < len(found.task.encode()) <= 253
    assert found.task.isprintable()
    assert "/" not in found.task
    its = {**mapping(pod["metadata"].get("labels")), labels.TASK: labels.AUTO}
    identity = identify(with_value(pod, None, "labels", its))
    assert identity is not None
    assert identity.task.name == found.task
    assert len((identity.run or "").encode()) <= MOST_RUN_BYTES
