"""Tells admission about nodes, and keeps the same here: so starts are judged by what hints use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.hinting import Neighbourhoods
from plimsoll_predictor.placing.loads import NodeLoad


@dataclass(slots=True)
class ToldNodes:
    """The board, and a copy of what it says about nodes."""

    board: FeedBoard
    here: Neighbourhoods = field(init=False, default_factory=Neighbourhoods)

    def set_pairs(self, costs: Costs | None) -> None:
        """Tell what tasks cost each other on a node; None if that must not be used."""
        self.here.costs = costs
        self.board.set_pairs(costs)

    def set_host(self, host: str, residents: Sequence[tuple[int, int]]) -> None:
        """Tell which tasks run on a node."""
        self.here.put(host, residents)
        self.board.set_host(host, residents)

    def remove_host(self, host: str) -> None:
        """Tell that a node takes no pods any more."""
        self.here.remove(host)
        self.board.set_host(host, None)

    def set_load(self, host: str, load: NodeLoad) -> None:
        """Tell what is left of a node."""
        self.here.put_load(host, load)
        self.board.set_load(host, load)

    def remove_load(self, host: str) -> None:
        """Tell that it is no longer known what is left of a node."""
        self.here.forget_load(host)
        self.board.set_load(host, None)
