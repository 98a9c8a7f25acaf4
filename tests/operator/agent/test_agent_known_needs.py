"""What the agent does not send: maxima that tell the controller nothing new."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from plimsoll_operator.agent.known_needs import AN_EARLIER, KnownNeeds
from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.peak_sender import Answer, Reply, Sender, deliver
from plimsoll_operator.agent.pod_cgroups import Version, find_hierarchy, find_kubepods, scan
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.attempts.peaks import Answered, PeakReport
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, PAUSE, UID, RecordedTree, a_report, until

POD = f"kubepods/burstable/pod{UID}"


class Node:
    """A recorded node with one growing pod, and all that its agent reports of it."""

    def __init__(self, root: Path) -> None:
        self.tree = RecordedTree(root)
        self.known = KnownNeeds()
        self.sampler = Sampler(Version.V2, {}, lambda: 1.7e9, self.known)
        self.reports: list[PeakReport] = []

    def grows_to(self, mib: int, limit_mib: int = 1000) -> list[PeakReport]:
        size = {"current": mib * MIB, "peak": mib * MIB, "anon": mib * MIB}
        self.tree.write(POD, **size, limit=limit_mib * MIB)
        self.tree.write(f"{POD}/{PAUSE}", current=MIB // 4, peak=MIB // 2, anon=MIB // 4)
        self.tree.write(f"{POD}/{CONTAINER}", **size, limit=limit_mib * MIB)
        return self.tick()

    def tick(self) -> list[PeakReport]:
        hierarchy = find_hierarchy(self.tree.root)
        found = self.sampler.tick(scan(hierarchy, find_kubepods(hierarchy)))
        self.reports += found
        return found

    def learns(self, mib: int | None, controller: str = "a") -> None:
        known_bytes = {} if mib is None else {UID: mib * MIB}
        self.known.learn(Answered(controller=controller, known_bytes=known_bytes))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known_mib", "most"),
    [
        pytest.param(None, 2 * 60, id="nothing is known of its task: all is sent"),
        pytest.param(600, 2, id="it stays below what its task is known to need"),
        pytest.param(300, 2 * 33, id="what exceeds that is sent"),
    ],
)
def test_messages_of_a_pod_that_grows_for_a_minute(
    node: Node, known_mib: int | None, most: int
) -> None:
    """It grows by 10 MiB a second, to 600 MiB; the first report is not counted."""
    node.grows_to(4)
    node.learns(known_mib)
    before = len(node.reports)
    for second in range(60):
        node.grows_to(10 * (second + 1))
    assert not any(each.final for each in node.reports)
    sent = len(node.reports) - before
    assert sent <= most
    assert sent >= (0 if known_mib == 600 else most - 6)


def test_the_end_is_always_sent_and_has_the_maximum(node: Node) -> None:
    node.grows_to(4)
    node.learns(600)
    assert node.grows_to(500) == []
    node.tree.remove(POD)
    finals = {each.container_id: each for each in node.tick()}
    assert finals[None].final
    assert finals[None].need_peak_bytes == 500 * MIB


def test_what_is_kept_back_is_in_the_spool_all_the_same(node: Node) -> None:
    node.grows_to(4)
    node.learns(600)
    node.grows_to(500)
    assert node.sampler.running()[UID, CONTAINER].need_peak_bytes == 500 * MIB


def test_a_pod_near_its_limit_is_sent_whatever_is_known(node: Node) -> None:
    node.grows_to(4, limit_mib=400)
    node.learns(600)
    assert node.grows_to(300, limit_mib=400) == []
    assert len(node.grows_to(350, limit_mib=400)) == 2


def test_a_limit_that_is_resized_is_sent_whatever_is_known(node: Node) -> None:
    node.grows_to(4)
    node.learns(600)
    assert {each.limit_bytes for each in node.grows_to(10, limit_mib=500)} == {500 * MIB}


def test_another_controller_is_told_once_what_has_been_reached(node: Node) -> None:
    node.grows_to(4)
    node.learns(100)
    node.grows_to(200)
    assert node.grows_to(200) == []
    node.learns(100, controller="b")
    assert {each.container_id for each in node.grows_to(200)} == {None, CONTAINER, PAUSE}
    assert node.grows_to(200) == []


def test_a_controller_that_restarted_with_the_agent_is_told_what_has_been_reached(
    node: Node,
) -> None:
    node.grows_to(200)
    node.known = KnownNeeds(AN_EARLIER)
    node.sampler = Sampler(Version.V2, node.sampler.running(), lambda: 1.7e9, node.known)
    assert node.grows_to(200) == []
    node.learns(300, controller="b")
    assert {each.container_id for each in node.grows_to(200)} == {None, CONTAINER, PAUSE}
    assert node.grows_to(200) == []


def test_from_a_known_need_of_0_on_each_rise_is_sent_again(node: Node) -> None:
    node.grows_to(4)
    node.learns(600)
    assert node.grows_to(500) == []
    node.learns(0)
    assert {each.container_id for each in node.grows_to(520)} == {None, CONTAINER}


def test_pods_that_are_gone_are_forgotten() -> None:
    known = KnownNeeds()
    known.learn(Answered(controller="a", known_bytes={"one": MIB, "two": MIB}))
    known.keep_only({"two"})
    low = a_report(pod_uid="one", need_peak_bytes=1, limit_bytes=None)
    assert known.is_news(low)
    assert not known.is_news(a_report(pod_uid="two", need_peak_bytes=1, limit_bytes=None))


def test_what_is_known_comes_with_the_answer() -> None:
    known, outbox = KnownNeeds(), an_outbox("one")

    def post(_: Sequence[PeakReport]) -> Reply:
        answered = Answered(controller="a", known_bytes={"one": 600 * MIB})
        return Reply(Answer.TAKEN, "", answered)

    assert deliver(outbox, outbox.batch(10), post, known.learn)
    assert not known.is_news(a_report(pod_uid="one", need_peak_bytes=MIB, limit_bytes=None))


def test_an_agent_sends_once_a_second_at_most() -> None:
    """Whatever the interval of its readings; the clock of the test is the real one."""
    at_s: list[float] = []
    three = threading.Event()
    outbox = an_outbox()

    def post(_: Sequence[PeakReport]) -> Reply:
        at_s.append(time.monotonic())
        if len(at_s) == 4:
            three.set()
        return Reply(Answer.TAKEN, "")

    sender = Sender(outbox, post, seed=1)
    began_s = time.monotonic()
    sender.start()
    number = 0
    while not three.is_set():
        number += 1
        outbox.offer([a_report(pod_uid=f"pod-{number}")])
        sender.wake()
        three.wait(0.05)
    sender.stop(60.0)
    # After a late one the next keeps its own time, so none is measured from another.
    assert all(at - began_s >= 0.95 * number for number, at in enumerate(at_s[:4]))


def test_a_pace_does_not_hold_back_the_last_reports() -> None:
    taken: list[str] = []

    def post(reports: Sequence[PeakReport]) -> Reply:
        taken.extend(each.pod_uid for each in reports)
        return Reply(Answer.TAKEN, "")

    outbox = an_outbox("a")
    sender = Sender(outbox, post, seed=1)
    sender.start()
    sender.wake()
    until(lambda: taken == ["a"])
    outbox.offer([a_report(pod_uid="b")])
    sender.stop(60.0)
    assert taken == ["a", "b"]


def an_outbox(*uids: str) -> Outbox:
    outbox = Outbox(MIB, 3600.0, time.monotonic)
    outbox.offer([a_report(pod_uid=uid, final=True) for uid in uids])
    return outbox
