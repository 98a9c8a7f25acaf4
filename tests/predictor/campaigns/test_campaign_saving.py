"""What sizing would save on all scenarios, including those that were not run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest

from plimsoll_predictor.campaigns.needs import axes_of, fit
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.saving import Saving, saving_of
from plimsoll_predictor.core.units import MIB

TODAY = 500 * MIB


def scenarios(count: int, need: Callable[[int], float]) -> list[CampaignRun]:
    """All scenarios run, in order."""
    return [
        CampaignRun(
            scenario=n,
            state=RunState.LEARNED,
            values={"n": str(n)},
            memory_bytes=2000 * MIB,
            peak_bytes=int(need(n) * MIB),
            runtime_s=60.0,
            ended_s=float(n),
        )
        for n in range(count)
    ]


def rising(n: int) -> float:
    return 50 + 8 * n


def only(known: Sequence[int], runs: Sequence[CampaignRun]) -> list[CampaignRun]:
    """The same campaign when only these were run, in this order."""
    return [
        replace(run, ended_s=float(known.index(run.scenario)))
        if run.scenario in known
        else replace(run, state=RunState.REGISTERED, peak_bytes=None, runtime_s=None, ended_s=None)
        for run in runs
    ]


def saved(runs: Sequence[CampaignRun]) -> Saving:
    saving = saving_of(runs, TODAY)
    assert saving is not None
    return saving


@pytest.mark.parametrize(
    "known",
    [
        pytest.param([*range(0, 40, 3)], id="evenly"),
        pytest.param([0, 20, *range(39, 27, -1)], id="the largest first"),
        pytest.param([39, 20, *range(12)], id="the smallest first"),
    ],
)
def test_a_few_runs_tell_what_all_would_save_whichever_they_were(known: list[int]) -> None:
    runs = scenarios(40, rising)
    early, at_the_end = saved(only(known, runs)), saved(runs)
    more = at_the_end.expected - early.expected
    assert -0.02 < more < early.to_learn + 0.02
    assert early.optimal == pytest.approx(at_the_end.optimal, abs=0.03)


def test_what_is_to_learn_grows_less_and_is_nothing_at_the_end() -> None:
    random = Random(3)
    runs = scenarios(40, lambda n: rising(n) * random.uniform(0.8, 1.2))
    order = random.sample(range(40), 40)
    left = [saved(only(order[:known], runs)).to_learn for known in (5, 15, 30, 40)]
    assert left == sorted(left, reverse=True)
    assert left[0] > 0.01
    assert left[-1] == 0


@pytest.mark.parametrize("need_mib", [0.3, 5, 20])
@pytest.mark.parametrize("open_", [(), (3, 11)], ids=["all run", "two open"])
def test_a_run_that_had_nothing_to_do_makes_no_loss_of_what_sizing_saves(
    need_mib: float, open_: tuple[int, ...]
) -> None:
    """Of 14 scenarios one ended at once, as it had an empty region to look at."""
    sane = scenarios(14, lambda n: 300 + 200 * n)
    known = [n for n in range(14) if n not in open_]
    odd = [
        replace(run, peak_bytes=int(need_mib * MIB)) if run.scenario == 5 else run for run in sane
    ]
    usual, found = (saving_of(only(known, runs), 4000 * MIB) for runs in (sane, odd))
    assert usual is not None
    assert found is not None
    assert 0 <= found.expected == pytest.approx(usual.expected, abs=0.2)
    assert found.to_learn < usual.to_learn + 0.02


def test_needs_that_features_tell_are_believed_however_small_they_are() -> None:
    """Every second scenario needs a hundredth of the others."""
    runs = [
        replace(run, values={**run.values, "kind": "small" if run.scenario % 2 else "large"})
        for run in scenarios(40, lambda n: 4 if n % 2 else 400)
    ]
    axes = axes_of([run.values for run in runs])
    needs, _ = fit(axes, runs).predict(axes.of([run.values for run in runs]))
    assert needs[1::2].max() < 6 * MIB
    assert needs[::2].min() > 300 * MIB


def test_features_that_do_not_tell_the_needs_make_a_small_estimate() -> None:
    random = Random(5)
    told, untold = scenarios(40, rising), scenarios(40, lambda _: rising(random.randrange(40)))
    assert saved(told).expected > 0.35 > saved(untold).expected + 0.1


def by_kind(light: float, heavy: float, every: int) -> list[CampaignRun]:
    """Two tight classes of needs, of which a feature tells."""
    noise = Random(11)
    runs = scenarios(40, lambda n: (heavy if n % every == 0 else light) * noise.gauss(1, 0.01))
    kinds = {0: "heavy"}
    return [replace(run, values={"kind": kinds.get(run.scenario % every, "light")}) for run in runs]


@pytest.mark.parametrize("every", [2, 5, 13])
def test_scenarios_that_were_run_count_by_their_known_needs(every: int) -> None:
    found = saved(by_kind(60, 400, every))
    assert found.expected == pytest.approx(found.optimal, abs=0.02)


def test_a_need_that_no_feature_tells_does_not_spoil_what_all_others_save() -> None:
    found = saved(scenarios(40, lambda n: 450 if n == 17 else 100 + n / 10))
    assert found.optimal - 0.1 < found.expected <= found.optimal


def test_a_bin_of_least_expected_cost_promises_no_less_than_a_cautious_one() -> None:
    random = Random(7)
    runs = scenarios(40, lambda n: rising(n) * random.uniform(0.6, 1.4))
    order = random.sample(range(40), 40)
    few = [saved(only(order[:known], runs)) for known in (8, 16, 24)]
    assert all(each.expected > each.cautious + 0.01 for each in few)


@pytest.mark.parametrize("seed", range(5))
def test_needs_above_the_request_promise_nothing_by_failing(seed: int) -> None:
    random = Random(seed)
    runs = scenarios(40, lambda _: 100 * random.lognormvariate(0, 1.5))
    half, whole = (saving_of(only(range(count), runs), 60 * MIB) for count in (20, 40))
    assert half is not None
    assert whole is not None
    assert half.to_learn >= 0
    assert half.expected <= half.optimal
    assert whole.expected <= whole.optimal


def test_nothing_is_estimated_of_two_runs() -> None:
    assert saving_of(scenarios(2, rising), TODAY) is None
    assert saving_of([], TODAY) is None


def test_what_was_known_before_the_newest_runs_can_be_asked_for() -> None:
    runs = scenarios(20, rising)
    assert saving_of(runs, TODAY, newest_left_out=8) == saving_of(only(range(12), runs), TODAY)
    assert saving_of(runs, TODAY, newest_left_out=18) is None


def test_a_scenario_that_ended_without_a_need_counts_as_none() -> None:
    runs = scenarios(20, rising)
    failed = replace(
        runs[7], scenario=99, state=RunState.FAILED, peak_bytes=None, values={"n": "7"}
    )
    lifted = [
        replace(failed, state=RunState.KILLED),
        replace(failed, state=RunState.REGISTERED, attempt=2),
    ]
    assert saved([*runs, failed]) == saved(runs)
    assert saved([*runs, *lifted]).to_learn > saved(runs).to_learn == 0


def test_a_scenario_counts_as_often_as_it_was_seen() -> None:
    runs = only(range(0, 40, 3), scenarios(40, rising))
    heavy = [replace(run, weight=200 if run.scenario == 38 else 1) for run in runs]
    assert saved(heavy).expected < saved(runs).expected - 0.1


def test_of_thousands_of_open_scenarios_some_stand_for_all() -> None:
    few = only(range(0, 40, 3), scenarios(40, rising))
    open_ = [run for run in few if run.state is RunState.REGISTERED]
    learned = [run for run in few if run.state is RunState.LEARNED]
    many = [replace(run, scenario=100 + place) for place, run in enumerate(open_ * 180)]
    once = [replace(run, weight=180) for run in open_]
    assert saved([*learned, *many]).expected == pytest.approx(
        saved([*learned, *once]).expected, abs=0.005
    )


def test_a_request_below_the_needs_is_a_loss() -> None:
    saving = saving_of(scenarios(20, rising), 60 * MIB)
    assert saving is not None
    assert saving.expected < 0


def test_runs_of_no_length_and_no_difference_are_estimated_as_well() -> None:
    runs = [replace(run, runtime_s=None, values={}) for run in scenarios(6, lambda _: 100)]
    assert 0.7 < saved(runs).expected <= saved(runs).optimal
