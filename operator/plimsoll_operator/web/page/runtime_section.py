"""Gathers, at a bounded cost, the part of a task's page about its runtimes, and draws it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plimsoll_operator.views.runtimes.scenarios import BadScenario
from plimsoll_operator.views.runtimes.task_runtimes import (
    Anomaly,
    TaskRuntimes,
    ask_what_if,
    gather_runtimes,
)
from plimsoll_operator.web.page.change_rows import ChangeRow, row_of
from plimsoll_operator.web.page.what_if_query import WhatIfQuery
from plimsoll_operator.web.plots import runtime_plots
from plimsoll_operator.web.plots.reasons_plot import reasons_plot
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.shapes.explanation import TaskExplanation
from plimsoll_predictor.runtimes.what_if.change import Direction
from plimsoll_predictor.runtimes.what_if.what_if import WhatIf
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

COMPARED_RUNS: Final = 1_000
"""How many of the newest attempts a what-if on the page reads; the command reads more."""
TABLED_RUNS: Final = 20
OFFERED_NODE_TYPES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfPart:
    """The form as it was sent, and its answer.

    node_types: those of its runs, the most frequent first. answer: None if nothing was asked, or
        if ``trouble`` says what was wrong.
    """

    query: WhatIfQuery
    node_types: tuple[str, ...]
    answer: WhatIf | None = None
    trouble: str | None = None

    @property
    def rows(self) -> tuple[ChangeRow, ...]:
        """The answer's figures; none if nothing could be compared."""
        changes = self.answer.changes if self.answer else ()
        if all(each.direction is Direction.TOO_FEW for each in changes):
            return ()
        return tuple(row_of(each) for each in changes)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer's sentences, except those whose figures are in the rows."""
        if self.answer is None:
            return ()
        held = {each.words.casefold() for each in self.answer.changes}
        return tuple(each for each in self.answer.words if each.rstrip(".").casefold() not in held)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuntimeSection:
    """The part of a page about one task's runtimes, with its plots.

    narrow_density, narrow_history: the same plots for a phone. shape: None without a typical one.
    tabled: the newest runs, newest first, each with its anomaly, if any.
    why, reasons: None if no explanation is stored.
    """

    runtimes: TaskRuntimes
    density: Markup
    narrow_density: Markup
    history: Markup
    narrow_history: Markup
    shape: Markup | None
    reasons: Markup | None
    tabled: tuple[tuple[PastRuntime, Anomaly | None], ...]
    why: TaskExplanation | None
    what_if: WhatIfPart


def gather_section(
    store: Store, task: TaskId, query: WhatIfQuery, now_s: float
) -> RuntimeSection | None:
    """Read and draw; None while no run of the task has succeeded."""
    runtimes = gather_runtimes(store, task, now_s)
    if not runtimes.runs:
        return None
    explanation = store.shapes.explanation()
    why = explanation.of_task(str(task)) if explanation else None
    newest = reversed(runtimes.runs[-TABLED_RUNS:])
    summary, typical, shape = runtimes.summary, runtimes.typical, None
    if summary is not None and typical is not None:
        shape = runtime_plots.own_shape(runtimes.runtimes_s, summary.usual_s, typical)
    return RuntimeSection(
        runtimes=runtimes,
        density=runtime_plots.density(runtimes.forecast),
        narrow_density=runtime_plots.density(runtimes.forecast, runtime_plots.NARROW),
        history=runtime_plots.history(runtimes),
        narrow_history=runtime_plots.history(runtimes, runtime_plots.NARROW),
        shape=shape,
        reasons=reasons_plot(why) if why else None,
        tabled=tuple((each, runtimes.anomaly(each)) for each in newest),
        why=why,
        what_if=_what_if(store, runtimes, query),
    )


def _what_if(store: Store, runtimes: TaskRuntimes, query: WhatIfQuery) -> WhatIfPart:
    counted = Counter(each.node_type for each in runtimes.runs if each.node_type)
    node_types = tuple(name for name, _ in counted.most_common(OFFERED_NODE_TYPES))
    if not query.asked:
        return WhatIfPart(query=query, node_types=node_types)
    try:
        scenario = query.scenario()
    except BadScenario as error:
        return WhatIfPart(query=query, node_types=node_types, trouble=str(error))
    answer = ask_what_if(store, runtimes.task, scenario, own_runs=COMPARED_RUNS, others=0)
    return WhatIfPart(query=query, node_types=node_types, answer=answer)
