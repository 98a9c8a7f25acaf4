"""One campaign as it is shown: its runs, and what they say, for the command and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.campaigns.status import (
    Counts,
    words_for_bins,
    words_for_ending,
    words_for_saving,
)
from plimsoll_operator.names.conditions import cut
from plimsoll_operator.wording.figure_words import words_for_minute, words_for_share
from plimsoll_predictor.campaigns.ending import spent
from plimsoll_predictor.campaigns.findings import Findings, findings_of
from plimsoll_predictor.campaigns.rules import Budget
from plimsoll_predictor.campaigns.runs import CampaignRun, latest_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.store import CampaignRecord, Store

_MOST_SCENARIO_CHARS: Final = 160
_MOST_VALUE_CHARS: Final = 30


class NoSuchCampaign(LookupError):
    """No campaign of this name has begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """A campaign with its runs and what they say. now_s: Unix seconds, when it was looked at."""

    record: CampaignRecord
    runs: Sequence[CampaignRun]
    found: Findings
    now_s: float

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return f"{self.record.namespace}/{self.record.name}"

    @property
    def counts(self) -> Counts:
        """How far it is."""
        return Counts.of(self.runs)

    @property
    def tried(self) -> int:
        """Attempts for which a Job was requested."""
        return self._spent.runs or 0

    @property
    def used_gb_h(self) -> float:
        """The memory-time that its runs requested; of runs under way, until now."""
        return self._spent.gb_hours or 0.0

    @property
    def _weighed(self) -> str:
        recorded = self.stands_for > self.counts.scenarios
        return f"; they stand for {self.stands_for:,} recorded runs" if recorded else ""

    @property
    def _spent(self) -> Budget:
        ended_s = self.record.ended_s
        return spent(self.runs, ended_s if ended_s is not None else self.now_s)

    @property
    def stands_for(self) -> int:
        """How many real runs its scenarios stand for; one each if nothing was recorded."""
        return sum(run.weight for run in latest_of(self.runs).values())

    @property
    def failed(self) -> tuple[CampaignRun, ...]:
        """The scenarios that gave no need, each with its last end."""
        latest = latest_of(self.runs).values()
        return tuple(run for run in latest if run.note and not run.state.is_open)

    @property
    def told(self) -> Mapping[str, str]:
        """All of it except tables, as names and words."""
        record, counts = self.record, self.counts
        return {
            "task": record.task,
            "began": f"{words_for_minute(record.began_s)} UTC",
            "ended": words_for_ending(record.ending),
            "scenarios": (
                f"{counts.scenarios}: {counts.done} done, {counts.failed} without a need,"
                f" {counts.waiting} not run; {counted(counts.killed, 'kill')}{self._weighed}"
            ),
            "used": f"{self.used_gb_h:.3g} GB·h in {counted(self.tried, 'run')}",
            "bins": words_for_bins(self.found.ceilings_bytes) or "no need is known",
            "members": ", ".join(map(str, self.found.counts)) or "-",
            "would save": self.saving,
            "certain": self.certainty,
        }

    @property
    def certainty(self) -> str:
        """How well the need of a run is known from the others, in words."""
        if self.found.within is None:
            return "not known yet"
        return (
            f"four of five needs lie within {self.found.within:.2f} times, either way, of what the"
            " other runs predict"
        )

    @property
    def saving(self) -> str:
        """What sizing would save at today's requests, in words."""
        found, today = self.found, words_for_bytes(self.record.reference_bytes)
        return (
            f"{words_for_saving(found.improvement) or 'not known yet'} of what {today} a run"
            f" request today; {_share(found.optimal)} with a perfect choice of bins; the runs"
            f" needed {_share(found.needed)} of it"
        )


def gather_campaign(store: Store, named: TaskId, now_s: float) -> CampaignFacts:
    """Read the newest campaign of a name. now_s: Unix seconds.

    Raises:
        NoSuchCampaign: if none has begun.
        StoreError: if the store cannot be read now.
    """
    record = store.campaigns.named(named.namespace, named.name)
    if record is None:
        raise NoSuchCampaign(
            f"{named}: no campaign of this name has begun;"
            " `kubectl get profilingcampaigns -A` lists them"
        )
    runs = store.campaigns.runs(record.uid)
    found = findings_of(runs, record.reference_bytes)
    return CampaignFacts(record=record, runs=runs, found=found, now_s=now_s)


def words_for_scenario(values: Mapping[str, str]) -> str:
    """A scenario's features in a line.

    >>> words_for_scenario({"rows": "1000", "region": "eu"})
    'region=eu, rows=1000'
    """
    said = ", ".join(
        f"{name}={cut(text, _MOST_VALUE_CHARS)}" for name, text in sorted(values.items())
    )
    return cut(said, _MOST_SCENARIO_CHARS)


def _share(value: float | None) -> str:
    return "-" if value is None else words_for_share(value, 1.0)
