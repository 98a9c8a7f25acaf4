"""A task's runtimes, as the page and `plimsoll forecast` show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plimsoll_operator.profile.runtime_status import SHOWN_RUNS, RuntimeFacts, runtime_status
from plimsoll_operator.views.runtimes.stored_forecasts import READ_RUNS
from plimsoll_operator.views.runtimes.task_runtimes import gather_runtimes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.store import Store
from tests.builders.runtimes.telling_pasts import AFTER_S, NIGHTLY, a_timed_run


def test_they_vary_and_move_as_the_profile_says_also_where_many_attempts_were_killed(
    tmp_path: Path,
) -> None:
    """Every other attempt was killed: fewer than the profile's runs are among the newest read."""
    runs = 2 * READ_RUNS
    attempts = [
        replace(a_timed_run(60.0, place), outcome=Outcome.OOM_KILLED)
        if place % 2
        else a_timed_run(60.0 if place < runs - 150 else 240.0, place)
        for place in range(runs)
    ]
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record(attempts)
    runtimes = gather_runtimes(store, NIGHTLY, AFTER_S)
    of_profile = store.runtimes.newest(NIGHTLY, limit=SHOWN_RUNS)
    store.close()
    profile = runtime_status(RuntimeFacts(runtimes.forecast, of_profile))
    assert profile is not None
    assert runtimes.summary is not None
    assert runtimes.summary.known_runs == SHOWN_RUNS
    assert (runtimes.summary.words, runtimes.trend) == (profile["shape"], profile["trendWords"])
