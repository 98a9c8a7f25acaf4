"""A task's observations as a trace: what the store knows, replayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from plimsoll_predictor.core.record import Features, Observation, Outcome
from plimsoll_predictor.core.siblings import EARLIER, UPSTREAM
from plimsoll_predictor.replay.sizes.reading import Trace, trace_of
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.tables.table_reading import LeftOut

RUN: Final = "run"
ITEM: Final = "item"
"""Features that say which run of a workflow an attempt belongs to, and what it works on."""
NEVER_MEASURED: Final = "never succeeded with its memory measured"
NO_TIMES: Final = "no start or end known"


def stored_trace(name: str, observations: Iterable[Observation]) -> Trace:
    """The runs of observed attempts, one row each.

    A run is submitted and starts with its first attempt; its need and runtime are those of the
    attempt that succeeded. Runs that never did, and those without times, are left out. Their line
    is the place of their first attempt, 1 being the first.

    Raises TraceError if nothing is left.
    """
    attempts: dict[str, list[tuple[int, Observation]]] = {}
    for place, observation in enumerate(observations, start=1):
        key = f"{observation.task}\x00{observation.run}"
        attempts.setdefault(key, []).append((place, observation))
    rows: list[TraceRow] = []
    left_out: dict[str, LeftOut] = {}
    for known in attempts.values():
        row = _row(known)
        if isinstance(row, str):
            left_out.setdefault(row, LeftOut()).add(known[0][0])
        else:
            rows.append(row)
    return trace_of(name, rows, left_out)


def _row(attempts: Sequence[tuple[int, Observation]]) -> TraceRow | str:
    """A run's row, or why it has none."""
    line, first = min(attempts, key=lambda pair: pair[1].attempt)
    done = next((each for _, each in attempts if _measured(each)), None)
    if done is None or done.peak_bytes is None:
        return NEVER_MEASURED
    start_s = done.started_s if first.started_s is None else first.started_s
    if start_s is None or done.runtime_s is None:
        return NO_TIMES
    return TraceRow(
        line=line,
        run=done.workflow_run or _text(done.features, RUN) or done.run,
        task=str(done.task),
        item=done.item or _text(done.features, ITEM),
        submit_s=start_s if first.submitted_s is None else first.submitted_s,
        start_s=start_s,
        complete_s=start_s + done.runtime_s,
        runtime_s=done.runtime_s,
        cpus=None,
        preset_bytes=done.request_bytes or None,
        input_bytes=None,
        peak_bytes=done.peak_bytes,
        features={name: value for name, value in done.features.items() if _is_own(name)},
    )


def _is_own(name: str) -> bool:
    """Whether the author wrote it: what was known of the item is found anew as the past goes by."""
    return name not in (RUN, ITEM, EARLIER) and not name.startswith(UPSTREAM)


def _measured(attempt: Observation) -> bool:
    return attempt.outcome is Outcome.SUCCEEDED and bool(attempt.peak_bytes)


def _text(features: Features, name: str) -> str | None:
    value = features.get(name)
    return None if value is None else str(value)
