"""Pods of engines in a Prometheus' past have the same names as live ones."""

from __future__ import annotations

import pytest

from plimsoll_operator.pods.recognising import recognise
from plimsoll_operator.prometheus_history.past_pods import (
    PastPod,
    ReadingRules,
    identity_of,
    metric_label,
)
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance, Json, Task

OF_THE_LIVE_ONLY = {("dagster", "a mapped step")}
"""A variable tells its item's key from the step's, and no series has it."""
RUNS = 20


def of_the_past(pod: Json) -> PastPod:
    """As shown by a kube-state-metrics that may export all labels and annotations."""
    metadata = pod["metadata"]
    name = metadata.get("name") or f"{metadata['generateName']}x7k2p"
    past = PastPod("shop", name, uid="u")
    past.add_labels({metric_label(key): value for key, value in metadata["labels"].items()})
    notes = metadata.get("annotations", {})
    past.add_annotations({metric_label(key, "annotation_"): notes[key] for key in notes})
    for owner in metadata.get("ownerReferences", ()):
        past.owner_kind, past.owner_name = owner["kind"], owner["name"]
    return past


@pytest.mark.parametrize("task", [pytest.param(each, id=f"{each.engine}: {each.name}")
                                  for each in TASKS
                                  if (each.engine, each.name) not in OF_THE_LIVE_ONLY])  # fmt: skip
def test_a_task_has_one_name_live_and_imported(task: Task) -> None:
    for seed in range(RUNS):
        pod = task.make(Chance(seed))
        identity = identity_of(of_the_past(pod), ReadingRules())
        assert (identity.task.name if identity else None) == recognise(pod).task
