"""The methods that a log can be replayed with, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.replay.runtimes.baselines import NEWEST, OwnHistory, RequestedTime
from plimsoll_predictor.replay.runtimes.method import Method
from plimsoll_predictor.replay.runtimes.product import Product
from plimsoll_predictor.replay.runtimes.shapes_method import PaperShapes


class NoSuchMethod(LookupError):
    """No method has that name; the sentence says which there are."""


@dataclass(frozen=True, slots=True)
class MethodKind:
    """A method that can be made as often as logs are replayed.

    make: called with the number of runs in the log, of which the last half is the test.
    """

    name: str
    words: str
    make: Callable[[int], Method]


OWN: Final = "plimsoll"
ALL: Final = "all"
METHODS: Final[Mapping[str, MethodKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            MethodKind(OWN, "the forecaster that serves", lambda _: Product()),
            MethodKind("own-history", "the task's newest 2,000 runs", lambda _: OwnHistory()),
            MethodKind("last-20", "the task's newest 20", lambda _: OwnHistory(NEWEST)),
            MethodKind("requested-time", "the request, as used so far", lambda _: RequestedTime()),
            MethodKind("shapes-8", "the paper's 8 shapes, scaled", PaperShapes),
        )
    }
)


def methods_named(names: Sequence[str]) -> list[MethodKind]:
    """The methods of these names, each once, in the order of METHODS; "all" is all.

    Raises NoSuchMethod for an unknown name.
    """
    for name in names:
        if name not in METHODS and name != ALL:
            raise NoSuchMethod(
                f"there is no method {name[:60]!r} of forecasting; choose of"
                f" {', '.join(METHODS)}, or {ALL}"
            )
    return [kind for name, kind in METHODS.items() if ALL in names or name in names]
