"""The annotation of a pod that was rescued, which anybody may have written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_operator.names.labels import RESCUED
from plimsoll_operator.pods.spec import SizedContainer, sized_container
from plimsoll_operator.sizing.rescued_note import (
    Rescued,
    before_rescue,
    enforced_limit,
    read_rescued,
    rescued_to_json,
)
from plimsoll_predictor.core.units import MIB
from tests.builders.pods import POD_UID, APod, a_pod

NOTE = {"uid": POD_UID, "container": "main", "request": "100Mi", "limit": "128Mi", "raises": 2}


def rescued(note: Any = NOTE) -> APod:
    text = note if isinstance(note, str) else json.dumps(note)
    return a_pod().named("train-1").asking("172Mi").limited("200Mi").annotated({RESCUED: text})


def container_of(pod: APod) -> SizedContainer:
    found = sized_container(pod.built())
    assert isinstance(found, SizedContainer)
    return found


def read(pod: APod) -> Rescued | None:
    return read_rescued(pod.built(), container_of(pod))


def test_what_a_pod_had_is_read_back() -> None:
    had = Rescued(POD_UID, "main", 100 * MIB, 128 * MIB, 2)
    assert read(rescued()) == had
    assert read(rescued(rescued_to_json(had))) == had
    before = before_rescue(rescued().built(), container_of(rescued()))
    assert (before.request_bytes, before.limit_bytes) == (100 * MIB, 128 * MIB)


@pytest.mark.parametrize(
    "note",
    [
        pytest.param({**NOTE, "uid": "another"}, id="another pod's"),
        pytest.param({**NOTE, "container": "other"}, id="another container's"),
        pytest.param({**NOTE, "limit": "300Mi"}, id="more than it has now"),
        pytest.param({**NOTE, "request": "0"}, id="nothing"),
        pytest.param({**NOTE, "raises": "2"}, id="a count in words"),
        pytest.param({**NOTE, "raises": 0}, id="no raise"),
        pytest.param({**NOTE, "limit": ["128Mi"]}, id="a list"),
        pytest.param("not JSON", id="no JSON"),
        pytest.param("[]", id="no object"),
        pytest.param(json.dumps({**NOTE, "x": "y" * 600}), id="far too long"),
    ],
)
def test_it_counts_as_absent_if_it_is(note: Any) -> None:
    assert read(rescued(note)) is None
    container = container_of(rescued(note))
    assert before_rescue(rescued(note).built(), container) == container


def test_a_pod_that_was_not_rescued_is_as_it_is() -> None:
    pod = a_pod().named("train-1").asking("172Mi").limited("200Mi")
    assert before_rescue(pod.built(), container_of(pod)) == container_of(pod)
    assert enforced_limit(pod.built(), container_of(pod)) == 200 * MIB


GRANTED = {"limits": {"memory": "150Mi"}}
RUNS, ENDED = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, {"terminated": {"exitCode": 137}}


@pytest.mark.parametrize(
    ("state", "resources", "limit"),
    [
        pytest.param(RUNS, GRANTED, 150, id="what is granted"),
        pytest.param(RUNS, {}, 200, id="what is asked for, where nobody says what is granted"),
        pytest.param(ENDED, GRANTED, 128, id="what it had first, once it has ended"),
    ],
)
def test_the_limit_of_a_rescued_pod_is(state: Any, resources: Any, limit: int) -> None:
    status = {"name": "main", "state": state, "resources": resources}
    pod = rescued().with_status(phase="Running", containerStatuses=[status])
    assert enforced_limit(pod.built(), container_of(pod)) == limit * MIB
