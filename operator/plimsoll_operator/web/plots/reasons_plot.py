"""The plot of why a task is expected to have its shape of runtimes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Scale
from plimsoll_predictor.runtimes.shapes.explanation import TaskExplanation

WIDTH: Final = 480
NAMES_WIDTH: Final = 250
ROW: Final = 26
_LETTERS: Final = 36
"""The most letters of a feature's name before the plot."""


def reasons_plot(task: TaskExplanation) -> Markup:
    """The reasons for one task: right bars made its shape likelier, left bars less likely."""
    height = 20 + ROW * max(1, len(task.reasons))
    reach = max((abs(reason.contribution) for reason in task.reasons), default=1.0) or 1.0
    x = Scale(low=-reach, high=reach, start=NAMES_WIDTH, end=WIDTH - 12)
    parts: list[Markup] = [svg.line((x(0), 6), (x(0), height - 6), "even")]
    for row, reason in enumerate(task.reasons):
        top = 10 + ROW * row
        ends: Sequence[float] = sorted((x(0), x(reason.contribution)))
        parts += [
            svg.text((NAMES_WIDTH - 8, top + 12), reason.feature[:_LETTERS], "name", "end"),
            svg.bar(
                (ends[0], top),
                max(1.0, ends[1] - ends[0]),
                top + ROW - 10,
                "more" if reason.contribution > 0 else "less",
                reason.words,
            ),
        ]
    label = f"Why {task.task} is foretold {task.shape}"
    return svg.picture(WIDTH, height, label, parts, task.words)
