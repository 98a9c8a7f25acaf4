"""Whether a task's attempts are measured, from its latest observations. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.profile.facts import Measurement
from plimsoll_predictor.core.record import Observation, Outcome

PEAK_DELAY_S: Final = 30.0
"""A pod's last report comes a little after its end: until then nothing is missed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """found: None before the first success. awaited: whether a report may still come."""

    found: Measurement | None
    awaited: bool = False


def measurement_of(latest: Sequence[Observation], now_s: float) -> Measured:
    """latest: of one task, oldest first. now_s: Unix seconds."""
    succeeded = [each for each in reversed(latest) if each.outcome is Outcome.SUCCEEDED]
    old_enough = [each for each in succeeded if not _awaited(each, now_s)]
    awaited = len(old_enough) < len(succeeded)
    if not old_enough:
        return Measured(None, awaited)
    newest = old_enough[0]
    if newest.peak_source is not None:
        return Measured(Measurement(newest.peak_source), awaited)
    found = next((each for each in old_enough if each.peak_source is not None), None)
    unmeasured = len(old_enough) if found is None else old_enough.index(found)
    measured_s = None if found is None else found.finished_s
    return Measured(Measurement(None, unmeasured, newest.node, measured_s), awaited)


def _awaited(observation: Observation, now_s: float) -> bool:
    ended_s = observation.finished_s
    return (
        observation.peak_source is None and ended_s is not None and now_s - ended_s < PEAK_DELAY_S
    )
