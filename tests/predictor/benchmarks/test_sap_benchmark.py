from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sap.baselines import percentile_per_profile
from benchmarks.sap.builds import (
    FEEDBACK_S,
    Build,
    Builds,
    SapTraceError,
    builds_of,
    read_builds,
    score,
)
from benchmarks.sap.served import FULL, QUICK, Effort, joined, served, spans
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER

HEADER = (
    "atom_id;time;location;memory_fail_count;branch;buildProfile;jobs;localJobs;makeType;targets;"
    "component;ts_phase;ts_status;cgroup;max_rss;max_cache;memreq"
)
LINE = (
    "a;2025-04-26 18:14:51.608;here;0;main;gcc-debug;500;36;opt;all,dist;c;building;ok;/x;"
    "2000000;7;4"
)


def a_trace(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "builds.csv.gz"
    path.write_bytes(gzip.compress("\n".join([header, *lines]).encode()))
    return path


def some_builds(n: int, *, every_s: float = 600.0) -> Builds:
    return builds_of(
        [
            Build(every_s * place, 1000.0 + place, 5000.0, {"buildProfile": "ab"[place % 2]})
            for place in range(n)
        ]
    )


def test_a_build_is_read_with_what_was_known_before_it_and_nothing_else(tmp_path: Path) -> None:
    builds = read_builds(a_trace(tmp_path, LINE))
    assert dict(builds.features[0]) == {
        "location": "here",
        "branch": "main",
        "buildProfile": "gcc-debug",
        "jobs": "500",
        "localJobs": "36",
        "makeType": "opt",
        "targets": "all,dist",
        "component": "c",
        "ts_phase": "building",
    }
    assert (builds.needs_bytes[0], builds.requests_bytes[0]) == (2_000_000, 4 * MIB)


@pytest.mark.parametrize(
    ("lines", "header", "words"),
    [
        pytest.param([], HEADER, "no builds", id="empty"),
        pytest.param([LINE], HEADER.replace("branch", "twig"), "branch", id="a column missing"),
        pytest.param([LINE.replace("2000000", "much")], HEADER, "line 2.*much", id="no number"),
        pytest.param([LINE, LINE.replace("2000000", "-1")], HEADER, "line 3.*above", id="negative"),
        pytest.param([LINE.replace("2000000", "nan")], HEADER, "line 2.*above", id="not a number"),
        pytest.param([LINE.replace("2025-04", "soon")], HEADER, "line 2.*soon", id="no time"),
        pytest.param([LINE[:20]], HEADER, "line 2", id="a cut line"),
    ],
)
def test_a_bad_trace_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], header: str, words: str
) -> None:
    with pytest.raises(SapTraceError, match=words):
        read_builds(a_trace(tmp_path, *lines, header=header))


def test_a_missing_trace_says_where_it_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SapTraceError, match="set TRACES"):
        read_builds(tmp_path / "builds.csv.gz")


def test_a_build_is_known_six_hours_after_its_submission_and_not_before() -> None:
    builds = some_builds(100)
    for place in range(100):
        known = int(builds.known[place])
        ends_s = builds.submitted_s + FEEDBACK_S
        assert np.all(ends_s[:known] <= builds.submitted_s[place])
        assert np.all(ends_s[known:] > builds.submitted_s[place])


def test_the_score_counts_too_little_by_builds_and_too_much_by_bytes() -> None:
    builds = builds_of([Build(float(place), 100.0, 100.0, {}) for place in range(10)])
    assert builds.first_scored == 3
    sizes = np.array([np.nan] * 3 + [99.0] + [110.0] * 6)
    found = score(builds, sizes)
    assert found.under_percent == pytest.approx(100 / 7)
    assert found.over_percent == pytest.approx(100 * 60 / 700)
    assert found.score == pytest.approx(5 * 100 / 7 + 100 * 60 / 700)


def test_a_build_without_a_size_is_no_score() -> None:
    builds = some_builds(10)
    with pytest.raises(ValueError, match="7 of 7 scored builds"):
        score(builds, np.full(10, np.nan))


def test_a_percentile_knows_only_builds_that_have_ended() -> None:
    builds = some_builds(200)
    later = 150
    changed = builds_of(
        [
            Build(
                float(builds.submitted_s[place]),
                float(builds.needs_bytes[place]) * (100 if place >= later else 1),
                5000.0,
                builds.features[place],
            )
            for place in range(200)
        ]
    )
    blind = int(np.searchsorted(builds.known, later, side="right"))
    assert blind > later
    sizes, others = percentile_per_profile(builds), percentile_per_profile(changed)
    assert np.array_equal(sizes[:blind], others[:blind])
    assert not np.array_equal(sizes[blind:], others[blind:])


@pytest.mark.parametrize("effort", [FULL, QUICK])
def test_every_scored_build_is_decided_by_one_training_that_knew_what_was_known(
    effort: Effort,
) -> None:
    builds = some_builds(3000, every_s=60.0)
    found = spans(builds, effort)
    assert found[0].first <= builds.first_scored
    assert found[-1].end == len(builds)
    for span, following in pairwise(found):
        assert span.end == following.first
    assert all(span.known == builds.known[span.first] for span in found)


@pytest.mark.slow
def test_where_features_carry_the_size_what_has_learned_from_them_serves() -> None:
    draw = np.random.default_rng(0)
    builds = builds_of(
        [
            Build(
                600.0 * place,
                float((200 + 40 * jobs) * MIB * draw.lognormal(0, 0.1)),
                1500.0 * MIB,
                {"jobs": str(jobs), "branch": f"branch-{draw.integers(40)}"},
            )
            for place, jobs in enumerate(draw.integers(1, 24, 300).tolist())
        ]
    )
    (span,) = spans(builds, Effort(iterations=1, every=100))
    found = served(builds, span, Effort(iterations=1, every=100))
    learned = {BOOSTING: found.boosting_bytes, CLASSIFIER: found.classifier_bytes}
    assert found.overall_bytes == learned[found.cheapest]
    for sizes_bytes in learned.values():
        sizes = joined(builds, [(span, sizes_bytes)])
        assert score(builds, sizes).score < score(builds, builds.requests_bytes).score
