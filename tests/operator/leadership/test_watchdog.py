"""A leader that could not renew ends by itself, even if all else hangs."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import time

import pytest

from plimsoll_operator.leadership.store_probe import FRESH_S, LEAVES_AFTER_S, StoreProbe
from plimsoll_operator.leadership.watchdog import LOST, Watchdog
from plimsoll_predictor.store.database.errors import StoreError

HANGS = """
import time
from plimsoll_operator.leadership.watchdog import Watchdog, boot_clock_s
watchdog = Watchdog(0.3)
watchdog.renewed(boot_clock_s())
time.sleep(600)
"""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def a_watchdog(clock: Clock) -> tuple[Watchdog, queue.SimpleQueue[str]]:
    ends: queue.SimpleQueue[str] = queue.SimpleQueue()
    return Watchdog(6.0, clock, ends.put), ends


@pytest.mark.slow
def test_a_process_that_hangs_is_ended_with_a_line_that_says_why() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", HANGS],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == LOST
    assert re.search(r"the lease was not renewed for \d+\.\d s", done.stderr)


@pytest.mark.slow
def test_the_last_line_can_be_read_whatever_the_reason_holds() -> None:
    ends = "from plimsoll_operator.leadership.watchdog import end_process; end_process('\"a\"\\n')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", ends], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == LOST
    assert json.loads(done.stderr)["why"] == '"a"\n'


@pytest.mark.slow
def test_a_leader_that_renews_goes_on_and_one_that_does_not_is_ended() -> None:
    clock = Clock()
    watchdog, ends = a_watchdog(clock)
    watchdog.renewed(clock())
    clock.now_s += 5.9
    watchdog.renewed(clock())
    clock.now_s += 5.9
    with pytest.raises(queue.Empty):
        ends.get(timeout=0.5)
    clock.now_s += 0.2
    assert "not renewed for 6.1 s" in ends.get(timeout=180)


@pytest.mark.slow
def test_a_lead_that_was_given_back_is_watched_no_longer() -> None:
    clock = Clock()
    watchdog, ends = a_watchdog(clock)
    watchdog.renewed(clock())
    watchdog.stop()
    clock.now_s += 60
    with pytest.raises(queue.Empty):
        ends.get(timeout=0.5)


def test_a_store_that_never_answered_is_not_competed_for_and_says_why() -> None:
    clock = Clock()

    def ask() -> None:
        raise StoreError("store X does not answer")

    probe = StoreProbe(ask, clock)
    assert probe.asked.wait(10)
    assert probe.unfit_to_compete() == "store X does not answer"
    assert probe.would_hand_over() is None
    clock.now_s += LEAVES_AFTER_S
    assert probe.would_hand_over() == "store X does not answer"
    probe.close()


def test_a_store_that_hangs_is_first_not_competed_for_and_then_left_to_who_reaches_it() -> None:
    clock = Clock()
    hangs: queue.SimpleQueue[None] = queue.SimpleQueue()
    hangs.put(None)  # the first answer comes, the second never
    probe = StoreProbe(hangs.get, clock)
    assert probe.asked.wait(10)
    assert probe.unfit_to_compete() is None
    deadline_s = time.monotonic() + 30
    while not hangs.empty() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    clock.now_s += FRESH_S + 0.1
    assert probe.unfit_to_compete() == "the store does not answer"
    assert probe.would_hand_over() is None
    clock.now_s += LEAVES_AFTER_S - FRESH_S
    assert probe.would_hand_over() == "the store does not answer"
    assert probe.unfit_to_lead() is None
    probe.close()
    hangs.put(None)
