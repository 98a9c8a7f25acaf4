"""The bids of the experts by models: a training made their model, and they have no rule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.shown import NOTHING_SHOWN
from plimsoll_predictor.model.task_model import Model


def bidders_of(model: Model | None) -> tuple[str, ...]:
    """The experts that a model makes able to bid."""
    if model is None:
        return ()
    return (CLASSIFIER, BOOSTING) if model.boosted is not None else (CLASSIFIER,)


def modelled_bids(knowledge: Knowledge, ask: Ask) -> dict[str, float]:
    """Expert -> bytes it would give this attempt; without experts whose model fails.

    The classifier's bid is the decision where it serves, without what holds or raises any expert's
    size: bounds, floors, the error budget and running attempts. It is charged for its own choice.
    """
    bids: dict[str, float] = {}
    if knowledge.model is None:
        return bids
    policy = replace(
        knowledge.policy,
        mode=Mode.ENFORCE,
        paused=False,
        min_runs=0,
        min_bytes=0,
        max_bytes=None,
        error_budget=None,
    )
    serving = replace(
        knowledge, champion=CLASSIFIER, policy=policy, lifts={}, shown=NOTHING_SHOWN, floor=None
    )
    decision = decide(ask, serving, Bounds())
    if decision.reason is Reason.PREDICTED and decision.allocation_bytes:
        bids[CLASSIFIER] = float(decision.allocation_bytes)
    # As in deciding: a model with a fault only makes no bid.
    with suppress(Exception):
        if boosted_bytes := knowledge.model.boosted_bid_bytes(ask.features):
            bids[BOOSTING] = boosted_bytes
    return bids
