"""Alarms are sent at once, and never kept."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from plimsoll_operator.agent.alarm_sender import MOST_QUEUED, AlarmSender
from plimsoll_operator.attempts.alarms import ALARMS_PATH
from tests.builders.agent.alarms import an_alarm

WITHIN_S = 30.0


@dataclass(slots=True)
class Wire:
    """Takes bodies, and answers by rule."""

    status: int = 204
    error: Exception | None = None
    bodies: list[tuple[str, Any]] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)

    def send(self, path: str, body: Any) -> tuple[int, str]:
        self.held.wait(WITHIN_S)
        self.bodies.append((path, body))
        if self.error is not None:
            raise self.error
        return self.status, "no"


def sent(wire: Wire, count: int) -> AlarmSender:
    sender = AlarmSender("node-1", wire.send, lambda: 4096)
    sender.offer([an_alarm(f"train-{n}") for n in range(count)])
    sender.start()
    wire.held.set()
    sender.stop(WITHIN_S)
    return sender


def test_an_alarm_is_sent_with_its_node_and_what_all_pods_use() -> None:
    wire = Wire()
    sender = sent(wire, 1)
    ((path, body),) = wire.bodies
    assert path == ALARMS_PATH
    assert (body["node"], body["pods_used_bytes"]) == ("node-1", 4096)
    assert [each["pod_uid"] for each in body["alarms"]] == ["uid-train-0"]
    assert (sender.sent, sender.failed) == (1, 0)


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(Wire(status=404), id="an older controller"),
        pytest.param(Wire(status=503), id="a controller that does not lead"),
        pytest.param(Wire(error=OSError("refused")), id="no controller"),
    ],
)
def test_an_alarm_that_is_not_taken_is_not_kept(wire: Wire) -> None:
    sender = sent(wire, 1)
    assert len(wire.bodies) == 1
    assert (sender.sent, sender.failed) == (0, 1)


def test_alarms_that_wait_go_together_and_their_number_is_bounded() -> None:
    wire = Wire()
    sender = sent(wire, MOST_QUEUED + 50)
    assert len(wire.bodies) <= 5
    assert sender.failed >= 49
    assert sender.sent + sender.failed == MOST_QUEUED + 50
