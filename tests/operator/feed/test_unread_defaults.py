"""What admission obeys if it cannot read the policies of a newer controller."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from plimsoll_operator.feed.applying import UNREAD_DEFAULTS
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import FeedClient, FeedSource
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import GIB
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import a_pod, memory_of

OFF = Policy(mode=Mode.OFF)
NODES = nodes_of(a_node("16Gi"))
NO_STORE = "the controller's store cannot be written"


class Reader:
    """Admission's side of the feed. failures: how often which."""

    def __init__(self) -> None:
        self.state = AdmissionState()
        self.failures: Counter[str] = Counter()
        self.client = FeedClient(
            source=FeedSource("http://127.0.0.1:1", Path("token")),
            state=self.state,
            heard=lambda: None,
            failed=lambda reason: self.failures.update([reason]),
            jitter=random.Random(1),
        )

    async def take(self, document: dict[str, object]) -> None:
        """Apply one message."""
        await self.client.take(decode_message(orjson.dumps(document)))


def told(
    epoch: str, *, paused: object, retry: str = "auto", unhealed: str | None = None
) -> dict[str, object]:
    """All that a controller says, with a value of ``retry`` that a newer one may know."""
    board = FeedBoard(epoch)
    board.set_defaults(OFF, unhealed=unhealed, nodes=NODES)
    board.set_namespace("shop", policy=OFF, limit_ranges=[], quotas=[])
    document = orjson.loads(board.message(0, None))
    document["defaults"]["paused"] = paused
    for each in (document["defaults"], document["namespaces"]["shop"]):
        each["policy"]["retry"] = retry
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("full", [True, False], ids=["a new leader's", "the same leader's"])
@pytest.mark.parametrize(
    ("paused", "is_paused"),
    [
        pytest.param(True, True, id="a pause goes on"),
        pytest.param(False, False, id="a pause ends"),
        pytest.param("until Monday", True, id="what is no yes or no ends no pause"),
    ],
)
async def test_policies_that_cannot_be_read_leave_what_was_known_and_nothing_is_lowered(
    full: bool, paused: object, is_paused: bool
) -> None:
    reader = Reader()
    await reader.take(told("e1", paused=True, unhealed=NO_STORE))
    unread = told("e2" if full else "e1", paused=paused, retry="sometimes")
    await reader.take(unread | {"full": full})
    state = reader.state
    assert (state.default_policy, state.nodes, state.paused) == (OFF, NODES, is_paused)
    assert state.unhealed == UNREAD_DEFAULTS
    assert set(state.namespaces) == {"shop"}
    assert reader.failures == {"bad-entry": 2}


@pytest.mark.parametrize("full", [True, False], ids=["a new leader's", "the same leader's"])
@pytest.mark.parametrize("known", [None, Mode.ENFORCE, Mode.OFF])
async def test_nothing_is_lowered_in_a_namespace_whose_policy_cannot_be_read(
    known: Mode | None, full: bool
) -> None:
    """It may be off by now. What its LimitRange refuses is known all the same."""
    reader = Reader()
    if known is not None:
        await reader.take(_shop("e1", Policy(mode=known, first_size=0.5)))
    unread = _shop("e2" if full else "e1", OFF, retry="sometimes")
    await reader.take(unread | {"full": full})
    shop = reader.state.namespace("shop")
    assert shop.bounds.least == 4 * GIB
    assert (shop.policy and shop.policy.mode) is Mode.RECOMMEND
    pod = a_pod().labelled("new").asking("8Gi").in_namespace("shop")
    assert memory_of(pod.patched(size(pod.built(), reader.state, "shop").patch)) == memory_of(pod)
    await reader.take(_shop("e3", OFF))
    shop = reader.state.namespace("shop")
    assert (shop.policy, shop.bounds.least) == (OFF, 4 * GIB)


@pytest.mark.parametrize("known", [None, Mode.ENFORCE])
@pytest.mark.parametrize("newer", [{}, {"retry": "sometimes"}], ids=["its policy", "nothing of it"])
@pytest.mark.parametrize("part", ["autoscalers", "quotas"])
async def test_nothing_is_lowered_in_a_namespace_of_which_another_part_cannot_be_read(
    part: str, newer: dict[str, str], known: Mode | None
) -> None:
    reader = Reader()
    if known is not None:
        await reader.take(_shop("e1", Policy(mode=known, first_size=0.5)))
    unread: Any = _shop("e2", OFF, **newer)
    shop = unread["namespaces"]["shop"]
    shop["elsewhere"] = shop.pop(part, [])
    if part == "autoscalers":
        shop[part] = [{"of": "a newer kind"}, 3]
    await reader.take(unread)
    policy = reader.state.namespace("shop").policy
    assert policy is not None
    assert policy.mode is (Mode.RECOMMEND if newer else Mode.OFF)
    assert reader.failures["bad-entry"] == 1


def _shop(epoch: str, policy: Policy, **newer: str) -> dict[str, object]:
    board = FeedBoard(epoch)
    board.set_defaults(Policy(mode=Mode.ENFORCE, first_size=0.5))
    limits = [{"type": "Container", "min": {"memory": "4Gi"}}]
    limit_range = {"metadata": {"name": "least", "namespace": "shop"}, "spec": {"limits": limits}}
    board.set_namespace("shop", policy=policy, limit_ranges=[limit_range], quotas=[])
    document = orjson.loads(board.message(0, None))
    document["namespaces"]["shop"]["policy"].update(newer)
    assert isinstance(document, dict)
    return document


async def test_a_pause_begins_for_an_admission_that_cannot_read_the_policy_beside_it() -> None:
    reader = Reader()
    await reader.take(told("e1", paused=True, retry="sometimes"))
    assert (reader.state.paused, reader.state.unhealed) == (True, UNREAD_DEFAULTS)


async def test_policies_that_can_be_read_again_are_all_that_counts() -> None:
    reader = Reader()
    await reader.take(told("e1", paused=True, retry="sometimes"))
    await reader.take(told("e2", paused=False))
    assert (reader.state.paused, reader.state.unhealed) == (False, None)


async def test_a_namespace_that_is_not_told_any_more_is_forgotten() -> None:
    reader = Reader()
    await reader.take(told("e1", paused=False))
    await reader.take(told("e2", paused=False) | {"namespaces": {}})
    assert reader.state.namespaces == {}
