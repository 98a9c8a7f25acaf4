"""A CPU request from what runs used: never above a limit, never on too little evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.cpu import WINDOW_RUNS, CpuUse, RunCpu, use_of
from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.policy import CpuPolicy, Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds, CpuReason, decide_cpu
from plimsoll_predictor.knowledge.knowledge import Knowledge

FOUR_CORES = CpuAsk(4000)
USE = CpuUse(runs=20, high_cores=0.5, peak_cores=2.0)
POLICY = Policy()
ANYWHERE = CpuBounds()


def with_cpu(**fields: object) -> Policy:
    return replace(POLICY, cpu=replace(CpuPolicy(), **fields))  # type: ignore[arg-type]


def test_the_request_is_what_runs_used_with_headroom() -> None:
    decision = decide_cpu(FOUR_CORES, USE, POLICY, ANYWHERE)
    assert (decision.request_millicores, decision.reason) == (600, CpuReason.USED)
    assert decision.why == (
        "1.2 times 0.5 cores, which 95% of the last 20 runs stayed within on average"
    )


def test_a_request_that_was_too_small_is_raised() -> None:
    assert decide_cpu(CpuAsk(100), USE, POLICY, ANYWHERE).request_millicores == 600


def test_a_pod_that_asks_for_nothing_gets_a_request() -> None:
    assert decide_cpu(CpuAsk(None), USE, POLICY, ANYWHERE).request_millicores == 600


@pytest.mark.parametrize("use", [None, replace(USE, runs=4)])
def test_nothing_is_changed_on_too_little_evidence(use: CpuUse | None) -> None:
    decision = decide_cpu(FOUR_CORES, use, POLICY, ANYWHERE)
    assert (decision.request_millicores, decision.reason) == (None, CpuReason.COLD_START)
    assert decision.why.startswith(f"{use.runs if use else 0} of the 5 runs needed are known")


def test_more_runs_than_are_looked_at_cannot_be_asked_for() -> None:
    policy = replace(POLICY, cpu=replace(POLICY.cpu, min_runs=10_000))
    full = replace(USE, runs=WINDOW_RUNS)
    assert decide_cpu(FOUR_CORES, full, policy, ANYWHERE).reason is CpuReason.USED
    assert decide_cpu(FOUR_CORES, USE, policy, ANYWHERE).reason is CpuReason.COLD_START


@pytest.mark.parametrize(
    ("ask", "policy", "bounds", "request_millicores", "words"),
    [
        pytest.param(CpuAsk(4000, 300), POLICY, ANYWHERE, 300, "the limit of 0.3 cores"),
        pytest.param(
            FOUR_CORES,
            with_cpu(max_millicores=250),
            ANYWHERE,
            250,
            "the policy's maximum of 0.25 cores",
        ),
        pytest.param(
            FOUR_CORES,
            with_cpu(max_millicores=250),
            CpuBounds(500),
            500,
            "the LimitRange's minimum of 0.5 cores",
        ),
        pytest.param(
            CpuAsk(400),
            with_cpu(max_millicores=250),
            CpuBounds(500),
            400,
            "the LimitRange's minimum of 0.4 cores",
        ),
        pytest.param(
            CpuAsk(None), with_cpu(max_millicores=250), CpuBounds(500), 250, "the policy's maximum"
        ),
        pytest.param(
            FOUR_CORES, with_cpu(min_millicores=1000), ANYWHERE, 1000, "the minimum of 1 core"
        ),
        pytest.param(FOUR_CORES, POLICY, CpuBounds(700), 700, "the minimum of 0.7 cores"),
        pytest.param(CpuAsk(100), POLICY, CpuBounds(None, 250), 250, "has room for"),
        pytest.param(CpuAsk(400), POLICY, CpuBounds(None, 250), 400, "has room for"),
        pytest.param(CpuAsk(100, 300), POLICY, CpuBounds(800, 250), 250, "has room for"),
    ],
)
def test_bounds_hold_and_say_so(
    ask: CpuAsk, policy: Policy, bounds: CpuBounds, request_millicores: int, words: str
) -> None:
    decision = decide_cpu(ask, USE, policy, bounds)
    assert decision.request_millicores == request_millicores
    assert words in decision.why


def test_a_full_quota_lowers_no_request_below_what_the_user_asked() -> None:
    assert decide_cpu(CpuAsk(600), USE, POLICY, CpuBounds(None, 0)).request_millicores == 600


@pytest.mark.parametrize(
    ("asked", "request_millicores", "reason"),
    [
        pytest.param(None, None, CpuReason.LEFT, id="nothing"),
        pytest.param(0, 0, CpuReason.USED, id="zero"),
        pytest.param(100, 100, CpuReason.USED, id="some"),
    ],
)
def test_no_request_of_zero_is_made_where_none_was_written(
    asked: int | None, request_millicores: int | None, reason: CpuReason
) -> None:
    decision = decide_cpu(CpuAsk(asked), USE, POLICY, CpuBounds(None, 0))
    assert (decision.request_millicores, decision.reason) == (request_millicores, reason)
    assert "has room for" in decision.why


def test_an_idle_task_keeps_a_little() -> None:
    idle = replace(USE, high_cores=0.0)
    assert decide_cpu(FOUR_CORES, idle, POLICY, ANYWHERE).request_millicores == 10


@pytest.mark.slow
@given(
    high_cores=st.floats(0, 500),
    ask=st.builds(CpuAsk, st.none() | st.integers(0, 200_000), st.none() | st.integers(1, 200_000)),
    bounds=st.builds(
        CpuBounds, st.none() | st.integers(0, 50_000), st.none() | st.integers(0, 200_000)
    ),
    most=st.none() | st.integers(1, 100_000),
)
def test_no_request_is_above_its_limit_or_the_policys_maximum(
    high_cores: float, ask: CpuAsk, bounds: CpuBounds, most: int | None
) -> None:
    policy = with_cpu(max_millicores=most)
    decision = decide_cpu(ask, replace(USE, high_cores=high_cores), policy, bounds)
    request = decision.request_millicores
    if request is None:
        assert ask.request_millicores is None
        assert bounds.cap_millicores == 0
        return
    assert request >= 0
    assert ask.limit_millicores is None or request <= ask.limit_millicores
    demanded = min(bounds.floor_millicores or 0, ask.request_millicores or 0)
    assert most is None or request <= max(most, demanded)
    if bounds.cap_millicores is not None:
        assert request <= max(bounds.cap_millicores, ask.request_millicores or 0)


def test_a_task_held_at_its_request_gets_more_each_time_until_it_has_enough() -> None:
    """What docs/cpu.md promises: a starved task climbs back by the headroom."""
    wants_cores, request = 2.0, 100
    for _ in range(40):
        used = min(wants_cores, request / 1000)  # a busy node gives the request and no more
        decided = decide_cpu(CpuAsk(4000), replace(USE, high_cores=used), POLICY, ANYWHERE)
        assert decided.request_millicores is not None
        request = decided.request_millicores
    assert request == 2400


def test_the_quantile_is_a_runs_own_figure_and_their_order_is_of_no_account() -> None:
    runs = [RunCpu(0.1 * place, 0.2 * place) for place in range(1, 41)]
    use = use_of(runs)
    assert use == CpuUse(runs=40, high_cores=0.1 * 38, peak_cores=0.2 * 40)
    assert use_of(runs[::-1]) == use


def test_few_runs_are_sized_for_the_largest() -> None:
    use = use_of([RunCpu(0.25), RunCpu(1.5), RunCpu(0.75)])
    assert use == CpuUse(runs=3, high_cores=1.5, peak_cores=None)


def test_no_runs_tell_nothing() -> None:
    assert use_of([]) is None


@pytest.mark.parametrize("cores", [1.6e7, float("inf"), float("nan"), -1.0])
def test_runs_that_no_machine_could_have_done_say_nothing(cores: float) -> None:
    impossible = [RunCpu(cores), RunCpu(0.5, cores)]
    assert use_of(impossible) is None
    use = use_of([*impossible, RunCpu(0.25, 0.5)])
    assert use == CpuUse(runs=1, high_cores=0.25, peak_cores=0.5)
    assert from_document(CpuUse, to_document(use), "CPU use") == use


def test_requests_are_whole_steps_whatever_the_last_digits() -> None:
    policy = with_cpu(headroom=1.0)

    def asked_at(high_cores: float) -> int | None:
        use = replace(USE, high_cores=high_cores)
        return decide_cpu(FOUR_CORES, use, policy, ANYWHERE).request_millicores

    # In floating point 3 x 0.1 is slightly above 0.3, but still counts as three tenths.
    assert [asked_at(cores) for cores in (0.1 * 3, 0.3, 0.3001, 0.309)] == [300, 300, 310, 310]


def test_knowledge_carries_it_and_reads_what_was_written_before_it() -> None:
    known = Knowledge(task=TaskId("shop", "train"), policy=POLICY, cpu=USE)
    assert Knowledge.from_dict(known.to_dict()) == known
    older = known.to_dict()
    del older["cpu"], older["policy"]["cpu"]
    assert Knowledge.from_dict(older) == replace(known, cpu=None)


def test_a_policy_is_read_back_as_it_was() -> None:
    policy = with_cpu(mode=Mode.ENFORCE, max_millicores=2000)
    assert Policy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize("high_cores", [float("nan"), float("inf"), -1.0])
def test_a_use_that_is_no_number_is_refused(high_cores: float) -> None:
    document = {"runs": 1, "high_cores": high_cores, "peak_cores": None}
    with pytest.raises(ValueError, match=r"Expected `float` .* - at `\$.high_cores`"):
        from_document(CpuUse, document, "CPU use")
