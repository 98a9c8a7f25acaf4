"""Says by what a size is chosen, and what raises it beyond the needs of ended runs."""

from __future__ import annotations

from typing import Final

from plimsoll_predictor.core.units import MIB, counted, words_for_bytes
from plimsoll_predictor.deciding.bursts import failing_runs, shows_burst
from plimsoll_predictor.experts.features.curves import LEAST_RUNS
from plimsoll_predictor.experts.features.residuals import CHANCE
from plimsoll_predictor.knowledge.curve import Curve, KindLines, Kinds, Product, Straight
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.rule import Rule

MOST_NAME: Final = 40
"""How many characters of a feature's name are shown."""
_LEAST_ROOM: Final = 1.005


def words_for_rule(rule: Rule | None, runs: int) -> str:
    """Say by which features a rule goes, how, and how many runs are expected to need more.

    Empty if it goes by none. runs: how many are known. A curve by too few runs to be fitted has no
    such chance, nor has a line over a logarithm, which goes by what failures cost.
    """
    if rule is None:
        return ""
    if rule.curves:
        curve = rule.curves[0]
        chance = f", which some {CHANCE:.1%} of runs are expected to exceed"
        exceeding = chance if runs >= LEAST_RUNS else ""
        return f"its size follows {_shape(curve)}{_room(curve)}{exceeding}"
    if rule.lines:
        return f"its size follows a line over the logarithm of {_named(rule.lines[0].names)}"
    return ""


def words_for_reached(floor_bytes: int) -> str:
    """Say that running attempts raise the next sizes; empty if they show nothing new."""
    if floor_bytes <= 0:
        return ""
    reached = words_for_bytes(floor_bytes)
    return (
        f"running attempts have reached {reached}, more than any run that ended needed: smaller"
        " sizes are raised above it"
    )


def words_for_burst(knowledge: Knowledge) -> str:
    """Say that so many runs fail now that lifts go further; empty if they do not."""
    failing = failing_runs(knowledge)
    if not shows_burst(failing, knowledge.runs):
        return ""
    runs = counted(failing, "run")
    return (
        f"{runs} failed and did not get through yet, beside {knowledge.runs:,} known: in such a"
        " burst the largest need known is no guide, and lifts go beyond it"
    )


def _shape(curve: Curve) -> str:
    names = _named(curve.names)
    if isinstance(curve, Straight):
        return f"a straight line over {'the logarithm of ' if curve.logs else ''}{names}"
    if isinstance(curve, Product):
        return f"a straight line over {' times '.join(_named((name,)) for name in curve.names)}"
    if isinstance(curve, KindLines):
        number, kind = (_named((name,)) for name in curve.names)
        over, kinds = "the logarithm of " if curve.logs else "", counted(len(curve.lines), "value")
        return f"a straight line over {over}{number} for each of {kinds} of {kind}"
    sizes = len(curve.sizes_bytes)
    if isinstance(curve, Kinds):
        return f"{names}, with a size for each of {counted(sizes, 'value')}"
    return f"{names}, in {counted(sizes, 'step')}"


def _room(curve: Curve) -> str:
    parts = [f"{curve.factor:.2f} times that"] if curve.factor > _LEAST_ROOM else []
    if curve.room_bytes >= MIB:
        parts.append(f"{words_for_bytes(curve.room_bytes)} more")
    return f", with room: {' and '.join(parts)}" if parts else ""


def _named(names: tuple[str, ...]) -> str:
    return " and ".join(name[:MOST_NAME] for name in names)
