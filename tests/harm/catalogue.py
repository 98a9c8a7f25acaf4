"""All scenarios, in the order of the table."""

from __future__ import annotations

from tests.harm import bare_pods, jobs, programs, surroundings, what_people_say
from tests.harm.scenario import Scenario

ALL: tuple[Scenario, ...] = (
    *jobs.SCENARIOS,
    *bare_pods.SCENARIOS,
    *programs.SCENARIOS,
    *surroundings.SCENARIOS,
    *what_people_say.SCENARIOS,
)
