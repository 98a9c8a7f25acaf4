"""What running pods lend, from the leading controller's metrics, if a policy allows it. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.cluster_state import ClusterState, Object, part
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_predictor.core.policy import Lending

PART: Final = "lending"
_PREFIX: Final = "plimsoll_lending"


def any_lends(objects: Sequence[Object]) -> bool:
    """Whether a SizingPolicy or TaskProfile among them lets pods lend."""
    return any(part(each, "spec", "lending") == Lending.AUTO.value for each in objects)


def lending_now(metrics: Iterable[bytes]) -> LendingNow | None:
    """Read it from controllers' metrics; None if none of them leads."""
    for text in metrics:
        families = families_of(text)
        if f"{_PREFIX}_pods" in families:
            return LendingNow(
                lent_bytes=_value(families, "lent_bytes"),
                attempts=_value(families, "pods"),
                nodes=_value(families, "nodes"),
                waiting=_value(families, "waiting_pods"),
                taken_back=_taken_back(families),
                possible=_value(families, "on") > 0,
            )
    return None


def lending_check(cluster: ClusterState) -> Check | None:
    """The line of `plimsoll status`; None if no policy lends."""
    if not any_lends([*(cluster.policies or ()), *(cluster.profiles or ())]):
        return None
    now = cluster.lending
    if now is None:
        why = next((each.why for each in cluster.unseen if each.what == PART), "nothing reports it")
        return Check(PART, Level.UNSEEN, why)
    return Check(PART, Level.GOOD if now.possible else Level.WARNING, now.words)


def families_of(text: bytes) -> dict[str, Metric]:
    """Return a metrics page by its series' names; empty if it is none."""
    try:
        return {each.name: each for each in text_string_to_metric_families(text.decode())}
    except ValueError:  # not what Prometheus reads
        return {}


def _value(families: dict[str, Metric], name: str) -> int:
    family = families.get(f"{_PREFIX}_{name}")
    return sum(_whole(each.value) for each in family.samples) if family else 0


def _taken_back(families: dict[str, Metric]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    family = families.get(f"{_PREFIX}_take_backs")
    for sample in family.samples if family else ():
        if sample.name.endswith("_total"):
            counts[sample.labels.get("reason", "")] += _whole(sample.value)
    return dict(+counts)


def _whole(value: float) -> int:
    return int(value) if math.isfinite(value) and value > 0 else 0
