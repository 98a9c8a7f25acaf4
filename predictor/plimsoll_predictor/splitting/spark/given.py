"""What a Spark application is given when its driver starts, where its user set nothing.

For time: fewer partitions of a shuffle, as a log of an earlier run taught, and only where adaptive
execution is off. For memory: partitions that are smaller with each step, after executors were
killed. The first step drops what was taught for time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.spark.application import Application, Stage
from plimsoll_predictor.splitting.spark.findings import TimeVerdict, findings_of
from plimsoll_predictor.splitting.spark.settings import (
    ADVISORY,
    DEFAULT_ADVISORY_BYTES,
    DEFAULT_PARTITIONS,
    DEFAULT_SPLIT_BYTES,
    GIVEN,
    PARTITIONS,
    SPLIT,
    Settings,
)

MOST_STEPS: Final = 3
"""After so many, partitions get no smaller, and executors are given more memory as ever."""
LEAST_TAUGHT: Final = 2
MOST_TAUGHT: Final = 100
"""Half of Spark's own number; from there on there is little to gain, and nothing is given."""
_TIMES_SLOTS: Final = 3
"""Partitions for each task at once: the last of them waits for no large one."""
_TAUGHT_BYTES: Final = DEFAULT_ADVISORY_BYTES // 4
"""Of a shuffle in a partition; an input may grow fourfold before it is what Spark aims at."""
_MORE: Final = 2
"""So many times the partitions with each step: adaptive execution cuts no finer than these."""
_SMALLER: Final = 4
"""The advisory size becomes so many times smaller, down to the least that Spark coalesces to."""
_SMALLER_SPLIT: Final = 2


@dataclass(frozen=True, slots=True)
class Given:
    """The properties that a driver is given. step: 0 for time, 1 to ``MOST_STEPS`` for memory."""

    step: int
    properties: Mapping[str, str]


def given_for(taught: int | None, steps: int) -> Given | None:
    """Return what the next driver is given; None for nothing.

    taught: partitions for time; None where nothing was taught. A number that no log teaches is as
    none. steps: how often in turn executors were killed; beyond ``MOST_STEPS`` nothing is given, as
    smaller partitions did not help, or a driver failed with what it was given.

    >>> given_for(8, 0)
    Given(step=0, properties={'spark.sql.shuffle.partitions': '8'})
    >>> given_for(8, 0) == given_for(8, 1), given_for(None, 0)
    (False, None)
    """
    if steps <= 0:
        if taught is None or not LEAST_TAUGHT <= taught <= MOST_TAUGHT:
            return None
        return Given(0, {PARTITIONS: str(taught)})
    if steps > MOST_STEPS:
        return None
    step = steps
    properties = {
        PARTITIONS: str(DEFAULT_PARTITIONS * _MORE**step),
        ADVISORY: f"{DEFAULT_ADVISORY_BYTES // _SMALLER**step // MIB}m",
        SPLIT: f"{DEFAULT_SPLIT_BYTES // _SMALLER_SPLIT**step // MIB}m",
    }
    return Given(step, properties)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a log teaches for the next runs. partitions: None for nothing. why: in words."""

    partitions: int | None
    why: str


def lesson_of(application: Application) -> Lesson:
    """Return how many partitions the next runs had better have, and why.

    Only shuffles count whose number nobody chose: neither the user, nor adaptive execution.
    """
    stages = [each for each in application.stages if each.query and each.shuffle_bytes]
    of_default = [each for each in stages if _is_default(each)]
    why = _why_nothing(application, stages, of_default)
    if why is not None:
        return Lesson(None, why)
    partitions = _enough(of_default, application.slots)
    if partitions > MOST_TAUGHT:
        return Lesson(None, f"{partitions} partitions would do, which is near Spark's own number")
    tasks = max(each.tasks for each in of_default)
    return Lesson(partitions, f"{partitions} partitions do, where the largest shuffle had {tasks}")


def _why_nothing(
    application: Application, stages: Sequence[Stage], of_default: Sequence[Stage]
) -> str | None:
    """Return why a log teaches nothing; None if it may. of_default: stages of nobody's number."""
    reading = application.reading
    why: str | None = None
    if stages and all(each.settings.coalesces for each in stages):
        why = f"nothing to gain: {TimeVerdict.ADAPTIVE.value}"
    elif application.lost.executors:
        why = "executors were killed for memory: larger partitions may be, too"
    elif reading.stages_left_out or not reading.ended:
        why = "the log does not have the whole application"
    elif not of_default and any(_is_set(each.settings) for each in stages):
        why = f"{PARTITIONS} was set by its user, and that is left as it is"
    elif any(each.disk_bytes for each in of_default):
        why = "tasks wrote to disk what did not fit: larger partitions fit less"
    elif not any(each.settings.given.get(GIVEN) for each in of_default):
        # Where it has what was taught before, there is nothing more to gain, and it stays.
        time = findings_of(application).time
        why = None if of_default and time is TimeVerdict.FOUND else f"nothing to gain: {time.value}"
    return why


def _is_set(settings: Settings) -> bool:
    """Say whether the number of partitions is the user's: set, and not as Plimsoll gave it."""
    value = settings.given.get(PARTITIONS)
    return value is not None and settings.given.get(GIVEN) != value


def _is_default(stage: Stage) -> bool:
    settings = stage.settings
    chosen = settings.coalesces or _is_set(settings)
    return not chosen and stage.tasks == settings.partitions


def _enough(stages: Sequence[Stage], slots: int) -> int:
    by_bytes = max(ceil(each.shuffle_bytes / _TAUGHT_BYTES) for each in stages)
    return max(LEAST_TAUGHT, _TIMES_SLOTS * slots, by_bytes)
