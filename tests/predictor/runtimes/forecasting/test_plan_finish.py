from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np
import pytest

from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES, Forecast
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS
from plimsoll_predictor.runtimes.forecasting.plan import MOST_SECONDS, Plan, PlanError, Step
from plimsoll_predictor.runtimes.forecasting.plan_finish import (
    LARGEST_SHARE,
    SAMPLES,
    Finish,
    Method,
    finish_of_plan,
)
from tests.builders.runtimes.plans import a_chain, a_forecast

FORECASTS = {
    "lab/fetch": a_forecast(40, spread=0.2),
    "lab/train": a_forecast(600, spread=0.8),
    "lab/report": a_forecast(5, spread=0.1, tail=0.05),
}
DAY_S = 86_400.0
SHARES = (0.01, 0.1, 0.5, 0.9, 0.95, 0.99)


def drawn_sums(forecasts: list[Forecast], samples: int) -> np.ndarray:
    """Sums of independent draws, in another way than the tested code: by quantiles of shares."""
    random = np.random.default_rng(7)
    sums = np.zeros(samples)
    for forecast in forecasts:
        sums += forecast.quantiles_s(random.random(samples))
    return sums


def beside(plan: Plan, name: str = "aside") -> Plan:
    """The same plan with a step beside it that ends at once, so that it is simulated."""
    return Plan((*plan.steps, Step(name=name, task="lab/report", ended=True)))


@pytest.mark.parametrize("steps", [1, 3, 12, 90])
def test_a_chains_end_is_what_drawing_its_steps_gives(steps: int) -> None:
    tasks = [list(FORECASTS)[place % 3] for place in range(steps)]
    found = finish_of_plan(a_chain(*tasks), FORECASTS, seed=1)
    sums = drawn_sums([FORECASTS[task] for task in tasks], 40_000)

    assert found.method is Method.CONVOLUTION
    for share in SHARES:
        by_s = found.quantile_s(share)
        assert found.chance_by(by_s) == pytest.approx(share, abs=1e-9)
        luck = 4.5 * math.sqrt(share * (1 - share) / sums.size)
        assert np.mean(sums <= by_s - found.error_s) - luck <= share
        assert np.mean(sums <= by_s + found.error_s) + luck >= share
        assert np.mean(sums <= by_s) == pytest.approx(share, abs=luck)


def test_the_bound_of_a_chains_error_holds_where_every_step_is_certain() -> None:
    """Thirteen steps of the same narrow runtime: all roundings go the same way."""
    narrow = Forecast(np.eye(N_BINS)[N_BINS // 2], 9, None)
    low_s, high_s = (13 * narrow.quantile_s(share) for share in (0.0, 1.0))
    found = finish_of_plan(a_chain(*["t"] * 13), {"t": narrow}, seed=1)

    assert 0 < found.error_s < 0.001 * low_s
    assert found.chance_by(low_s - found.error_s) < 1e-6
    assert found.chance_by(high_s + found.error_s) > 0.9999


def test_a_step_shorter_than_the_grids_cells_still_counts_by_its_mean() -> None:
    """Of ninety short steps beside one of days none is rounded away, and not all are rounded up."""
    forecasts = {"short": a_forecast(3, spread=0.1, tail=0), "long": a_forecast(2e5, spread=0.5)}
    alone = finish_of_plan(a_chain("long"), forecasts, seed=1)
    among = finish_of_plan(a_chain("long", *["short"] * 90), forecasts, seed=1)
    assert alone.error_s > 3
    assert among.quantile_s(0.5) - alone.quantile_s(0.5) == pytest.approx(270, rel=0.1)


def test_rounding_moves_no_quantile_by_more_than_its_bound() -> None:
    tasks = ["lab/fetch", "lab/report", "lab/fetch"]
    found = finish_of_plan(a_chain(*tasks), FORECASTS, seed=1)
    sums = np.sort(drawn_sums([FORECASTS[task] for task in tasks], 400_000))
    for share in SHARES:
        # The uncertainty of the draws: order statistics four standard errors to either side.
        open_by = 4 * math.sqrt(share * (1 - share) / sums.size)
        low_s, high_s = np.quantile(sums, [max(0, share - open_by), min(1, share + open_by)])
        assert low_s - found.error_s <= found.quantile_s(share) <= high_s + found.error_s


def test_a_chain_is_the_same_by_convolution_and_by_simulation() -> None:
    """A step of almost no time that begins together with another makes a plan of two branches."""
    chain = a_chain("lab/fetch", "lab/train", "lab/fetch")
    first = Step(name="first", task="lab/report")
    forecasts = {**FORECASTS, "lab/report": a_forecast(1.0, spread=0.01, tail=0.0)}
    branched = Plan((*chain.steps, first))
    convolved = finish_of_plan(chain, forecasts, seed=1)
    simulated = finish_of_plan(branched, forecasts, seed=1)

    assert simulated.method is Method.SIMULATION
    assert simulated.samples == SAMPLES
    for share in (0.1, 0.5, 0.9):
        seconds = convolved.quantile_s(share)
        least, most = simulated.chance_between(seconds)
        assert least - 0.01 <= share <= most + 0.01


def test_parallel_steps_end_when_the_last_of_them_does() -> None:
    plan = Plan((Step(name="a", task="lab/fetch"), Step(name="b", task="lab/fetch")))
    found = finish_of_plan(plan, FORECASTS, seed=3)
    alone = FORECASTS["lab/fetch"]
    for seconds in (30.0, 40.0, 60.0):
        both = (1 - alone.longer_than(seconds)) ** 2
        assert found.chance_by(seconds) == pytest.approx(both, abs=4 / math.sqrt(SAMPLES))


def test_a_step_waits_for_the_slowest_of_those_it_comes_after() -> None:
    plan = Plan(
        (
            Step(name="short", task="lab/report"),
            Step(name="long", task="lab/train"),
            Step(name="join", task="lab/fetch", after=("short", "long"), wait_s=1000),
        )
    )
    found = finish_of_plan(plan, FORECASTS, seed=3)
    chain = finish_of_plan(a_chain("lab/train", "lab/fetch"), FORECASTS, seed=3)
    assert found.quantile_s(0.5) == pytest.approx(1000 + chain.quantile_s(0.5), rel=0.05)


def test_the_same_seed_gives_the_same_end_and_another_one_nearly() -> None:
    plan = Plan((Step(name="a", task="lab/fetch"), Step(name="b", task="lab/train")))
    first, again, other = (finish_of_plan(plan, FORECASTS, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.times_s, again.times_s)
    assert not np.array_equal(first.times_s, other.times_s)
    assert first.quantile_s(0.5) == pytest.approx(other.quantile_s(0.5), rel=0.05)


def test_what_a_step_has_run_already_counts() -> None:
    def left_of(elapsed_s: float | None) -> Finish:
        step = Step(name="a", task="lab/fetch", elapsed_s=elapsed_s)
        return finish_of_plan(Plan((step,)), FORECASTS, seed=1)

    conditioned = FORECASTS["lab/fetch"].given_elapsed(35.0)
    assert left_of(35.0).quantile_s(0.5) == pytest.approx(conditioned.quantile_s(0.5) - 35, abs=0.1)
    assert left_of(35.0).quantile_s(0.5) < left_of(None).quantile_s(0.5)
    # After the time of nearly all runs, it is one of the few long ones: more is left, not less.
    assert left_of(100.0).quantile_s(0.5) > left_of(None).quantile_s(0.5)


def test_a_running_step_waits_for_nothing_and_an_ended_one_takes_no_time() -> None:
    fresh = finish_of_plan(a_chain("lab/fetch"), FORECASTS, seed=1)
    ended = Step(name="past", task="nothing/known", ended=True)
    after = Step(name="now", task="lab/fetch", after=("past",), wait_s=0)
    found = finish_of_plan(Plan((ended, after)), FORECASTS, seed=1)
    assert found.quantile_s(0.5) == pytest.approx(fresh.quantile_s(0.5))

    running = Step(name="now", task="lab/fetch", after=("past",), wait_s=500, elapsed_s=0.0)
    assert finish_of_plan(Plan((ended, running)), FORECASTS, seed=1).quantile_s(
        0.5
    ) == pytest.approx(fresh.quantile_s(0.5))


def test_a_plan_that_has_ended_ends_now() -> None:
    found = finish_of_plan(beside(Plan((Step(name="a", task="t", ended=True),))), {}, seed=1)
    assert found.quantile_s(0.99) == 0
    assert found.chance_by(0) == 1


def test_waits_of_a_chain_are_added_whole() -> None:
    plain = finish_of_plan(a_chain("lab/fetch"), FORECASTS, seed=1)
    waited = finish_of_plan(
        Plan((Step(name="a", task="lab/fetch", wait_s=300.0),)), FORECASTS, seed=1
    )
    assert waited.quantile_s(0.9) == pytest.approx(plain.quantile_s(0.9) + 300)
    assert waited.chance_by(299.0) == 0


def test_chances_rise_with_time_and_quantiles_with_their_share() -> None:
    plans: Mapping[str, Plan] = {
        "chain": a_chain("lab/fetch", "lab/train"),
        "branches": Plan((Step(name="a", task="lab/fetch"), Step(name="b", task="lab/train"))),
    }
    for plan in plans.values():
        found = finish_of_plan(plan, FORECASTS, seed=1)
        times_s = np.geomspace(1, 1e6, 60)
        chances = [found.chance_by(float(time_s)) for time_s in times_s]
        assert chances == sorted(chances)
        assert chances[0] == pytest.approx(0, abs=1e-9)
        assert 0.999 < chances[-1] <= 1
        quantiles = [found.quantile_s(share) for share in (0, *SHARES, LARGEST_SHARE)]
        assert quantiles == sorted(quantiles)


@pytest.mark.parametrize("steps", [3, 10, 30])
def test_no_quantile_of_a_plan_is_earlier_than_one_before_it(steps: int) -> None:
    """Beyond the plans whose end is known, the least time was earlier than one that is known."""
    masses = 0.99 * a_forecast(12 * DAY_S, spread=0.1, tail=0.0).masses
    masses[-1] += 0.01
    forecasts = {"t": Forecast(masses, 30, 12 * DAY_S)}
    found = finish_of_plan(a_chain(*["t"] * steps), forecasts, seed=1)
    assert found.known_share < max(QUANTILES)
    quantiles_s = list(found.to_dict()["quantiles_s"].values())
    assert (np.diff(quantiles_s) >= 0).all()
    assert quantiles_s[0] == found.quantile_s(min(QUANTILES))


@pytest.mark.slow
def test_a_long_plan_holds_a_thousand_steps_of_a_thousand_tasks() -> None:
    forecasts = {f"t{place}": a_forecast(20 + place) for place in range(1000)}
    found = finish_of_plan(a_chain(*forecasts), forecasts, seed=1)
    sums = drawn_sums(list(forecasts.values()), 1_000)
    assert found.quantile_s(0.5) == pytest.approx(float(np.median(sums)), rel=0.01)
    assert found.error_s < 0.03 * found.quantile_s(0.5)


@pytest.mark.parametrize("steps", [1, 3])
def test_a_chain_is_as_good_as_sure_to_end_long_after_nearly_all_have(steps: int) -> None:
    steady = {"t": a_forecast(60, spread=0.1, tail=0)}
    found = finish_of_plan(a_chain(*["t"] * steps), steady, seed=1)
    late_s = 10 * found.quantile_s(0.99)
    assert found.chance_by(late_s) > 0.9999
    assert found.chance_between(late_s)[1] == 1.0


def test_beyond_the_grid_a_chains_chance_is_the_least_that_it_may_be() -> None:
    forecasts = {"t": a_forecast(60, spread=0.3, tail=0.002)}
    found = finish_of_plan(a_chain("t", "t", "t"), forecasts, seed=1)
    alone = forecasts["t"]
    for times in (1.01, 2.0, 5.0, 50.0):
        seconds = times * found.grid_s
        # If all three end within a third of the time each, so does their sum.
        assert found.chance_by(seconds) >= 1 - 3 * alone.longer_than(seconds / 3) - 1e-6
        assert found.chance_by(seconds) <= 1 - alone.longer_than(seconds)
        assert found.chance_between(seconds)[1] == 1.0
    sure_s = 3 * alone.quantile_s(1.0)
    assert found.chance_by(sure_s) == 1.0


def with_a_long_step(unknown: float, *, branches: bool) -> Finish:
    """A plan with a step of a day, or of nobody knows how long, then one of a minute."""
    masses = (1 - unknown) * a_forecast(DAY_S, spread=0.2, tail=0.0).masses
    masses[-1] += unknown
    forecasts = {**FORECASTS, "long": Forecast(masses, 30, DAY_S)}
    chain = a_chain("long", "lab/report")
    plan = Plan((*chain.steps, Step(name="b", task="lab/fetch"))) if branches else chain
    return finish_of_plan(plan, forecasts, seed=1)


@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("unknown", [0.4, 1.0])
def test_a_plan_with_a_run_beyond_the_forecasts_grid_is_known_to_end_at_no_time(
    unknown: float, branches: bool
) -> None:
    found = with_a_long_step(unknown, branches=branches)
    assert found.known_share == pytest.approx(1 - unknown, abs=1e-6)
    for within_d in (10, 17, 20, 10_000):
        least, most = found.chance_between(within_d * DAY_S)
        chance = found.chance_by(within_d * DAY_S)
        assert chance == pytest.approx(1 - unknown, abs=0.02)
        assert least <= chance <= most
        assert most > 1 - 1e-3 or within_d < 20


@pytest.mark.parametrize("branches", [False, True])
def test_a_plan_has_ended_by_a_time_that_is_given_with_the_share_it_is_given_for(
    branches: bool,
) -> None:
    """Of forty steps of three days each, some may end after those that nobody can tell."""
    forecasts = {**FORECASTS, "t": a_forecast(3 * DAY_S, spread=0.3, tail=0.01)}
    plan = a_chain(*["t"] * 40)
    if branches:
        plan = Plan((*plan.steps, Step(name="b", task="lab/fetch")))
    found = finish_of_plan(plan, forecasts, seed=1)
    assert found.known_share < 0.99
    for share in np.linspace(0.05, found.known_share - 0.01, 20):
        assert found.chance_by(found.quantile_s(share)) == pytest.approx(share, abs=1e-4)
    beyond_s = found.beyond_s
    assert beyond_s is not None
    assert beyond_s <= found.quantile_s(0.999)


@pytest.mark.parametrize("branches", [False, True])
def test_a_step_that_has_run_for_longer_than_forecasts_can_tell_gives_the_plan_no_time(
    branches: bool,
) -> None:
    steps = [Step(name="a", task="lab/fetch", elapsed_s=25 * DAY_S)]
    if branches:
        steps.append(Step(name="b", task="lab/fetch"))
    found = finish_of_plan(Plan(tuple(steps)), FORECASTS, seed=1)
    assert found.known_share == 0.0
    assert found.beyond_s is None


@pytest.mark.parametrize("branches", [False, True])
def test_the_longest_times_of_a_plan_still_give_numbers(branches: bool) -> None:
    steps = [
        Step(name="a", task="lab/fetch", elapsed_s=MOST_SECONDS),
        Step(name="b", task="lab/fetch", after=("a",), wait_s=MOST_SECONDS),
        Step(name="c", task="lab/fetch", after=("a" if branches else "b",), wait_s=MOST_SECONDS),
    ]
    found = finish_of_plan(Plan(tuple(steps)), FORECASTS, seed=1)
    json.dumps(found.to_dict(MOST_SECONDS), allow_nan=False)


def test_what_cannot_be_asked_is_refused_with_what_to_ask() -> None:
    found = finish_of_plan(a_chain("lab/fetch"), FORECASTS, seed=1)
    with pytest.raises(ValueError, match=r"a share of 0\.9999; ask for one from 0 to 0\.999"):
        found.quantile_s(0.9999)
    with pytest.raises(ValueError, match="give seconds from now"):
        found.chance_by(math.nan)
    with pytest.raises(PlanError, match="step 's0': nothing is forecast of task 'lab/gone'"):
        finish_of_plan(a_chain("lab/gone"), FORECASTS, seed=1)


def test_an_engine_reads_the_chance_with_its_error_in_json() -> None:
    plan = Plan((Step(name="a", task="lab/fetch"), Step(name="b", task="lab/train")), 900)
    found = finish_of_plan(plan, FORECASTS, seed=1)
    written = json.loads(json.dumps(found.to_dict(plan.within_s)))

    assert written["method"] == "simulation"
    assert written["within_s"] == 900
    assert 0 < written["chance_least"] < written["chance"] < written["chance_most"] < 1
    assert next(iter(written["quantiles_s"])) == "0.01"
    assert written["quantiles_s"]["0.50"] == found.quantile_s(0.5)
    assert "chance" not in found.to_dict()
