"""`plimsoll pause`, `resume`, `enforce`, `recommend`, `off`: what they write and print."""

from __future__ import annotations

import pytest

from plimsoll_operator.commands.modes.enforce import target_of as target_of_mode
from plimsoll_operator.commands.modes.enforce import words_for_change
from plimsoll_operator.commands.modes.pause import target_of, words_for
from plimsoll_operator.commands.modes.policy_writing import Target
from plimsoll_predictor.core.policy import Mode
from tests.builders.kubernetes.cluster_status import a_profile

SHOP = Target("sizingpolicies", "shop", "default")


def test_without_a_name_the_whole_cluster_is_paused_by_the_policy_of_our_namespace() -> None:
    target = target_of(None, None, "plimsoll")
    assert str(target) == "SizingPolicy plimsoll/cluster"
    assert "the whole cluster, within seconds" in words_for(target, before=False, after=True)


@pytest.mark.parametrize(
    ("task", "namespace", "target"),
    [
        (None, "shop", "SizingPolicy shop/default"),
        ("shop/train-demand", None, "TaskProfile shop/train-demand"),
        ("shop/Train_Demand", None, "TaskProfile shop/train-demand-892efd52"),
    ],
)
def test_a_namespace_or_a_task_is_paused_by_itself(
    task: str | None, namespace: str | None, target: str
) -> None:
    assert str(target_of(task, namespace, None)) == target


def test_a_task_whose_name_is_no_objects_name_says_it_in_its_profile() -> None:
    target = Target.of("shop/Train_Demand", None)
    assert target.manifest({"paused": True})["spec"] == {"task": "Train_Demand", "paused": True}
    plain = Target.of("shop/train", None)
    assert plain.manifest({"paused": True})["spec"] == {"paused": True}


def test_pausing_twice_says_that_it_was_so_already() -> None:
    target = target_of(None, "shop", None)
    assert words_for(target, before=True, after=True) == "namespace shop was paused before"
    assert words_for(target, before=False, after=False) == "namespace shop was not paused before"


@pytest.mark.parametrize("named", [(None, None), ("shop/a", "shop")])
def test_a_mode_is_of_one_task_or_one_namespace(named: tuple[str | None, str | None]) -> None:
    with pytest.raises(ValueError, match="name one task as NAMESPACE/TASK, or a namespace"):
        target_of_mode(*named)


def test_both_a_task_and_a_namespace_cannot_be_paused() -> None:
    with pytest.raises(ValueError, match="not both"):
        target_of("shop/a", "shop", None)


def test_enforcing_says_what_it_would_have_saved_and_killed_and_who_does_not_follow() -> None:
    stubborn = {**a_profile("own\x1b", mode="off"), "spec": {"mode": "off"}}
    profiles = [a_profile("a"), a_profile("b", mode="enforce"), stubborn]
    words = words_for_change(SHOP, None, Mode.ENFORCE, profiles)
    assert "SizingPolicy shop/default: mode enforce" in words
    assert "1 of 2 known tasks change" in words
    assert "it would have saved 1.2 GB·h, and killed 1 of 40 runs" in words
    assert "not own�: the TaskProfile has a mode of its own" in words


def test_before_any_run_was_decided_nobody_knows_what_enforcing_would_have_saved() -> None:
    new = a_profile("a", wouldSaveGbH=None, wouldKill=None)
    assert "not known yet" in words_for_change(SHOP, None, Mode.ENFORCE, [new])


def test_what_is_enforced_already_is_not_said_to_be_undecided() -> None:
    enforced = [a_profile(name, mode="enforce") for name in ("a", "b")]
    words = words_for_change(SHOP, None, Mode.ENFORCE, enforced)
    assert "2 known tasks: enforce is the mode already" in words
    assert "was decided" not in words


def test_recommending_again_says_what_was_before() -> None:
    enforced = [a_profile("a", mode="enforce")]
    words = words_for_change(SHOP, "enforce", Mode.RECOMMEND, enforced)
    assert "mode recommend (now: enforce)" in words
    assert "would have saved" not in words
