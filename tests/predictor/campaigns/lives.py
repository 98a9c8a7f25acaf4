"""A cluster in memory that runs a campaign's Jobs, and may lose its controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from plimsoll_predictor.campaigns.needs import least_certain
from plimsoll_predictor.campaigns.planning import Steps, next_steps
from plimsoll_predictor.campaigns.rules import Budget, Order, Rules
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.seen import Seen, SeenEnd, SeenJob
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB

RULES = Rules(
    parallelism=2,
    order=Order.PLAIN,
    budget=Budget(),
    stop=None,
    max_lifts=3,
    start_within_s=600.0,
    reference_bytes=1000 * MIB,
    began_s=1000.0,
)


def rows(count: int) -> list[dict[str, str]]:
    """That many scenarios, each with its number."""
    return [{"n": str(place)} for place in range(count)]


def by_scenario(run: CampaignRun) -> int:
    """A need that grows from scenario to scenario."""
    return (100 + run.scenario) * MIB


def pod_of(run: CampaignRun) -> str:
    """The UID of a run's pod."""
    return f"pod-{run.scenario}-{run.attempt}"


def registered(values: Sequence[dict[str, str]], memory_mib: int = 256) -> list[CampaignRun]:
    """The rows with which a campaign begins."""
    return [
        CampaignRun(scenario=place, values=each, memory_bytes=memory_mib * MIB)
        for place, each in enumerate(values)
    ]


@dataclass(slots=True)
class Life:
    """One campaign and its cluster. need: of a scenario's values, in bytes.

    stored: the rows that are committed. made: Jobs by key. successes: how often each scenario
    succeeded.
    """

    rules: Rules
    stored: dict[tuple[int, int], CampaignRun]
    need: Callable[[CampaignRun], int]
    now_s: float = 1000.0
    silent_s: float = 0.0
    looked_s: float = float("inf")
    made: dict[tuple[int, int], CampaignRun] = field(default_factory=dict)
    jobs: dict[tuple[int, int], SeenJob] = field(default_factory=dict)
    ends: dict[int, list[SeenEnd]] = field(default_factory=dict)
    successes: Counter[int] = field(default_factory=Counter)
    most_at_once: int = 0

    @classmethod
    def of(
        cls, rules: Rules, runs: Sequence[CampaignRun], need: Callable[[CampaignRun], int]
    ) -> Life:
        return cls(rules, {run.key: run for run in runs}, need)

    def look(self, killed_after: int | None = None) -> Steps:
        """One look of a controller that is killed after that many of its actions."""
        steps = next_steps(
            self.rules,
            list(self.stored.values()),
            Seen(
                jobs=dict(self.jobs),
                ends={k: list(v) for k, v in self.ends.items()},
                silent_s=self.silent_s,
                looked_s=self.looked_s,
            ),
            self.now_s,
            least_certain,
        )
        actions: list[Callable[[], None]] = [lambda: self._store(steps.changed)]
        actions += [lambda run=run: self._create(run) for run in steps.create]  # type: ignore[misc]
        for action in actions[:killed_after]:
            action()
        self.now_s += 1
        going = [key for key, job in self.jobs.items() if not (job.succeeded or job.failed)]
        self.most_at_once = max(self.most_at_once, len(going))
        return steps

    def finish(self, random: Random | None = None) -> None:
        """Let Jobs end, all or random ones; their ends are observed."""
        for key, job in list(self.jobs.items()):
            if job.succeeded or job.failed or (random is not None and random.random() < 0.5):
                continue
            run = self.made[key]
            need = self.need(run)
            killed = need > run.memory_bytes
            self.jobs[key] = SeenJob(
                started=True, succeeded=not killed, failed=killed, finished_s=self.now_s
            )
            self.successes[run.scenario] += not killed
            outcome = Outcome.OOM_KILLED if killed else Outcome.SUCCEEDED
            self.end(run, outcome, None if killed else need)

    def end(
        self,
        run: CampaignRun,
        outcome: Outcome,
        peak_bytes: int | None,
        cause: Cause | None = None,
        ahead_s: float = 0.0,
    ) -> None:
        """Observe an end of a run. ahead_s: of its node's clock."""
        self.ends.setdefault(run.scenario, []).append(
            SeenEnd(
                attempt_uid=pod_of(run),
                outcome=outcome,
                peak_bytes=peak_bytes,
                runtime_s=60.0,
                finished_s=self.now_s + ahead_s,
                cause=cause,
            )
        )

    def until_ended(self, most: int = 500) -> Steps:
        """Look and let Jobs end until the campaign has ended."""
        for _ in range(most):
            steps = self.look()
            if steps.ended:
                return steps
            self.finish()
        raise AssertionError("it does not end")

    def _store(self, changed: Sequence[CampaignRun]) -> None:
        self.stored.update({run.key: run for run in changed})

    def _create(self, run: CampaignRun) -> None:
        if run.key not in self.made:
            self.made[run.key] = run
            self.jobs[run.key] = SeenJob(pod_uid=pod_of(run))


def states(life: Life) -> dict[tuple[int, int], RunState]:
    """Each attempt's state, by scenario and attempt."""
    return {key: run.state for key, run in sorted(life.stored.items())}
