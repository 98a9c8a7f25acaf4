"""The plot of a task's reasons: everything is drawn, nothing is invented, text is escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from plimsoll_operator.web.plots.reasons_plot import reasons_plot
from plimsoll_predictor.runtimes.shapes.explanation import Reason, TaskExplanation

REASONS = (Reason("<script>", 3.0, 0.4, "up"), Reason("b", None, -0.9, "down"))


def test_a_tasks_reasons_are_bars_to_both_sides_and_text_is_escaped() -> None:
    drawn = reasons_plot(TaskExplanation("lab/a&b", "narrow", 0.7, REASONS))
    assert "<script>" not in drawn
    bars = [bar.get("class") for bar in ET.fromstring(drawn).iter("rect")]
    assert bars == ["more", "less"]


def test_a_task_without_reasons_has_an_empty_plot() -> None:
    assert ET.fromstring(reasons_plot(TaskExplanation("a", "b", 1.0, ()))).tag == "svg"
