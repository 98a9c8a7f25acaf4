"""Pods by strangers: whatever they write, they change nobody else's sizes, knowledge or data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.late_binding.resizing import Left, resize_for
from plimsoll_operator.names import labels
from plimsoll_operator.pods.workflow_items import place_of
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.item_needs import Siblings
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.controller.ledgers import TRAIN, a_train, an_inside, decided, ended, killed
from tests.builders.experts.expert_lives import TRAIN as OTHERS
from tests.builders.experts.expert_lives import a_life
from tests.builders.pods import APod, a_pod
from tests.rigs.drawing import examples
from tests.rigs.servers.admission_servers import knowledge_of

SECRET_MIB: Final = 7_777
"""The need of another namespace's task: none of it may show here."""
VICTIM = TaskId("shop", "train")
EVIL = "evil"
VICTIM_RUN = "pod:0f3c2f5e-0000-4000-8000-000000000001"

FORGED = st.builds(
    lambda attempt, allocation_bytes, mode, run: note_to_json(
        replace(_a_note(), attempt=attempt, allocation_bytes=allocation_bytes, mode=mode, run=run)
    ),
    st.integers(1, 1000),
    st.none() | st.integers(1, 2**62),
    st.sampled_from(list(Mode)),
    st.none() | st.sampled_from([VICTIM_RUN, "job:1"]),
)
TEXT = st.text(max_size=40) | st.sampled_from(
    ["", "\x00", "💥" * 300, "9" * 400, "-1", "1e999", "NaN", "enforce", "{}", "[]", "null", "/"]
)
KEYS = st.sampled_from(
    [
        labels.DECISION,
        labels.RUN,
        labels.ITEM,
        labels.RUN_OF,
        labels.RETRY_OF,
        labels.MODE,
        labels.CPU_MODE,
        labels.RETRY,
        labels.CRITICAL,
        f"{labels.FEATURE_PREFIX}rows",
        f"{labels.FEATURE_PREFIX}upstream:s1",
        f"{labels.FEATURE_PREFIX}{'x' * 300}",
        "dag_id",
        "task_id",
    ]
)
ANNOTATIONS = st.dictionaries(
    KEYS, TEXT | FORGED | st.sampled_from([VICTIM_RUN, "r7", "s1", "shop/train"]), max_size=8
)
TASK_LABELS = st.sampled_from(["train", "auto", "shop/train", "../shop/train", "Train", "x" * 253])
QUANTITIES = st.sampled_from([None, "4Gi", "1", "100Ei", "0", "rubbish", 2**63, "1e400"])


def _a_note() -> Any:
    note = read_note(decided(a_train()).built())
    assert note is not None
    return note


def a_strangers(task: str, annotations: dict[str, str], memory: str | int | None) -> APod:
    pod = a_pod().labelled(task).in_namespace(EVIL).asking(memory).limited(memory)
    return pod.annotated(annotations).with_labels(
        {key: text for key, text in annotations.items() if key in ("dag_id", "task_id", labels.RUN)}
    )


STRANGERS = st.builds(a_strangers, TASK_LABELS, ANNOTATIONS, QUANTITIES)


def state_of(*, with_others: bool, mode: Mode = Mode.ENFORCE) -> AdmissionState:
    """Admission's knowledge of the stranger's own task; with_others: and of the victim's."""
    mine = knowledge_of(TaskId(EVIL, "train"), mode=mode)
    state = AdmissionState(default_policy=Policy(mode=mode), tasks={mine.task: mine})
    if with_others:
        lifts = {VICTIM_RUN: Lift(SECRET_MIB * MIB, 2, GIB)}
        state.tasks[VICTIM] = replace(
            knowledge_of(VICTIM, max_need_bytes=SECRET_MIB * MIB), lifts=lifts
        )
        siblings = Siblings()
        siblings.note("r7", place_of(VICTIM, "s1"), VICTIM.name, SECRET_MIB * MIB)
        state.siblings = siblings
    return state


@pytest.mark.slow
@given(pod=STRANGERS)
@examples(200)
def test_what_a_stranger_gets_does_not_depend_on_what_is_known_of_others(pod: APod) -> None:
    alone = size(pod.built(), state_of(with_others=False), EVIL)
    among = size(pod.built(), state_of(with_others=True), EVIL)
    assert among == alone
    assert among.identity is None or among.identity.task.namespace == EVIL


@pytest.mark.slow
@given(pod=STRANGERS)
@examples(200)
def test_whatever_a_pod_says_in_its_own_words_no_size_goes_beyond_its_policys_max(
    pod: APod,
) -> None:
    state = state_of(with_others=True)
    for task, known in list(state.tasks.items()):
        state.tasks[task] = replace(known, policy=replace(known.policy, max_bytes=2 * GIB))
    sized = size(pod.built(), state, EVIL)
    wanted = None if sized.decision is None else sized.decision.allocation_bytes
    if sized.identity is None or sized.identity.task.name != "train" or wanted is None:
        return
    # A pod that is not lowered stays as its author wrote it, without any mark of Plimsoll.
    assert wanted <= 2 * GIB or not [each for each in sized.patch if "memory" in str(each)]


@pytest.mark.slow
@given(pod=STRANGERS)
@examples(200)
def test_in_recommend_mode_a_pod_gets_an_annotation_and_nothing_else(pod: APod) -> None:
    body = pod.built()
    body["metadata"]["annotations"].pop(labels.MODE, None)
    body["metadata"]["annotations"].pop(labels.CPU_MODE, None)
    body["metadata"].setdefault("labels", {})
    sized = size(body, state_of(with_others=True, mode=Mode.RECOMMEND), EVIL)
    assert {operation["path"].split("/")[1] for operation in sized.patch} <= {"metadata"}
    patched = APod(body).patched(sized.patch).built() if sized.patch else body
    assert patched["spec"] == body["spec"]
    before, after = (each["metadata"]["annotations"] for each in (body, patched))
    assert {**after, labels.DECISION: ""} == {**before, labels.DECISION: ""}


@pytest.mark.slow
@given(pod=STRANGERS)
@examples(100)
def test_no_waiting_pod_is_resized_in_recommend_mode_whatever_is_forged_on_it(pod: APod) -> None:
    body = pod.with_status(phase="Pending").built()
    for key in (labels.MODE, labels.CPU_MODE):
        body["metadata"]["annotations"].pop(key, None)
    found = resize_for(body, state_of(with_others=True, mode=Mode.RECOMMEND))
    assert isinstance(found, Left)


def imitating(name: str) -> APod:
    """A pod that claims to be of the victim's run, or its retry, with the victim's annotations."""
    pod = a_train(name).in_namespace(EVIL)
    return decided(pod, attempt=900).annotated(
        {
            labels.RUN_OF: "uid-train-1",
            labels.RETRY_OF: "uid-train-1",
            labels.RUN: "r7",
            labels.ITEM: "s1",
        }
    )


@pytest.mark.slow
async def test_a_strangers_kills_and_successes_teach_others_nothing(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train())))
        before = inside.known
        assert set(before.lifts) == {"pod:uid-train-1"}
        for number in range(5):
            await inside.see(killed(imitating(f"evil-{number}")))
            await inside.see(ended(imitating(f"good-{number}")))
        await inside.controller.standings.fold()
        assert inside.known == before
        assert [each.attempt_uid for each in inside.store.observations.of_task(TRAIN)] == [
            "uid-train-1"
        ]
        assert inside.controller.book.look(TaskId(EVIL, "train")).lifts.keys() <= {
            "pod:uid-train-1"
        }


@pytest.mark.slow
async def test_a_kill_that_says_to_be_the_thousandth_attempt_hurts_its_own_task_alone(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(imitating("evil-1")))
        await inside.see(killed(decided(a_train())))
        assert set(inside.known.lifts) == {"pod:uid-train-1"}
        assert len(inside.store.retries.waiting()) == 1


def a_charge(need_mib: float) -> Ended:
    run = EndedRun(need_bytes=need_mib * MIB, runtime_s=60.0, request_bytes=4.0 * GIB)
    return Ended(run=run, features={}, bids=None, overhead_s=0.0)


@pytest.mark.slow
async def test_what_strangers_runs_cost_does_not_choose_who_serves_others(tmp_path: Path) -> None:
    """The worst a flood can do: in a shared pool it does choose; with pools apart it does not."""

    async def after(*, flood: bool, folder: Path) -> dict[str, Any]:
        folder.mkdir()
        async with a_life(folder) as life:
            if flood:
                for number in range(60):
                    task = TaskId(EVIL, f"t{number % 20}")
                    await life.ran(1000.0 / (number // 20 + 1), task=task)
            await life.ran(*(300 + 9 * place for place in range(6)), task=OTHERS)
            held = life.standings.held(OTHERS)
            assert held is not None
            pool = await life.standings.pool(OTHERS)
            return {"standing": held.to_dict(), "pool": pool.to_dict()}

    quiet = await after(flood=False, folder=tmp_path / "quiet")
    flooded = await after(flood=True, folder=tmp_path / "flooded")
    assert flooded == quiet


def test_in_one_pool_a_flood_changes_what_others_are_held_to_cost() -> None:
    """The reason why namespaces share no pool: the test above must be able to fail."""

    def costs(flood: bool) -> dict[str, float]:
        fleet = TaskStandings()
        for number in range(60 if flood else 0):
            fleet.learn(f"evil/t{number % 20}", a_charge(1000.0 / (number // 20 + 1)))
        for place in range(6):
            fleet.learn("shop/train", a_charge(300 + 9 * place))
        return fleet.standing("shop/train").costs(fleet.pool_of("shop/train"))

    assert costs(flood=True) != costs(flood=False)


@pytest.mark.slow
async def test_a_namespaces_pool_is_taken_up_after_a_restart_and_only_by_its_own(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(*(300 + 9 * place for place in range(6)), task=OTHERS)
        await life.ran(*(100 + 9 * place for place in range(6)), task=TaskId(EVIL, "t"))
        before = {name: await life.standings.pool(TaskId(name, "t")) for name in ("shop", EVIL)}
        states = {name: pool.to_dict() for name, pool in before.items()}
        await life.standings.close()
    assert states["shop"] != states[EVIL]
    async with a_life(tmp_path) as again:
        for name, state in states.items():
            assert (await again.standings.pool(TaskId(name, "new"))).to_dict() == state
        fresh = await again.standings.pool(TaskId("new-here", "t"))
        assert fresh.to_dict() == TaskStandings().pool.to_dict()


@pytest.mark.slow
async def test_a_namespace_may_not_make_tasks_without_end(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        inside.controller.book.crowding.most_tasks = 10
        for number in range(30):
            await inside.see(ended(a_train(f"p{number}").labelled(f"t{number}").in_namespace(EVIL)))
        await inside.see(ended(a_train()))
        assert len([task for task in inside.controller.book if task.namespace == EVIL]) == 10
        assert len(inside.store.observations.of_task(TRAIN)) == 1
        assert len(inside.store.observations.of_task(TaskId(EVIL, "t29"))) == 0
        assert inside.controller.book.crowding.is_full(EVIL)
        assert not inside.controller.book.crowding.is_full("shop")


@pytest.mark.slow
@given(text=FORGED | TEXT)
@examples(150)
def test_a_forged_decision_is_read_within_bounds_or_not_at_all(text: str) -> None:
    note = read_note(a_pod().annotated({labels.DECISION: text}).built())
    if note is not None:
        assert 1 <= note.attempt <= 1000
        assert note.allocation_bytes is None or note.allocation_bytes >= 0
        assert len(note.why) <= 512
