"""Panels about nodes: hints, where pods started, and a scheduler's extender."""

from __future__ import annotations

from typing import Final

from deploy.grafana.panel_kinds import WHERE, Panel, Query, quantiles, rate_of

PLACING: Final = (
    Panel(
        title="Hints at nodes",
        words="New pods whose policy places, by what became of the hint, a second.",
        queries=(Query(rate_of("plimsoll_placing_hints_total", "result"), "{{result}}"),),
        unit="ops",
        stacked=True,
    ),
    Panel(
        title="Where pods started",
        words="On the node that Plimsoll would have chosen, or a worse one, a second.",
        queries=(
            Query(
                rate_of("plimsoll_placing_starts_total", "placing, node"), "{{placing}} {{node}}"
            ),
        ),
        unit="ops",
        stacked=True,
    ),
    Panel(
        title="What other nodes would have saved",
        words="For each start, in runs' own time.",
        queries=(
            Query(
                f"{rate_of('plimsoll_placing_lost_slowdowns_total', 'placing')} / "
                f"clamp_min({rate_of('plimsoll_placing_starts_total', 'placing')}, 1e-9)",
                "{{placing}}",
            ),
        ),
    ),
    Panel(
        title="A scheduler's questions",
        words="By what became of them, a second; equal scores but for given.",
        queries=(Query(rate_of("plimsoll_extender_questions_total", "result"), "{{result}}"),),
        unit="ops",
        stacked=True,
    ),
    Panel(
        title="Time to score nodes",
        words="From a question's header to its answer; beyond 40 ms scores are equal.",
        queries=quantiles("plimsoll_extender_seconds"),
        unit="s",
    ),
    Panel(
        title="Since the extender heard the controller",
        words="By replica; beyond 30 s scores are equal.",
        queries=(Query(f"plimsoll_extender_feed_age_seconds{{{WHERE}}}", "{{instance}}"),),
        unit="s",
    ),
)
