"""The policies that can be replayed, by name, and the knob of each between waste and failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.replay.growth import LATE, LINEAR
from plimsoll_predictor.replay.sizes.baselines import BASELINES, Preset
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.sizer import Knobs, Sizer, SizerMaker
from plimsoll_predictor.replay.sizes.trained import TrainedSizer

ALL: Final = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPolicy:
    """A policy in a replay. make: a fresh sizer for each trace.

    knob: its strictness in words; empty if it has none. strictnesses: of its frontier, ascending.
    """

    name: str
    make: SizerMaker
    knob: str = ""
    strictnesses: tuple[float, ...] = ()


_MARGINS: Final = (0.9, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0)


_BASELINES: Final = [
    ReplayPolicy(name=name, make=maker)
    if maker is Preset
    else ReplayPolicy(name=name, make=maker, knob="margin", strictnesses=_MARGINS)
    for name, maker in BASELINES.items()
]


def _plimsoll(knobs: Knobs) -> Sizer:
    return ProductSizer(knobs) if knobs.trainings is None else TrainedSizer(knobs)


PLIMSOLL: Final = ReplayPolicy(
    name="plimsoll",
    make=_plimsoll,
    knob="overhead seconds",
    strictnesses=(0.0, 300.0, 1200.0, 2400.0, 9600.0),
)
LIVE: Final = ReplayPolicy(
    name="plimsoll-live",
    make=lambda knobs: _plimsoll(replace(knobs, growth=LINEAR)),
)
"""With live bounds; every run grows to its peak over the first half of its runtime."""
LIVE_LATE: Final = ReplayPolicy(
    name="plimsoll-live-late",
    make=lambda knobs: _plimsoll(replace(knobs, growth=LATE)),
)
"""With live bounds; every run takes all its memory in the last twentieth of its runtime."""
POLICIES: Final[Mapping[str, ReplayPolicy]] = MappingProxyType(
    {policy.name: policy for policy in (PLIMSOLL, LIVE, *_BASELINES)}
)
"""In the order they are shown; ``all`` means these."""
NAMED: Final[Mapping[str, ReplayPolicy]] = MappingProxyType({**POLICIES, LIVE_LATE.name: LIVE_LATE})
"""All of those, and the ones that are played only on request."""


class NoSuchPolicy(ValueError):
    """An unknown policy was asked for; the message lists the known ones."""


def policies_named(names: tuple[str, ...]) -> tuple[ReplayPolicy, ...]:
    """The policies asked for, each once, in the order they are shown.

    Raises:
        NoSuchPolicy: if a name is unknown.
    """
    for name in names:
        if name != ALL and name not in NAMED:
            raise NoSuchPolicy(
                f"there is no policy {name[:40]!r}; choose of {', '.join(NAMED)} and {ALL}"
            )
    return tuple(
        policy
        for name, policy in NAMED.items()
        if name in names or (ALL in names and name in POLICIES)
    )
