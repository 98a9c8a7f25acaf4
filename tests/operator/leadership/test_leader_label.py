"""The label by which Services find the leader's pod."""

from __future__ import annotations

from plimsoll_operator.leadership.marking import changes
from plimsoll_operator.names.labels import INSTANCE, LEADER


def a_pod_of(
    name: str, release: str = "plimsoll", *, leads: str | None = None
) -> dict[str, object]:
    marks = {INSTANCE: release, **({LEADER: leads} if leads else {})}
    return {"metadata": {"name": name, "labels": marks}}


def test_the_leader_is_labelled_and_the_one_before_it_no_longer() -> None:
    pods = [a_pod_of("one", leads="true"), a_pod_of("two"), a_pod_of("three")]
    assert changes(pods, "two") == {"one": None, "two": "true"}


def test_what_is_right_is_not_written_again() -> None:
    assert changes([a_pod_of("one"), a_pod_of("two", leads="true")], "two") == {}


def test_another_releases_leader_in_the_same_namespace_is_left_alone() -> None:
    pods = [a_pod_of("one"), a_pod_of("theirs", "other", leads="true")]
    assert changes(pods, "one") == {"one": "true"}


def test_a_process_without_a_pod_labels_nothing() -> None:
    assert changes([a_pod_of("one", leads="true")], "laptop") == {}


def test_a_label_of_another_value_is_mended() -> None:
    assert changes([a_pod_of("one", leads="yes")], "one") == {"one": "true"}
