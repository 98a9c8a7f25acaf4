"""Standings that really learned, and stores that hold them."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll_operator.profile.standing_facts import StandingFacts, standing_facts
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.store import Store
from tests.builders.reports import TASK

REQUEST_BYTES = 4 * GIB
NEEDS_MIB = tuple(300 + 7 * (place * 5 % 13) for place in range(40))
"""Forty runs of one level."""
SHIFTED_MIB = tuple(6000 + 50 * place for place in range(20)) + tuple(
    2200 + 10 * place for place in range(9)
)
"""Twenty runs of one level, nine of another; the eighth of those shows the change."""


def a_run(need_mib: float, image: str = "") -> Ended:
    """A run of ten minutes that asked for 4Gi."""
    run = EndedRun(need_bytes=need_mib * MIB, runtime_s=600.0, request_bytes=REQUEST_BYTES)
    return Ended(run=run, features={}, bids=None, version=image, overhead_s=2400.0)


def a_fleet(needs_mib: Sequence[float] = NEEDS_MIB, task: TaskId = TASK) -> TaskStandings:
    """A fleet with one task, whose runs needed that."""
    fleet = TaskStandings()
    for need_mib in needs_mib:
        fleet.learn(str(task), a_run(need_mib))
    return fleet


def facts_of(fleet: TaskStandings, task: TaskId = TASK) -> StandingFacts:
    """The facts of a task in it, for a run that asks for 4Gi."""
    standing = fleet.standing(str(task))
    facts = standing_facts(standing, fleet.pool, standing.bids(REQUEST_BYTES, {}))
    assert facts is not None, "it has learned a run"
    return facts


def keep(store: Store, fleet: TaskStandings) -> None:
    """Save a whole fleet, as the controller does."""
    states = {task: fleet.standing(task).to_dict() for task in fleet}
    pools = {TaskId.parse(task).namespace: fleet.pool.to_dict() for task in fleet}
    assert store.experts.save(1, states, pools, follows={0})
