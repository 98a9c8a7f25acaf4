"""The webhook's one safety rule: whatever fails in a decision does not keep the object out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from plimsoll_operator.metrics.quiet_log import QuietLog, place_of


class Logs(Protocol):
    """An object that has a log for what failed."""

    @property
    def log(self) -> QuietLog:
        """A log that a storm of bad requests cannot flood."""
        ...


S = TypeVar("S", bound=Logs)
First = TypeVar("First")
Second = TypeVar("Second")
A = TypeVar("A")
F = TypeVar("F")


def or_else(
    event: str, failed: Callable[[Any], F]
) -> Callable[[Callable[[S, First, Second], A]], Callable[[S, First, Second], A | F]]:
    """Have a method return what ``failed`` makes of its first argument if it raises anything.

    event: the word for it in the log. The error's own text is left out: it may quote the object,
    and objects carry secrets. Each new pod passes several guards, so that one adds a plain call
    and nothing more.
    """

    def guard(decide: Callable[[S, First, Second], A]) -> Callable[[S, First, Second], A | F]:
        @wraps(decide)
        def guarded(self: S, first: First, second: Second) -> A | F:
            try:
                return decide(self, first, second)
            except Exception as error:  # whatever it is
                self.log.warning(event, "error", error=place_of(error))
                return failed(first)

        return guarded

    return guard
