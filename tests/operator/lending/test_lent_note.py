"""The annotation of a pod that lends, which anybody may have written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_operator.lending.lent_note import (
    Lent,
    as_written,
    lent_by,
    lent_to_json,
    read_lent,
)
from plimsoll_operator.names.labels import LENT
from plimsoll_operator.pods.spec import SizedContainer, sized_container
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import POD_UID, APod, a_pod, memory_of

ASKS = a_pod().named("train-1").asking("4Gi").limited("4Gi")
NOTE = {"uid": POD_UID, "container": "main", "request": "4Gi"}


def lending(note: Any = NOTE, request: str = "300Mi") -> APod:
    text = note if isinstance(note, str) else json.dumps(note)
    return ASKS.asking(request).annotated({LENT: text})


def container_of(pod: APod) -> SizedContainer:
    found = sized_container(pod.built())
    assert isinstance(found, SizedContainer)
    return found


def test_what_a_pod_asks_for_is_read_back_as_it_was_written() -> None:
    asked = lent_by(ASKS.built(), container_of(ASKS))
    assert asked == Lent(POD_UID, "main", "4Gi", 4 * GIB)
    assert read_lent(lending(lent_to_json(asked)).built()) == asked


def test_a_pod_that_lends_is_shown_to_the_others_as_it_was_written() -> None:
    shown = APod(as_written(lending().built()))
    assert memory_of(shown) == ("4Gi", "4Gi")
    assert LENT not in shown.built()["metadata"]["annotations"]
    assert memory_of(lending()) == ("300Mi", "4Gi")


def test_a_pod_that_does_not_lend_is_shown_as_it_is() -> None:
    pod = ASKS.built()
    assert as_written(pod) is pod


@pytest.mark.parametrize(
    "note",
    [
        pytest.param({**NOTE, "uid": "another"}, id="copied with another pod"),
        pytest.param({**NOTE, "container": "sidecar"}, id="of another container"),
        pytest.param({**NOTE, "request": "8Gi"}, id="above the limit"),
        pytest.param({**NOTE, "request": "100Mi"}, id="below what it has"),
        pytest.param({**NOTE, "request": "much"}, id="no quantity"),
        pytest.param({**NOTE, "request": "0" * 40 + "4Gi"}, id="too long a quantity"),
        pytest.param({**NOTE, "request": 4}, id="no text"),
        pytest.param({**NOTE, "why": "x" * 600}, id="too long"),
        pytest.param({"uid": POD_UID}, id="half of it"),
        pytest.param("{", id="no JSON"),
        pytest.param("[]", id="no object"),
    ],
)
def test_what_plimsoll_would_not_have_written_counts_as_absent(note: Any) -> None:
    assert read_lent(lending(note).built()) is None
    assert memory_of(APod(as_written(lending(note).built())))[0] == "300Mi"


def test_without_a_limit_nothing_bounds_what_somebody_writes() -> None:
    assert read_lent(lending().limited(None).built()) is None


def test_a_pod_that_has_all_again_is_known_by_its_annotation() -> None:
    found = read_lent(lending(request="4Gi").built())
    assert found is not None
    assert container_of(lending(request="4Gi")).request_bytes == found.request_bytes


def test_a_pod_without_a_readable_request_has_nothing_to_lend() -> None:
    nothing = a_pod().named("train-1")
    assert lent_by(nothing.built(), container_of(nothing)) is None
    assert lent_by(ASKS.named("new", uid=None).built(), container_of(ASKS)) is None


def test_quantities_are_kept_word_by_word() -> None:
    odd = ASKS.asking("2e9").limited("4Gi")
    asked = lent_by(odd.built(), container_of(odd))
    assert asked is not None
    assert (asked.request, asked.request_bytes) == ("2e9", 2_000_000_000)
    again = ASKS.asking(300 * MIB).annotated({LENT: lent_to_json(asked)})
    assert memory_of(APod(as_written(again.built())))[0] == "2e9"
