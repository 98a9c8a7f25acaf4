"""The plots of a task's runtimes."""

from __future__ import annotations

import re
from pathlib import Path

from plimsoll_operator.views.runtimes.task_runtimes import gather_runtimes
from plimsoll_operator.web.plots.runtime_plots import history
from plimsoll_predictor.store import Store
from tests.builders.runtimes.telling_pasts import AFTER_S, NIGHTLY, timed_runs


def test_runs_of_less_than_a_second_lie_on_the_line_of_their_usual(tmp_path: Path) -> None:
    """A clock of whole seconds says 0 s."""
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record(timed_runs([0.0] * 20, NIGHTLY))
    picture = history(gather_runtimes(store, NIGHTLY, AFTER_S))
    store.close()
    dots = {float(y) for y in re.findall(r'<circle[^>]* cy="([^"]*)"', picture)}
    [usual] = re.findall(r'<line[^>]* y1="([^"]*)"[^>]* class="even"', picture)
    assert dots == {float(usual)}
