"""``plimsoll campaign report``: what a campaign found out, from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.campaigns.status import Counts, words_for_bins, words_for_saving
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import bar, panel, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.wording.figure_words import words_for_minute, words_for_share
from plimsoll_predictor.campaigns.findings import Effect, Findings, findings_of
from plimsoll_predictor.campaigns.rules import (
    spent,
)
from plimsoll_predictor.campaigns.runs import CampaignRun, latest_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.store import CampaignRecord, StoreError

_MOST_FAILED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A campaign with its runs and what they say."""

    record: CampaignRecord
    runs: Sequence[CampaignRun]
    found: Findings


def report_command(named: str, store_url: str, output: OutputForm) -> int:
    """Print what the newest campaign of a name found out; the exit status."""
    try:
        report = read_report(TaskId.parse(named), store_url)
    except (StoreError, LookupError, ValueError) as error:
        complain(f"plimsoll campaign report: {error}")
        return 1
    print_output(document_of(report), shown(report), output)
    return 0


def read_report(named: TaskId, store_url: str) -> Report:
    """Read a campaign; LookupError if there was none of that name."""
    with existing_store(store_url) as store:
        record = store.campaigns.named(named.namespace, named.name)
        if record is None:
            raise LookupError(
                f"{named}: no campaign of this name has begun;"
                " `kubectl get profilingcampaigns -A` lists them"
            )
        runs = store.campaigns.runs(record.uid)
    return Report(record=record, runs=runs, found=findings_of(runs, record.reference_bytes))


def document_of(report: Report) -> dict[str, Any]:
    """All of it, in plain JSON types."""
    return {
        **asdict(report.record),
        **asdict(Counts.of(report.runs)),
        **asdict(report.found),
        "runs": [{**asdict(run), "state": run.state.value} for run in report.runs],
    }


def shown(report: Report) -> RenderableType:
    """The same for people."""
    parts = [_head(report), *(_effect(each) for each in report.found.effects)]
    if report.found.uncertain:
        parts.append(_uncertain(report.found))
    failed = [run for run in latest_of(report.runs).values() if run.note and not run.state.is_open]
    if failed:
        parts.append(_failed(failed))
    return Group(*parts)


def _head(report: Report) -> RenderableType:
    record, found, counts = report.record, report.found, Counts.of(report.runs)
    until_s = record.ended_s if record.ended_s is not None else record.began_s
    used = spent(report.runs, until_s)
    today = words_for_bytes(record.reference_bytes)
    rows = {
        "task": record.task,
        "began": f"{words_for_minute(record.began_s)} UTC",
        "ended": record.ending or "it still runs",
        "scenarios": (
            f"{counts.scenarios}: {counts.done} done, {counts.failed} without a need,"
            f" {counts.waiting} not run; {counted(counts.killed, 'kill')}"
        ),
        "used": f"{used.gb_hours or 0.0:.3g} GB·h in {counted(used.runs or 0, 'run')}",
        "bins": words_for_bins(found.ceilings_bytes) or "no need is known",
        "members": ", ".join(map(str, found.counts)) or "-",
        "would save": (
            f"{words_for_saving(found.improvement) or 'not known yet'} of what {today} a run"
            " request today;"
            f" {_share(found.optimal)} with a perfect choice of bins"
        ),
    }
    return panel(f"{record.namespace}/{record.name}", rows)


def _effect(effect: Effect) -> RenderableType:
    told = "" if effect.correlation is None else f", correlation {effect.correlation:+.2f}"
    columns = ("value", "runs", "least", "mean", "most", "")
    right = ("runs", "least", "mean", "most")
    table = titled_table(f"need by {effect.feature}{told}", columns, right=right)
    most = max((level.most_bytes for level in effect.levels), default=0)
    for level in effect.levels:
        table.add_row(
            level.values[:40],
            str(level.runs),
            words_for_bytes(level.least_bytes),
            words_for_bytes(level.mean_bytes),
            words_for_bytes(level.most_bytes),
            bar(level.mean_bytes, most),
        )
    return table


def _uncertain(found: Findings) -> RenderableType:
    columns = ("scenario", "expected", "four of five within")
    table = titled_table("what is still uncertain", columns, right=columns[1:])
    for each in found.uncertain:
        width = f"± {words_for_bytes(each.width_bytes / 2)}"
        table.add_row(_values(each.values), words_for_bytes(each.expected_bytes), width)
    return table


def _failed(runs: Sequence[CampaignRun]) -> RenderableType:
    title = f"{counted(len(runs), 'scenario')} without a need"
    table = titled_table(title, ("scenario", "state", "why"), folding=("why",))
    for run in runs[:_MOST_FAILED]:
        table.add_row(_values(run.values), run.state.value, run.note)
    return table


def _values(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={text}" for name, text in sorted(values.items()))[:80]


def _share(value: float | None) -> str:
    return "-" if value is None else words_for_share(value, 1.0)
