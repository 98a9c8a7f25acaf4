"""What a TaskProfile's status can say of a task, all of it."""

from __future__ import annotations

from plimsoll_operator.profile.facts import Measurement, ProfileFacts, TrainingFact
from plimsoll_operator.profile.runtime_status import RuntimeFacts
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import PeakSource
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store import TaskSummary
from tests.builders.experts.standings import a_fleet, facts_of
from tests.builders.reports import START_S, TASK, a_model


def sized_facts() -> ProfileFacts:
    """A task with everything a status can say."""
    known = Knowledge(
        task=TASK,
        policy=Policy(mode=Mode.ENFORCE),
        runs=40,
        max_need_bytes=300 * MIB,
        champion=CLASSIFIER,
        model=a_model(),
    )
    tally = TaskSummary(
        task=TASK, observations=44, oom_kills=2, requested_gb_h=20.0, allocated_gb_h=7.6
    )
    return ProfileFacts(
        knowledge=known,
        tally=tally,
        decisions=("bin 1 of 1 (up to 512Mi): all of its probability lies at or below",),
        training=TrainingFact(at_s=START_S, note="cut short by its budget of 60 s"),
        standing=facts_of(a_fleet()),
        measurement=Measurement(PeakSource.AGENT),
        runtime=runtime_facts(),
        generation=1,
    )


def runtime_facts() -> RuntimeFacts:
    """A task with runs of about a minute, the last of which take longer."""
    runtimes_s = [60.0 + n % 9 for n in range(40)] + [120.0 + n % 9 for n in range(20)]
    forecaster = Forecaster()
    for number, runtime_s in enumerate(runtimes_s):
        forecaster.learn(str(TASK), TASK.namespace, runtime_s, START_S + 200 * number)
    forecast = forecaster.forecast(str(TASK), TASK.namespace, START_S + 12_000)
    return RuntimeFacts(forecast, runtimes_s)
