"""Says what a Spark application gets when its driver starts, if its user set nothing.

For time: fewer partitions of a shuffle, as the log of an earlier run taught, and only if adaptive
execution is off. For memory: partitions that shrink with each step, after executors were killed.
The first step drops the setting for time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from plimsoll_predictor.core.policy import Replaceable
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
"""After so many steps partitions get no smaller, and executors get more memory as usual."""
LEAST_TAUGHT: Final = 2
MOST_TAUGHT: Final = 1000
"""Only a larger number in the configuration can teach more than half of Spark's own."""
_LEAST_TIMES: Final = 2
"""Nothing is taught if there are fewer than so many times the partitions needed: little to gain."""
_TIMES_SLOTS: Final = 3
"""Partitions for each task at once: the last tasks wait for no large partition."""
_TAUGHT_BYTES: Final = DEFAULT_ADVISORY_BYTES // 4
"""Shuffle bytes per partition; an input may grow fourfold before it reaches Spark's own aim."""
_MORE: Final = 2
"""How many times more partitions each step gives: adaptive execution makes no finer cut."""
_SMALLER: Final = 4
"""How many times each step divides the advisory size, down to Spark's least for coalescing."""
_SMALLER_SPLIT: Final = 2


@dataclass(frozen=True, slots=True)
class Given:
    """The properties that a driver gets. step: 0 for time, 1 to ``MOST_STEPS`` for memory."""

    step: int
    properties: Mapping[str, str]


def given_for(taught: int | None, steps: int) -> Given | None:
    """Return what the next driver gets; None for nothing.

    taught: partitions for time; None if nothing was taught. A number that no log can teach counts
    as None. steps: how often in a row executors were killed; beyond ``MOST_STEPS`` nothing is
    given, since smaller partitions did not help, or a driver failed with what it got.

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


def lesson_of(application: Application, replaces: Collection[Replaceable] = ()) -> Lesson:
    """Return how many partitions the next runs should have, and why.

    A shuffle counts only if nobody chose its number: neither the user nor adaptive execution.
    replaces: properties that count as nobody's, too, if the configuration sets them.
    """
    whose = _Whose(application.settings, replaces)
    stages = [each for each in application.stages if each.by_setting]
    of_nobody = [each for each in stages if whose.is_nobodys(each)]
    why = _why_nothing(application, stages, of_nobody, whose)
    if why is not None:
        return Lesson(None, why)
    partitions = _enough(of_nobody, application.slots)
    tasks = max(each.tasks for each in of_nobody)
    most = MOST_TAUGHT if whose.is_ours else max(tasks, DEFAULT_PARTITIONS) // _LEAST_TIMES
    if partitions > min(most, MOST_TAUGHT):
        there = "Spark's own number" if tasks <= DEFAULT_PARTITIONS else f"the {tasks} there are"
        return Lesson(None, f"{partitions} partitions would do, which is near {there}")
    return Lesson(partitions, f"{partitions} partitions do, where the largest shuffle had {tasks}")


@dataclass(frozen=True, slots=True)
class _Whose:
    """Tells whose the number of partitions is. whole: the settings when the application began."""

    whole: Settings
    replaces: Collection[Replaceable]

    @property
    def is_ours(self) -> bool:
        """Whether the application began with a number that Plimsoll gave."""
        given = self.whole.given.get(GIVEN)
        return given is not None and given == self.whole.given.get(PARTITIONS)

    @property
    def is_overruled(self) -> bool:
        """Whether a number was given but another one applied."""
        return GIVEN in self.whole.given and not self.is_ours

    def is_users(self, settings: Settings) -> bool:
        """Say whether it is the user's: not Spark's own, nor ours, nor one to be replaced.

        The configuration's value is there when the application begins. A value that code sets
        earlier looks the same at first, but it overrides a given number, and then the two differ.
        """
        value = settings.given.get(PARTITIONS)
        if value is None or value == settings.given.get(GIVEN):
            return False
        begun = value == self.whole.given.get(PARTITIONS) and GIVEN not in self.whole.given
        return not (begun and Replaceable.PARTITIONS in self.replaces)

    def is_nobodys(self, stage: Stage) -> bool:
        """Say whether a stage has as many tasks as a number that nobody chose."""
        settings = stage.settings
        chosen = settings.coalesces or self.is_users(settings)
        return not chosen and stage.tasks == settings.partitions


def _why_nothing(
    application: Application,
    stages: Sequence[Stage],
    of_nobody: Sequence[Stage],
    whose: _Whose,
) -> str | None:
    """Return why a log teaches nothing; None if it may. of_nobody: stages with nobody's number."""
    reading = application.reading
    why: str | None = None
    if stages and all(each.settings.coalesces for each in stages):
        why = f"nothing to gain: {TimeVerdict.ADAPTIVE.value}"
    elif application.lost.full_heaps:
        why = "heaps of executors were full: larger partitions fill them, too"
    elif application.lost.executors:
        why = "executors were killed for memory: larger partitions may be, too"
    elif not reading.whole:
        why = "the log does not have the whole application"
    elif not of_nobody and any(whose.is_users(each.settings) for each in stages):
        why = _whose_words(whose)
    elif any(each.disk_bytes for each in of_nobody):
        why = "tasks wrote to disk what did not fit: larger partitions fit less"
    elif not (of_nobody and whose.is_ours):
        # If it has the number taught before, there is nothing more to gain, and that number stays.
        time = findings_of(application).time
        why = None if of_nobody and time is TimeVerdict.FOUND else f"nothing to gain: {time.value}"
    return why


def _whose_words(whose: _Whose) -> str:
    if whose.is_overruled:
        given, held = (whose.whole.given.get(each) for each in (GIVEN, PARTITIONS))
        return f"{PARTITIONS} was {held} and not the {given} that was given: what its user set wins"
    return f"{PARTITIONS} was set by its user, and that is left as it is"


def _enough(stages: Sequence[Stage], slots: int) -> int:
    by_bytes = max(ceil(each.shuffle_bytes / _TAUGHT_BYTES) for each in stages)
    return max(LEAST_TAUGHT, _TIMES_SLOTS * slots, by_bytes)
