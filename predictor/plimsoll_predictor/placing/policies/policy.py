"""The interface of policies, and their common input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from plimsoll_predictor.placing.matrix import Array

Residents = tuple[int, ...]
"""Kinds of the tasks on a node, by their places; each kind as often as it is there."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits: its kind's place, and how many later jobs have started before it."""

    kind: int
    overtaken: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the jobs goes to which of the nodes, by their positions."""

    job: int
    node: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a policy may know of kinds.

    slowdowns: of the row's kind beside the column's. shares: of jobs. work: a job's runtime alone.
    """

    slowdowns: Array
    shares: Array
    work: Array


class Policy(Protocol):
    """Chooses. It keeps what it has learned from ends, and no clock."""

    def learn(self, outlook: Outlook) -> None:
        """Take over what is known now."""

    def order(self, window: Sequence[Waiting], nodes: Sequence[Residents]) -> Choice:
        """Choose among the first jobs of a queue; each has room on each of these nodes."""

    def node(self, kind: int, nodes: Sequence[Residents]) -> int:
        """Choose a node for one job that starts now."""

    def ended(self, kind: int, beside: Residents, slowdown: float) -> None:
        """Take in a run that ended. beside: the tasks beside it at its start."""
