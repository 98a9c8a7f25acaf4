"""Knowledge of a task that a model sizes, for tests of its status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from plimsoll_operator.profile.facts import ProfileFacts
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import TaskSummary
from tests.builders.reports import TASK, a_model


def facts(**changes: Any) -> ProfileFacts:
    """A task that is being sized by a model."""
    known = Knowledge(
        task=TASK,
        policy=Policy(mode=Mode.ENFORCE),
        runs=40,
        max_need_bytes=300 * MIB,
        champion=CLASSIFIER,
        model=a_model(),
    )
    tally = TaskSummary(
        task=TASK, observations=44, oom_kills=2, requested_gb_h=20.0, allocated_gb_h=7.62349
    )
    return replace(ProfileFacts(knowledge=known, tally=tally, trains_from=5), **changes)


def knowing(**changes: Any) -> ProfileFacts:
    return facts(knowledge=replace(facts().knowledge, **changes))
