"""What an agent raises itself, reports, and leaves to the controller."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from plimsoll_operator.agent.alarm_sender import AlarmSender
from plimsoll_operator.agent.own_raises import RENEW_S, OwnRaises, handled
from plimsoll_operator.attempts.alarms import ALARMS_PATH
from plimsoll_operator.attempts.grants import GRANTS_PATH
from plimsoll_predictor.core.documents import to_document
from tests.builders.agent.alarms import an_alarm
from tests.builders.agent.grants import a_grant

WITHIN_S = 30.0
RESIZE = "/api/v1/namespaces/shop/pods/train-1/resize"


@dataclass(slots=True)
class Wires:
    """A controller and an API server that answer by rule, with a clock that tests set."""

    now_s: float = 0.0
    grants: int = 200
    taken: int = 200
    away: bool = False
    denies: bool = False
    """Grant nothing any more."""
    said: list[tuple[str, Any]] = field(default_factory=list)
    raises: list[tuple[str, Any]] = field(default_factory=list)

    def send(self, path: str, body: Any) -> tuple[int, str]:
        if self.away:
            raise OSError("no route")
        self.said.append((path, body))
        if path == ALARMS_PATH:
            return 200, "{}"
        pods = [] if self.denies else body["pods"]
        grants = [to_document(a_grant(uid.removeprefix("uid-"))) for uid in pods]
        return self.grants, json.dumps({"grants": grants})

    def resize(self, path: str, body: Any) -> tuple[int, str]:
        self.raises.append((path, body))
        if self.taken == 0:
            raise TimeoutError("late")
        return self.taken, "no"

    def own(self) -> OwnRaises:
        return OwnRaises("node-1", self.send, self.resize, lambda: self.now_s)

    @property
    def told(self) -> list[int]:
        """How many raises each request reports."""
        return [len(body["raised"]) for path, body in self.said if path == GRANTS_PATH]


def test_what_is_granted_is_patched_with_nothing_read_and_told_at_once() -> None:
    wires = Wires()
    own = wires.own()
    own.renew(["uid-train-1"])
    assert own.spend(an_alarm(), 4096)
    ((path, body),) = wires.raises
    assert path == RESIZE
    memory = {"requests": {"memory": "101Mi"}, "limits": {"memory": "165Mi"}}
    assert body == {
        "metadata": {"uid": "uid-train-1"},
        "spec": {"containers": [{"name": "main", "resources": memory}]},
    }
    assert own.has_untold
    own.renew(["uid-train-1"])
    assert (own.has_untold, wires.told) == (False, [0, 1])
    (raised,) = wires.said[-1][1]["raised"]
    assert (raised["alarm"]["pod_uid"], raised["raises"]) == ("uid-train-1", 1)
    # The answer has granted the next one.
    assert own.spend(an_alarm(), 4096)


def test_grants_are_asked_for_while_pods_rise_and_not_with_each_reading() -> None:
    wires = Wires()
    own = wires.own()
    own.renew([])
    assert wires.told == []
    for _ in range(3):
        own.renew(["uid-train-1"])
    assert wires.told == [0]
    own.renew(["uid-train-1", "uid-train-2"])
    assert wires.told == [0, 0]
    wires.now_s += RENEW_S
    own.renew(["uid-train-1"])
    assert wires.told == [0, 0, 0]


@pytest.mark.parametrize("taken", [0, 403, 404, 409, 422, 500])
def test_a_raise_that_is_not_taken_is_left_to_the_controller(taken: int) -> None:
    wires = Wires(taken=taken)
    own = wires.own()
    own.renew(["uid-train-1"])
    assert not own.spend(an_alarm(), 4096)
    assert not own.has_untold
    assert own.results["refused" if taken in (403, 422) else "failed"] == 1


def test_what_cannot_be_told_now_is_told_later_with_all_else() -> None:
    wires = Wires()
    own = wires.own()
    own.renew(["uid-train-1", "uid-train-2"])
    wires.away = True
    for name in ("train-1", "train-2"):
        assert own.spend(an_alarm(name), 4096)
        own.renew([])
        assert own.has_untold
    wires.away = False
    own.renew([])
    assert (own.has_untold, wires.told) == (False, [0, 2])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((404, ""), id="an older controller"),
        pytest.param((200, "no JSON"), id="no JSON"),
        pytest.param((200, '{"grants": [{}]}'), id="no grants"),
        pytest.param((200, '{"grants": [{"name": "../x"}]}'), id="no name"),
        pytest.param((503, "no"), id="one that does not lead"),
    ],
)
def test_nothing_is_granted_by(answer: tuple[int, str]) -> None:
    wires = Wires()
    own = OwnRaises("node-1", lambda *_: answer, wires.resize, lambda: 0.0)
    own.renew(["uid-train-1"])
    assert not own.spend(an_alarm(), 4096)
    assert wires.raises == []


def paths(wires: Wires, names: Sequence[str], *, taken: bool = True) -> list[str]:
    """The alarm sender's paths for these pods' alarms, where the first pod has a grant."""
    raised: list[str] = []
    own = wires.own()
    own.renew(["uid-train-1"])
    wires.away = not taken
    sender = AlarmSender(
        "node-1", wires.send, lambda: 4096, lambda uids, _: raised.extend(uids), own
    )
    sender.want(["uid-train-1"])
    sender.offer([an_alarm(name) for name in names])
    sender.start()
    sender.stop(WITHIN_S)
    assert "uid-train-1" in raised
    return [path for path, _ in wires.said]


def test_the_controller_hears_what_was_raised_before_it_decides_the_rest() -> None:
    wires = Wires()
    said = paths(wires, ["train-1", "train-2"])
    assert said[:3] == [GRANTS_PATH, GRANTS_PATH, ALARMS_PATH]
    assert wires.told[:2] == [0, 1]
    assert [each["pod_uid"] for each in wires.said[2][1]["alarms"]] == ["uid-train-2"]


def test_what_was_granted_before_the_controller_decided_is_used_no_more() -> None:
    wires = Wires()
    own = wires.own()
    own.renew(["uid-train-1"])
    sender = AlarmSender("node-1", wires.send, lambda: 4096, own=own)
    sender.offer([an_alarm("train-2")])
    sender.start()
    sender.stop(WITHIN_S)
    assert ALARMS_PATH in [path for path, _ in wires.said]
    assert not own.spend(an_alarm(), 4096)


def test_a_node_whose_use_cannot_be_read_leaves_alarms_to_the_controller() -> None:
    def gone() -> int:
        raise FileNotFoundError("kubepods")

    own = Wires().own()
    own.renew(["uid-train-1"])
    assert handled(own, [an_alarm()], gone) == ([], [an_alarm()])


def test_nothing_is_decided_while_a_raise_is_not_told() -> None:
    assert paths(Wires(), ["train-1", "train-2"], taken=False) == [GRANTS_PATH]


def test_an_answer_without_grants_takes_them_back() -> None:
    wires = Wires()
    own = wires.own()
    own.renew(["uid-train-1"])
    wires.now_s += RENEW_S
    wires.denies = True
    own.renew(["uid-train-1"])
    assert not own.spend(an_alarm(), 4096)
