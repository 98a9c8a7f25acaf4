"""Reads a reader's what-if conditions from the address of a task's page. Pure.

An address is text from outside: it is cut, and the page says which parts make no sense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.views.runtimes.scenarios import scenario_of
from plimsoll_predictor.runtimes.what_if.scenario import MOST_NODE_TYPE_CHARACTERS, Scenario

MOST_SIZE: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfQuery:
    """The form's fields as they were sent; empty ones set no condition."""

    node_type: str = ""
    memory: str = ""
    limit_equal: bool = False
    even_load: bool = False

    @property
    def asked(self) -> bool:
        """Whether any condition is set."""
        return bool(self.node_type or self.memory or self.limit_equal or self.even_load)

    def scenario(self) -> Scenario:
        """The scenario of the fields; BadScenario if they make none."""
        return scenario_of(
            node_type=self.node_type or None,
            memory=self.memory or None,
            limit_equal=self.limit_equal,
            even_load=self.even_load,
        )


def what_if_query_of(given: Mapping[str, str]) -> WhatIfQuery:
    """The fields from an address' parameters."""
    return WhatIfQuery(
        node_type=given.get("node-type", "").strip()[:MOST_NODE_TYPE_CHARACTERS],
        memory=given.get("memory", "").strip()[:MOST_SIZE],
        limit_equal=given.get("limit") == "equal",
        even_load=given.get("load") == "even",
    )
