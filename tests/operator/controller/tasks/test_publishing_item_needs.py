"""From a run's end to the next pod's features: needs of items are learned, sent and recorded."""

from __future__ import annotations

import asyncio
import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.attempts.observation import observe
from plimsoll_operator.attempts.truth_table import AttemptEnd
from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.controller.hub import habits
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.feed.applying import BadEntry, apply, steps
from plimsoll_operator.feed.board import MAX_ITEMS, FeedBoard
from plimsoll_operator.feed.item_keys import ItemKey, Scope
from plimsoll_operator.feed.wire import ChangeKind, decode_message
from plimsoll_operator.late_binding.resizing import Left, Resize, resize_for
from plimsoll_operator.names import labels
from plimsoll_operator.sizing.decision_note import note_to_json
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.item_needs import EARLIER, UPSTREAM
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import BY_FEATURES
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.rule import Line, Rule
from plimsoll_predictor.store import ItemNeed, StoreError
from tests.builders.controller.ledgers import Inside, a_final, an_inside, ended
from tests.builders.pods import APod, a_pod, decision_of
from tests.rigs.drawing import examples
from tests.rigs.servers.admission_servers import knowledge_of

SUCCEEDED = AttemptEnd(Outcome.SUCCEEDED, "completed", None)
TASKS = ("align", "sort", "call")
TWICE_UPSTREAM = Rule(
    base_bytes=512 * MIB,
    lines=(Line(f"{UPSTREAM}align", 1.0, math.log(2.0)), Line(EARLIER, 1.0, 0.0)),
    factor=1.0,
    most_bytes=2.0**50,
)


def known(task: str) -> Knowledge:
    rule = replace(knowledge_of(TaskId("shop", task)), champion=BY_FEATURES, rule=TWICE_UPSTREAM)
    return replace(rule, max_need_bytes=2**50, largest_bytes=2**50)


def a_run(task: str, run: str = "r1", item: str = "s1", *, namespace: str = "shop") -> APod:
    name = f"{task}-{run}-{item}"
    named = a_pod().labelled(task).named(name, uid=f"uid-{name}").in_namespace(namespace)
    return named.annotated({labels.RUN: run, labels.ITEM: item}).asking("4Gi").limited("4Gi")


class Place:
    """Controller and admission with the feed between them, and nothing else."""

    def __init__(self) -> None:
        self.board = FeedBoard("e1")
        self.items = ItemNeeds(self.board)
        self.admission = AdmissionState()
        self._revision = 0
        for task in TASKS:
            self.board.publish(known(task))

    def decided(self, pod: APod) -> APod:
        """The pod as admission leaves it after reading the whole feed."""
        message = decode_message(self.board.message(self._revision, "e1"))
        for kind, name, data in steps(message):
            apply(self.admission, kind, name, data)
        self._revision = message.revision
        return pod.patched(size(pod.built(), self.admission).patch)

    def observed(self, pod: APod, need_bytes: int) -> Observation:
        """Let the pod succeed."""
        name = pod.built()["metadata"]["name"]
        reading = read_pod(ended(pod).built(), lambda task: known(task.name))
        assert reading is not None
        # The container's own report: a whole pod's counts only up to the container's limit.
        peak = replace(a_final(name, need_bytes), container_id="main")
        observation = observe(reading.attempt, reading.status, SUCCEEDED, peak, None)
        assert observation.peak_bytes == need_bytes
        self.items.learn(observation)
        return observation


def test_a_downstream_task_is_sized_from_what_its_item_needed_upstream() -> None:
    place = Place()
    assert decision_of(place.decided(a_run("call")))["allocation"] == "512Mi"
    place.observed(place.decided(a_run("align")), 300 * MIB)
    pod = place.decided(a_run("call"))
    assert decision_of(pod)["allocation"] == "600Mi"
    observation = place.observed(pod, 500 * MIB)
    assert observation.features == {f"{UPSTREAM}align": 300.0 * MIB}
    assert (observation.workflow_run, observation.item) == ("r1", "s1")


def test_the_next_run_of_the_item_is_sized_from_its_need_before() -> None:
    place = Place()
    place.observed(place.decided(a_run("call")), 700 * MIB)
    pod = place.decided(a_run("call", run="r2"))
    assert decision_of(pod)["allocation"] == "700Mi"
    assert place.observed(pod, 1).features == {EARLIER: 700.0 * MIB}


def test_another_namespaces_item_of_the_same_name_tells_nothing() -> None:
    place = Place()
    place.observed(place.decided(a_run("align", namespace="bank")), 300 * MIB)
    assert "context" not in decision_of(place.decided(a_run("call")))
    assert "context" in decision_of(place.decided(a_run("call", namespace="bank")))


def test_an_authors_feature_of_the_same_name_is_overruled() -> None:
    place = Place()
    place.observed(place.decided(a_run("call")), 700 * MIB)
    pod = a_run("call", run="r2").annotated({f"{labels.FEATURE_PREFIX}{EARLIER}": "1"})
    decided = place.decided(pod)
    assert decision_of(decided)["allocation"] == "700Mi"
    assert place.observed(decided, 1).features == {EARLIER: 700.0 * MIB}


def test_a_kill_tells_no_need() -> None:
    place = Place()
    observation = place.observed(place.decided(a_run("align")), 300 * MIB)
    fresh = ItemNeeds(FeedBoard("e2"))
    fresh.learn(replace(observation, outcome=Outcome.OOM_KILLED, allocation_bytes=MIB))
    fresh.learn(replace(observation, item=None))
    fresh.learn(replace(observation, peak_bytes=None))
    assert len(fresh.siblings) == 0


PAST = [
    ItemNeed(TaskId("shop", TASKS[number % 3]), f"r{number % 97}", f"s{number}", (number + 1) * MIB)
    for number in range(20_000)
]
"""As many as a start reads."""


async def test_what_is_learned_while_the_past_is_read_stays() -> None:
    place = Place()
    place.observed(a_run("align"), 300 * MIB)
    in_store = ItemNeed(TaskId("shop", "align"), "r1", "s1", 300 * MIB)

    async def read() -> list[ItemNeed]:
        place.observed(a_run("call"), 700 * MIB)
        return [in_store]

    await place.items.read_anew(read)
    assert place.items.siblings.needs("r1", "shop/s1") == {
        "align": 300.0 * MIB,
        "call": 700.0 * MIB,
    }


async def test_needs_that_cannot_be_read_change_nothing() -> None:
    place = Place()
    place.observed(a_run("align"), 300 * MIB)
    known = place.items.siblings.copy()

    async def read() -> list[ItemNeed]:
        raise StoreError("the statement took too long")

    with pytest.raises(StoreError):
        await place.items.read_anew(read)
    assert place.items.siblings == known


@pytest.mark.slow
async def test_others_have_their_turns_while_a_long_past_is_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An alarm of a rescue comes half a second before it is too late."""
    monkeypatch.setattr(habits, "SLICE_S", 0.001)
    items = ItemNeeds(FeedBoard("e1"))
    restoring = asyncio.create_task(items.restore(PAST))
    turns = 0
    while not restoring.done():
        await asyncio.sleep(0)
        turns += 1
    assert len(items.siblings) > 20_000
    # It takes a tenth of a second at least.
    assert turns > 20


async def test_what_is_learned_while_the_past_is_restored_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(habits, "SLICE_S", 0.0)
    place, ended = Place(), a_run("align", "r1", "s0")
    place.observed(place.decided(ended), 300 * MIB)
    restoring = asyncio.create_task(place.items.restore([*PAST[:300], PAST[0]]))
    await asyncio.sleep(0)
    assert place.items.siblings.earlier("align", "shop/s0") == 300 * MIB, "what was known is used"
    place.observed(place.decided(ended), 400 * MIB)
    assert not restoring.done()
    await restoring
    assert place.items.siblings.earlier("align", "shop/s0") == 400 * MIB
    assert place.items.siblings.earlier("sort", "shop/s1") == 2 * MIB
    message = decode_message(place.board.message(0, "e1"))
    key = ItemKey(Scope.TASK, "align", "shop/s0").text()
    assert message.items[key] == {"needs": [["align", 400 * MIB]]}


steps_taken = st.lists(
    st.tuples(
        st.sampled_from(TASKS),
        st.sampled_from(["r1", "r2"]),
        st.sampled_from(["s1", "s2"]),
        st.integers(1, 4096),
    ),
    min_size=2,
    max_size=14,
)


def played(
    taken: list[tuple[str, str, str, int]], watched: int, others: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Decision and recorded features of step ``watched``.

    From its own end on, every need is multiplied: its own and all later ones.
    others: how many further runs are observed between its decision and its end.
    """
    place = Place()
    for at, (task, run, item, need) in enumerate(taken[:watched]):
        place.observed(place.decided(a_run(task, f"{run}", item).annotated({"n": str(at)})), need)
    task, run, item, need = taken[watched]
    pod = place.decided(a_run(task, run, item))
    for later_task, later_run, later_item, later in taken[watched + 1 :]:
        place.observed(place.decided(a_run(later_task, later_run, later_item)), later * others)
    observation = place.observed(pod, need * others)
    return decision_of(pod), dict(observation.features)


@pytest.mark.slow
@examples(60)
@given(steps_taken, st.data())
def test_nothing_of_a_runs_own_future_reaches_its_decision_or_its_record(
    taken: list[tuple[str, str, str, int]], data: st.DataObject
) -> None:
    watched = data.draw(st.integers(0, len(taken) - 1))
    as_it_was, otherwise = played(taken, watched, 1), played(taken, watched, 1000)
    assert as_it_was == otherwise
    decision, features = as_it_was
    assert features == decision.get("context", {})
    task, run, item, _ = taken[watched]
    before = {f"{UPSTREAM}{t}": float(n) for t, r, i, n in taken[:watched] if (r, i) == (run, item)}
    before.pop(f"{UPSTREAM}{task}", None)
    own = [float(n) for t, _, i, n in taken[:watched] if (t, i) == (task, item)]
    assert features == {**before, **({EARLIER: own[-1]} if own else {})}


async def lived(inside: Inside, task: str, run: str, need_bytes: int, at: str) -> None:
    """One pod's life as a ledger sees it, decided by the knowledge at its creation."""
    pod = a_run(task, run)
    state = AdmissionState(
        tasks={TaskId("shop", each): known(each) for each in TASKS},
        siblings=inside.controller.items.siblings,
    )
    decided = pod.patched(size(pod.built(), state).patch)
    name = decided.built()["metadata"]["name"]
    final = replace(a_final(name, need_bytes), container_id="main", measured_s=1_767_300_000.0)
    await inside.report(final)
    await inside.see(ended(decided, at=at))


@pytest.mark.slow
async def test_a_restarted_controller_knows_the_same_of_items(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        for minute, (task, run) in enumerate([("align", "r1"), ("call", "r1"), ("align", "r2")]):
            at = f"2026-01-01T00:0{minute + 1}:00Z"
            await lived(inside, task, run, (100 + minute) * MIB, at)
        before = copy.deepcopy(inside.controller.items.siblings)
        (record,) = inside.store.observations.of_task(TaskId("shop", "call"))
        assert record.features == {f"{UPSTREAM}align": 100.0 * MIB}
        assert len(before) == 5 - 1
    async with an_inside(tmp_path) as inside:
        assert inside.controller.items.siblings == before
        # The API server shows all pods again, in any order: the knowledge stays.
        await lived(inside, "align", "r1", 100 * MIB, "2026-01-01T00:01:00Z")
        assert inside.controller.items.siblings == before
        assert inside.controller.items.siblings.features("r3", "shop/s1", "align") == {
            EARLIER: 102.0 * MIB
        }


@pytest.mark.slow
async def test_a_peak_that_comes_late_corrects_what_the_item_needed(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_run("align")))
        assert len(inside.controller.items.siblings) == 0
        await inside.report(a_final("align-r1-s1", 90 * MIB))
        await inside.controller.late_peaks.amend("uid-align-r1-s1")
        assert inside.controller.items.siblings.features("r1", "shop/s1", "call") == {
            f"{UPSTREAM}align": 90.0 * MIB
        }


def test_a_pod_that_waits_is_decided_again_by_what_is_known_of_its_item_by_then() -> None:
    place = Place()
    waits = place.decided(a_run("call")).with_status(phase="Pending")
    assert "context" not in decision_of(waits)
    place.observed(place.decided(a_run("align")), 300 * MIB)
    state = AdmissionState(
        tasks={TaskId("shop", "call"): known("call")}, siblings=place.items.siblings
    )
    found = resize_for(waits.built(), state)
    # Only a lowered pod, or one that was passed over, may be resized while it waits.
    assert isinstance(found, Left)
    passed_over = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    found = resize_for(waits.with_status(**passed_over).built(), state)
    assert isinstance(found, Resize)
    assert found.memory.request_bytes == 600 * MIB
    rewritten = waits.annotated({labels.DECISION: note_to_json(found.note)})
    bound = rewritten.asking(600 * MIB).limited(600 * MIB)
    assert place.observed(bound, 500 * MIB).features == {f"{UPSTREAM}align": 300.0 * MIB}


def test_an_older_admission_finds_all_it_knows_in_a_newer_controllers_message() -> None:
    board = FeedBoard("e1")
    board.publish(known("align"))
    without = orjson.loads(board.message(0, None))
    board.set_item(ItemKey(Scope.RUN, "r1", "shop/s1"), {"align": 5.0})
    message = orjson.loads(board.message(0, None))
    assert message.pop("items") == {'["run","r1","shop/s1"]': {"needs": [["align", 5.0]]}}
    without.pop("items")
    later = {"revision": 2, "head": 2}
    assert message == without | later
    assert set(message["removed"]) == {"tasks", "namespaces"}


def test_a_newer_admission_reads_an_older_controllers_message() -> None:
    body = orjson.loads(FeedBoard("e1").message(0, None))
    del body["items"]
    assert decode_message(orjson.dumps(body)).items == {}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("r1", {"needs": [["align", 5]]}, id="no key"),
        pytest.param('["run","r1"]', {"needs": [["align", 5]]}, id="a short key"),
        pytest.param('["day","r1","shop/s1"]', {"needs": [["align", 5]]}, id="an unknown scope"),
        pytest.param('["run",1,"shop/s1"]', {"needs": [["align", 5]]}, id="a number for a run"),
        pytest.param('["run","r1","shop/s1"]', {"needs": [["align", -5]]}, id="below zero"),
        pytest.param('["run","r1","shop/s1"]', {"needs": []}, id="no needs"),
        pytest.param('["run","r1","shop/s1"]', {"needs": [["a", 1]] * 10}, id="too many"),
        pytest.param('["run","r1","shop/s1"]', {}, id="nothing"),
        pytest.param('["task","align","shop/s1"]', {"needs": [["sort", 5]]}, id="another task"),
        pytest.param(f'["run","{"x" * 1024}","s"]', {"needs": [["a", 1]]}, id="a long key"),
    ],
)
def test_a_strange_item_is_refused_and_harms_nothing(name: str, data: dict[str, Any]) -> None:
    state = AdmissionState()
    with pytest.raises(BadEntry):
        apply(state, ChangeKind.ITEM, name, data)
    assert state == AdmissionState()


@pytest.mark.slow
def test_the_board_holds_no_more_items_than_a_reader_keeps() -> None:
    board = FeedBoard("e1")
    for number in range(MAX_ITEMS + 7):
        board.set_item(ItemKey(Scope.TASK, "align", f"shop/s{number}"), {"align": 5.0})
    message = decode_message(board.message(1, "e1"))
    assert not message.full
    assert len(board._entries) == MAX_ITEMS
    assert message.removed.tasks == []
    # A changed old item becomes young, and the feed sends only it.
    board.set_item(ItemKey(Scope.TASK, "align", "shop/s7"), {"align": 6.0})
    board.set_item(ItemKey(Scope.TASK, "align", "shop/new"), {"align": 5.0})
    names = [
        ItemKey.parse(n).place for n in decode_message(board.message(MAX_ITEMS + 7, "e1")).items
    ]
    assert names == ["shop/s7", "shop/new"]
    assert len(board._entries) == MAX_ITEMS
