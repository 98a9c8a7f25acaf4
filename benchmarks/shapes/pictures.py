"""The pictures of docs/shapes.md: shapes, and what predicts them (the paper's figures 5 and 9).

The same catalogue or explanation gives the same picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from markupsafe import Markup

from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Frame, Scale
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.runtimes.shapes.catalogue import Shape, ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.explanation import Effect, Explanation
from plimsoll_predictor.runtimes.shapes.normalising import RANGES, Normalisation

PANEL: Final = (232, 150)
COLUMNS: Final = 4
EFFECT_ROW: Final = 34
EFFECTS_WIDTH: Final = 960
NAMES_WIDTH: Final = 250
_LETTERS: Final = 36
"""The most letters of a feature's name before the plot."""
_TICKS: Final = {Normalisation.RATIO: (0, 1, 2, 5, 10), Normalisation.DELTA: (-900, 0, 900)}
_UNIT: Final = {Normalisation.RATIO: "×", Normalisation.DELTA: " s"}
_STYLE: Final = """
svg{background:#fff;font:11px system-ui,sans-serif}
text{fill:#5b6675}.axis,.name{fill:#1d2530}.name{font-weight:600}
.grid{stroke:#eceef0}.even{stroke:#848e9b;stroke-dasharray:3 3}
.shape{fill:#c9d8ec;stroke:#1f63b5}.low{fill:#1f63b5}.high{fill:#c4242b}.untold{fill:#b5bcc6}
.more{fill:#1f63b5}.less{fill:#a85b00}
"""


def standalone(picture: Markup) -> str:
    """A picture with its colours, as a file."""
    opened, _, rest = str(picture).partition(">")
    return f'{opened} xmlns="http://www.w3.org/2000/svg"><style>{_STYLE.strip()}</style>{rest}\n'


def shapes_plot(catalogue: ShapeCatalogue) -> Markup:
    """Every shape in a panel, the narrowest first; heights are square roots of the masses.

    Square roots, because the usual runtime holds most of the mass and only the tails differ.
    """
    width, height = PANEL
    rows = -(-len(catalogue.shapes) // COLUMNS)
    parts = [
        part
        for place, shape in enumerate(catalogue.shapes)
        for part in _panel(
            shape,
            catalogue.normalisation,
            (place % COLUMNS * width, place // COLUMNS * height),
        )
    ]
    told = "; ".join(
        f"{shape.name}: {shape.statistics.outlier_share:.1%} outliers" for shape in catalogue.shapes
    )
    label = f"Typical distributions of runtimes, {catalogue.normalisation.value}-normalised"
    return svg.picture(width * COLUMNS, height * rows, label, parts, told)


def _panel(shape: Shape, kind: Normalisation, corner: tuple[float, float]) -> Iterable[Markup]:
    left, right = corner[0] + 12, corner[0] + PANEL[0] - 10
    bottom = corner[1] + PANEL[1] - 20
    frame = Frame(left=left, right=right, top=corner[1] + 34, bottom=bottom, width=right)
    x = frame.x(*RANGES[kind])
    y = frame.y(0, math.sqrt(float(shape.pmf.max())) or 1.0)
    unit, statistics = _UNIT[kind], shape.statistics
    yield svg.text((left, corner[1] + 14), shape.name, "name")
    yield svg.text(
        (left, corner[1] + 28),
        f"half in {_amount(statistics.interquartile, kind)}, 95th "
        f"{_amount(statistics.p95, kind)}, {statistics.outlier_share:.1%} out",
    )
    yield from frame.columns(x, _TICKS[kind], lambda tick: f"{tick:g}{unit}" if tick else "0")
    step = (right - left) / shape.pmf.size
    commands = [f"M{left:g} {bottom:g}"]
    for mass in shape.pmf:
        commands.append(f"V{y(math.sqrt(float(mass))):g}h{step:.3g}")
    yield svg.path([*commands, f"V{bottom:g}Z"], "shape")


def _amount(value: float, kind: Normalisation) -> str:
    if kind is Normalisation.DELTA:
        return words_for_duration(value)
    return f"{value:,.{0 if value >= 10 else 2}f}×"


def effects_plot(explanation: Explanation) -> Markup:
    """The most important features, a dot per row: right is likelier, red is a high value."""
    effects = explanation.effects
    height = 44 + EFFECT_ROW * len(effects)
    reach = max((abs(at) for effect in effects for _, at in effect.points), default=1.0) or 1.0
    x = Scale(low=-reach, high=reach, start=NAMES_WIDTH, end=EFFECTS_WIDTH - 20)
    parts: list[Markup] = [svg.line((x(0), 10), (x(0), height - 30), "even")]
    for row, effect in enumerate(effects):
        parts += _effect_row(effect, 24 + EFFECT_ROW * row, x)
    parts.append(
        svg.text(
            (EFFECTS_WIDTH - 20, height - 8),
            "Shapley value, log odds: right of the line is likelier; blue low, red high, grey "
            "not told",
            "axis",
            "end",
        )
    )
    told = "; ".join(effect.words for effect in effects)
    return svg.picture(EFFECTS_WIDTH, height, "What tells the shape", parts, told)


def _effect_row(effect: Effect, at: float, x: Scale) -> list[Markup]:
    parts = [
        svg.text((NAMES_WIDTH - 12, at), effect.feature[:_LETTERS], "name", "end"),
        svg.text((NAMES_WIDTH - 12, at + 12), f"for {effect.shape}"[:_LETTERS], anchor="end"),
    ]
    told = sorted(value for value, _ in effect.points if value is not None)
    middle = told[len(told) // 2] if told else 0.0
    for place, (value, contribution) in enumerate(effect.points):
        # Spread by their order, so that the same explanation gives the same picture.
        aside = place * 0.618034 % 1 - 0.5
        class_ = "untold" if value is None else "high" if value > middle else "low"
        parts.append(svg.dot((x(contribution), round(at + 3 + aside * 22, 1)), 1.8, class_))
    return parts
