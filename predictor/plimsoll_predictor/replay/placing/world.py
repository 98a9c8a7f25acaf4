"""A world of kinds: how long each runs alone, and how much longer beside each other."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plimsoll_predictor.placing.matrix import Array


@dataclass(frozen=True, slots=True)
class World:
    """The truth.

    work: a job's runtime alone; the mean is 1. slowdowns: of the row's kind beside the column's.
    """

    name: str
    kinds: tuple[str, ...]
    work: Array
    slowdowns: Array


@dataclass(frozen=True, slots=True)
class Job:
    """One job: its kind's number, and when it comes, in runtimes of a mean job."""

    kind: int
    comes_at: float = 0.0


def read_world(path: Path) -> World:
    """Read a co-location matrix: ``kind, solo_s``, then one column per kind, in the rows' order.

    Raises ValueError with the line's number and what is wrong with it.
    """
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    if not rows or rows[0][:2] != ["kind", "solo_s"]:
        message = f"{path.name}: its first line has to begin with kind,solo_s"
        raise ValueError(message)
    kinds = tuple(rows[0][2:])
    if tuple(row[0] for row in rows[1:] if row) != kinds:
        message = f"{path.name}: its lines have to be of the kinds of its columns, in their order"
        raise ValueError(message)
    cells = [list(_numbers(path, number, row)) for number, row in enumerate(rows[1:], start=2)]
    table = np.array([row for row in cells if row])
    work = table[:, 0] / table[:, 0].mean()
    return World(path.name.removesuffix(".csv"), kinds, work, table[:, 1:])


def _numbers(path: Path, line: int, row: Sequence[str]) -> Iterator[float]:
    for cell in row[1:]:
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            message = f"{path.name}, line {line}: {cell!r} is not a number above zero"
            raise ValueError(message)
        yield value


def synthetic_world(seed: int, kinds: int = 20, rank: int = 3) -> World:
    """Draw a world in which kinds use ``rank`` resources, and slow each other by those both use."""
    draw = np.random.default_rng(seed)
    uses = draw.gamma(0.5, 1.0, (kinds, rank))
    suffers = draw.gamma(0.5, 1.0, (kinds, rank))
    theta = suffers @ uses.T
    theta *= 0.35 / theta.mean()
    work = draw.lognormal(0.0, 0.5, kinds)
    names = tuple(f"kind-{number}" for number in range(kinds))
    return World(f"synthetic-{seed}", names, work / work.mean(), np.exp(np.minimum(theta, 1.5)))
