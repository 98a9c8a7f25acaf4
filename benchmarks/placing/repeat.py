"""One repeat on two real nodes: learn from nothing, then play the same pods as usual and placed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.placing.arms import Arm
from benchmarks.placing.kinds import ALONE_S, pace_of
from benchmarks.placing.pod_queue import NotHeld, Played, Submissions, played
from plimsoll_predictor.placing.soft_pairing import MOST_EXCESS
from tests.apiserver.controllers import Shop, a_shop
from tests.conftest import Cluster
from tests.e2e.plimsolls import wait_for_admission
from tests.ha.turns.that_holds import a_plimsoll_that_holds

SEED: Final = 16
DRAWS: Final = 2000
ROOM_LEFT: Final = 3
"""Pods at once on four places while learning: a pod that is alone shows what neighbours cost."""
BACKLOG: Final = 20
"""Pods at once after that: four run, one is next, and the order chooses among fifteen."""
LEAST_RUNTIMES: Final = "1"
"""Pods take seconds here, so that there are many runs; on a cluster, only long tasks are
ordered."""
NOT_HERE: Final = ("agent",)
"""Nodes of one machine share its processors: each agent would report all of them, not its own."""

MORE: Final = 40
"""Pods to learn from if the planned ones did not suffice, at most MOST_MORE times."""
MOST_MORE: Final = 2

Repeat = dict[Arm, Played]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is played. commands: what a pod of each kind runs. learn, runs: how many pods of all.

    arms: the usual one, and the other. learned: called with the store's URL after learning.
    most_excess: how much more than with random neighbours the order may slow a kind. parts: each
    arm's queue is played in so many parts, and the arms take turns: A B, then B A. So a machine
    that becomes slower, such as one with busy neighbours, is as slow for both. followed: so many
    pods follow each part, and count for nothing: until a part's end, the order has a choice.
    """

    commands: Mapping[str, str]
    learn: int
    runs: int
    say: Callable[[str], None]
    arms: tuple[Arm, Arm] = (Arm.ORDERED, Arm.USUAL)
    learned: Callable[[str], None] = lambda _: None
    parts: int = 1
    most_excess: float = MOST_EXCESS
    followed: int = 0

    def turns(
        self, number: int, kinds: Sequence[str], followers: Sequence[str] = ()
    ) -> Iterator[tuple[Arm, Submissions]]:
        """Which arm plays which part of one repeat's submissions, and of the pods that follow."""
        for part in range(self.parts):
            for arm in self.arms[:: -1 if (number + part) % 2 else 1]:
                name = f"{arm.name.lower()}-{part}"
                of_part, after = (self._part(each, part) for each in (kinds, followers))
                yield arm, Submissions(name, of_part, self.commands, self.unended, after)

    def _part(self, kinds: Sequence[str], part: int) -> Sequence[str]:
        first, end = (len(kinds) * at // self.parts for at in (part, part + 1))
        return kinds[first:end]

    @property
    def unended(self) -> int:
        """How many pods exist at once while learning; a hint needs a place to choose."""
        return BACKLOG if Arm.ORDERED in self.arms else ROOM_LEFT

    def shuffled(self, runs: int, draw: Random) -> list[str]:
        """So many submissions, equally many of each kind, in a random order."""
        kinds = [kind for kind in self.commands for _ in range(runs // len(self.commands))]
        draw.shuffle(kinds)
        return kinds


async def commands_for(cluster: Cluster, alone_s: float = ALONE_S) -> Mapping[str, str]:
    """The command of each kind that takes so long alone on this machine."""
    async with a_shop(cluster.kubeconfig) as shop:
        return (await pace_of(shop)).commands(alone_s)


async def repeat_of(cluster: Cluster, plan: Plan, number: int) -> Repeat:
    """Learn from nothing, then play the same submissions both ways.

    number: from 0; each repeat draws other submissions, and begins with the other arm.
    AssertionError, NotHeld or TimeoutError if pods fail, are not held, or do not end.
    """
    draw, about = Random(SEED + number), f"repeat {number + 1}"
    first = Submissions("learn", plan.shuffled(plan.learn, draw), plan.commands, ROOM_LEFT)
    then = plan.shuffled(plan.runs, draw)
    followers = draw.choices(list(plan.commands), k=plan.parts * plan.followed)
    with tempfile.TemporaryDirectory(prefix="plimsoll-placing-") as folder:
        async with (
            a_shop(cluster.kubeconfig) as own,
            a_shop(cluster.kubeconfig) as shop,
            a_plimsoll_that_holds(
                *(cluster, own.namespace, Path(folder)),
                without=NOT_HERE,
                PLIMSOLL_ORDER_LEAST_RUNTIMES=LEAST_RUNTIMES,
                PLIMSOLL_ORDER_MOST_EXCESS=str(plan.most_excess),
            ) as whole,
        ):
            wait_for_admission(cluster)
            plan.say(f"{about}, learned from: {in_words(await played(shop, Arm.HINTED, first))}")
            plan.learned(whole.store_url)
            found: Repeat = {}
            for arm, submitted in plan.turns(number, then, followers):
                done = await _played(shop, arm, submitted, plan, draw)
                plan.say(f"{about}, {arm.value}: {in_words(done)}")
                found[arm] = found[arm].and_then(done) if arm in found else done
            return found


async def _played(shop: Shop, arm: Arm, submitted: Submissions, plan: Plan, draw: Random) -> Played:
    """Play a queue. While too little is known for an order, learn from some more pods."""
    for more in range(MOST_MORE):
        try:
            return await played(shop, arm, submitted)
        except NotHeld as error:
            plan.say(f"{error}. Learning from {MORE} more")
            others = plan.shuffled(MORE, draw)
            further = Submissions(f"learn-more-{more}", others, plan.commands, ROOM_LEFT)
            plan.say(in_words(await played(shop, Arm.HINTED, further)))
    return await played(shop, arm, submitted)


def in_words(done: Played) -> str:
    """A played queue in one line."""
    return (
        f"{len(done.runs)} runs of {done.mean_s:.2f} s, {done.held} held and let go, "
        f"{done.makespan_s:.0f} s in all, places in use for {done.used:.0%}, "
        f"the longest wait {done.longest_wait_s:.0f} s"
    )


def compared(repeats: Sequence[Repeat]) -> tuple[float, float, float]:
    """How much shorter the mean runtime is as placed, and its 95% interval by paired bootstrap."""
    pairs = [
        (usual.took_s, placed.took_s)
        for arms in repeats
        for arm in arms
        if arm is not Arm.USUAL
        for usual, placed in zip(arms[Arm.USUAL].runs, arms[arm].runs, strict=True)
    ]
    draw = Random(SEED)
    drawn = sorted(_ratio(draw.choices(pairs, k=len(pairs))) for _ in range(DRAWS))
    return _ratio(pairs), drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS) - 1]


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(placed for _, placed in pairs) / sum(usual for usual, _ in pairs) - 1.0
