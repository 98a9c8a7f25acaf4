"""What an order of a backlog gains by knowing the jobs to come: a measure for one that does not.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.placing.foresight MATRIX
        [--seeds 10] [--starts 80]

It finds the next job by trying. Each kind in the window starts in a copy of the queue, and then
some of the jobs that really come (--starts), in Plimsoll's order. It takes the kind whose pairs
lose least against the best mix. It has the same window and overtakes as seldom, but it knows the
matrix, all jobs to come and what is left of each run. It is no bound, but hard to beat: looking
further ahead, or at jobs that were drawn, gained nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapreplace
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.placing.plays import BACKLOG_NODES, FAIR, LEARNS_FROM, USUAL, best_pairs
from plimsoll_predictor.placing.chance import random_slowdowns
from plimsoll_predictor.placing.pairing import best_pairing
from plimsoll_predictor.placing.policies.catalogue import POLICIES
from plimsoll_predictor.placing.queueing import AGE, MOST_OVERTAKEN, WINDOW
from plimsoll_predictor.placing.soft_pairing import fair_regret
from plimsoll_predictor.replay.placing.knowing import Truth
from plimsoll_predictor.replay.placing.playing import Chooser, Stage, play
from plimsoll_predictor.replay.placing.world import Job, World, read_world

JOBS: Final = 2000
NOBODY: Final = -1

Rows = list[list[float]]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for all jobs, by kinds.

    slow: of the row's kind beside the column's. work: a job's runtime alone. waste: ranks jobs in
    Plimsoll's order. loss: an hour of a pair, over what it is worth; to be minimised.
    """

    slow: Rows
    work: list[float]
    waste: Rows
    loss: Rows


@dataclass(slots=True)
class Backlog:
    """kinds: of all jobs. runs: (when the next one ends, node, the one left, its work left)."""

    rules: Rules
    kinds: Sequence[int]
    runs: list[tuple[float, int, int, float]]
    window: list[int]
    overtaken: list[int]
    coming: int = WINDOW
    most_overtaken: int = 0

    def copy(self) -> Backlog:
        """Return a copy that can go on by itself."""
        mine = (list(self.runs), list(self.window), list(self.overtaken))
        return Backlog(self.rules, self.kinds, *mine, self.coming)

    def is_empty_node_next(self) -> bool:
        """Say whether the next place is on an empty node."""
        return self.runs[0][2] == NOBODY or self.runs[0][3] <= 1e-12

    def usual(self) -> int:
        """Return the position of the job that Plimsoll's order takes, without weights of kinds."""
        beside = self.rules.waste[self.runs[0][2]]
        best, least = 0, float("inf")
        for position, (kind, times) in enumerate(zip(self.window, self.overtaken, strict=True)):
            if times >= MOST_OVERTAKEN:
                return position
            score = beside[kind] - AGE * times
            if score < least:
                best, least = position, score
        return best

    def start(self, position: int) -> tuple[int, int, float]:
        """Start a job. Return the pairs side by side, and how long until one of them ends."""
        kind = self.window.pop(position)
        self.overtaken.pop(position)
        for earlier in range(position):
            self.overtaken[earlier] += 1
            self.most_overtaken = max(self.most_overtaken, self.overtaken[earlier])
        if self.coming < len(self.kinds):
            self.window.append(self.kinds[self.coming])
            self.overtaken.append(0)
            self.coming += 1
        now, node, other, left = self.runs[0]
        slow, work = self.rules.slow, self.rules.work[kind]
        if self.is_empty_node_next():
            heapreplace(self.runs, (now, node, kind, work))
            return kind, NOBODY, 0.0
        others, own = left * slow[other][kind], work * slow[kind][other]
        together = min(others, own)
        if others < own:
            after = (now + others, node, kind, work - others / slow[kind][other])
        else:
            after = (now + own, node, other, left - own / slow[other][kind])
        heapreplace(self.runs, after)
        return kind, other, together

    def loses(self, position: int, starts: int) -> float:
        """Return the loss of the pairs of so many starts if this job is the first of them."""
        lost = 0.0
        for _ in range(starts):
            if not self.window:
                break
            if self.is_empty_node_next():
                position = 0
            kind, other, together = self.start(position)
            lost += self.rules.loss[other][kind] * together if other != NOBODY else 0.0
            position = self.usual() if self.window and not self.is_empty_node_next() else 0
        return lost

    def foreseen(self, starts: int) -> int:
        """Return the position of the job after which the next starts lose least."""
        first: dict[int, int] = {}
        for position, kind in enumerate(self.window):
            if self.overtaken[position] >= MOST_OVERTAKEN:
                return position
            first.setdefault(kind, position)
        return min(first.values(), key=lambda each: self.copy().loses(each, starts))


@dataclass(slots=True)
class Found:
    """Sums over jobs, by kind: of slowdowns, and how many."""

    slowdowns: np.ndarray
    jobs: np.ndarray
    most_overtaken: int = field(default=0)


def ordered(rules: Rules, kinds: Sequence[int], starts: int) -> Found:
    """Play a backlog. starts: how far to look; with 0 it is Plimsoll's order without weights."""
    runs = [(0.0, node, NOBODY, 0.0) for node in range(BACKLOG_NODES)]
    queue = Backlog(rules, kinds, runs, list(kinds[:WINDOW]), [0] * len(kinds[:WINDOW]))
    found = Found(np.zeros(len(rules.work)), np.bincount(kinds, minlength=len(rules.work)))
    while queue.window:
        position = 0
        if not queue.is_empty_node_next():
            position = queue.foreseen(starts) if starts else queue.usual()
        kind, other, together = queue.start(position)
        found.slowdowns[kind] += together / rules.work[kind]
        if other != NOBODY:
            found.slowdowns[other] += together / rules.work[other]
    for _, _, kind, left in queue.runs:
        if kind != NOBODY:
            found.slowdowns[kind] += left / rules.work[kind]
    found.most_overtaken = queue.most_overtaken
    return found


def _rules(world: World, shares: np.ndarray, *, fair: bool) -> Rules:
    most = FAIR * random_slowdowns(world.slowdowns, shares, world.work) if fair else None
    loss = best_pairing(world.slowdowns, shares, world.work, most).regret
    waste = fair_regret(world.slowdowns, shares, world.work)
    return Rules(world.slowdowns.tolist(), world.work.tolist(), waste.tolist(), loss.tolist())


def _jobs(size: int, seed: int) -> list[int]:
    """The jobs of benchmarks.placing.simulation."""
    draw = random.Random(seed)
    return [draw.randrange(size) for _ in range(LEARNS_FROM + JOBS)][LEARNS_FROM:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.placing.foresight", description=__doc__)
    parser.add_argument("matrix", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--starts", type=int, default=80, help="how far to look ahead")
    given = parser.parse_args(arguments)
    world = read_world(given.matrix)
    size = len(world.kinds)
    shares, of_pairs = np.full(size, 1 / size), best_pairs(world.slowdowns) - 1
    usual, by_kind = [], np.zeros((2, size))
    for seed in range(given.seeds):
        kinds = _jobs(size, seed)
        chooser = Chooser(POLICIES[USUAL](), Truth(world, shares))
        slowdowns = play(world, [Job(k) for k in kinds], chooser, Stage(BACKLOG_NODES), seed)
        usual.append(float(slowdowns.slowdowns.mean()))
        by_kind += [np.bincount(kinds, slowdowns.slowdowns, size), np.bincount(kinds)]
    for words, fair, starts in (
        ("Plimsoll's order, without weights of kinds", True, 0),
        (f"who knows the next {given.starts} starts", False, given.starts),
        ("the same, by what a fair mix loses", True, given.starts),
    ):
        rules = _rules(world, shares, fair=fair)
        found = [ordered(rules, _jobs(size, seed), starts) for seed in range(given.seeds)]
        gain = fmean(
            float(each.slowdowns.sum()) / JOBS / before - 1
            for each, before in zip(found, usual, strict=True)
        )
        slowed = sum(each.slowdowns for each in found) / sum(each.jobs for each in found)
        worst = float((slowed / (by_kind[0] / by_kind[1])).max() - 1)
        most = max(each.most_overtaken for each in found)
        print(
            f"{words}: {100 * gain:.2f}%, {gain / of_pairs:.3f} of the best pairs' gain, worst "
            f"kind {100 * worst:+.1f}%, overtaken {most} times at most",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
