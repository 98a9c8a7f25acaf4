"""The campaign of the demo, and the production runs after it: pure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from demo.runs.campaign_plan import MEMORY, PRODUCTION_RUNS, ROWS, TASK, campaign, production
from demo.runs.plan import REQUEST_BYTES
from demo.runs.workload import ORDINARY_MIX, REGION_SHARES, Weight
from demo.stories.campaign_story import ended_s, words_for_worth
from demo.stories.story import StoryError
from demo.watching.figures import figures

from plimsoll_operator.campaigns.spec import read_campaign, scenarios_of
from plimsoll_operator.names.quantity import parse_bytes

IMAGE = "localhost/demo:1"


def test_the_campaign_runs_24_scenarios_of_the_task_with_generous_memory() -> None:
    document = campaign(IMAGE)
    read = read_campaign(document)
    assert str(read.task) == TASK
    assert (read.memory_bytes, read.reference_bytes) == (parse_bytes(MEMORY), REQUEST_BYTES)
    rows = scenarios_of(read).rows
    assert len(rows) == len(ROWS) * len(REGION_SHARES) == 24
    [container] = document["spec"]["podTemplate"]["spec"]["containers"]
    assert container["command"][:2] == ["python", "/tasks/join_sales.py"]
    assert "--rows" not in container["command"]


def test_production_is_of_the_ordinary_mix_and_within_what_the_campaign_ran() -> None:
    runs = production().runs
    assert len(runs) == PRODUCTION_RUNS
    assert production() == production() != production(seed=1)
    for weight, share in ORDINARY_MIX.items():
        assert sum(run.weight is weight for run in runs) == pytest.approx(share * 40, abs=1)
    assert not [run for run in runs if run.weight is Weight.OUTSIZED]
    sold = [int(run.work.features["rows"]) for run in runs]
    assert min(ROWS) <= min(sold) <= max(sold) <= max(ROWS)
    assert not set(sold) & set(ROWS)


def test_the_training_to_wait_for_is_the_one_after_the_campaigns_end() -> None:
    condition = {"lastTransitionTime": "2026-11-21T12:00:05Z", "type": "Progressing"}
    status = {"done": 3, "conditions": [{**condition, "status": "False"}]}
    assert ended_s(status) == 1795262405.0
    assert ended_s({"done": 3, "conditions": [{**condition, "status": "True"}]}) == 0.0
    with pytest.raises(StoryError, match="learned nothing"):
        ended_s({"done": 0})


def test_what_it_was_worth_is_said_beside_what_is_asked() -> None:
    total = replace(figures([], {}), runs=40, oom_kills=2)
    assert words_for_worth(total, 1.553) == (
        "production: 40 runs, 2 OOM kills (asked: 1 at most), allocated 1.55 × what they need"
        " (asked: 1.25)"
    )
    assert "nobody measured" in words_for_worth(total, None)
