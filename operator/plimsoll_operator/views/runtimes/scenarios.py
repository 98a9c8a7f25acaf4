"""Reads scenarios of a what-if as people write them, in options or a form's fields. Pure."""

from __future__ import annotations

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.tables.cells import MOST_BYTES


class BadScenario(ValueError):
    """The text is no scenario; the message says what to write."""


def scenario_of(
    *, node_type: str | None, memory: str | None, limit_equal: bool, even_load: bool
) -> Scenario:
    """The scenario of these conditions. memory: a quantity such as 4Gi.

    Raises:
        BadScenario: names what cannot be.
    """
    memory_bytes: int | None = None
    if memory is not None:
        no_size = f"memory {memory[:40]!r} is no size; write 4Gi or 512Mi"
        try:
            memory_bytes = parse_bytes(memory)
        except ValueError as error:
            raise BadScenario(no_size) from error
        # A number without a unit is bytes: nobody means 4 of them.
        if memory_bytes and not MIB <= memory_bytes <= MOST_BYTES:
            raise BadScenario(no_size)
    try:
        return Scenario(
            node_type=node_type,
            limit_equal=limit_equal,
            even_load=even_load,
            memory_bytes=memory_bytes,
        )
    except ValueError as error:
        raise BadScenario(str(error)) from error
