"""What admission costs when both processors are busy: `make bench-saturated` runs this."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tests.apiserver.controllers import until
from tests.ha.figures import FIGURES
from tests.ha.replicas.load import Counted, a_load, labelled, per_s, unlabelled
from tests.ha.replicas.plain_webhook import a_plain_webhook
from tests.ha.replicas.replicated import PLAIN, SHOP, Replicated

pytestmark = [pytest.mark.node, pytest.mark.alone]

SATURATED_S = 3.0
TURNS = 5
LEAST_SHARE = 0.7
"""Least share of a bare webhook's pace: 87% on a quiet machine, 76% beside another busy program."""


async def test_with_both_processors_busy_it_costs_little_more_than_any_webhook(
    replicated: Replicated, tmp_path: Path
) -> None:
    with a_plain_webhook(replicated.cluster, PLAIN, tmp_path):
        async with (
            a_load(replicated.cluster, SHOP) as load,
            a_load(replicated.cluster, PLAIN) as plain,
        ):
            await until("decided", load.decides)
            await until("patched", plain.decides)
            without, least, with_it = list[Counted](), list[Counted](), list[Counted]()
            # By turns: other work of the machine affects all alike.
            for _ in range(TURNS):
                without.append(await load.for_s(SATURATED_S, unlabelled(), 0.0))
                least.append(await plain.for_s(SATURATED_S, labelled(), 0.0))
                with_it.append(await load.for_s(SATURATED_S, labelled(), 0.0))
    share = median(one.per_s / other.per_s for one, other in zip(with_it, least, strict=True))
    FIGURES.note(
        "ha.saturated_creations_per_s",
        f"{per_s(with_it):.0f} with, {per_s(without):.0f} without any webhook,"
        f" {per_s(least):.0f} with one that only answers: {share:.0%} of it"
        f" (>= {LEAST_SHARE:.0%})",
    )
    for each in (*without, *least, *with_it):
        assert each.refused == []
    assert all(each.undecided == 0 for each in (*least, *with_it))
    assert share >= LEAST_SHARE
