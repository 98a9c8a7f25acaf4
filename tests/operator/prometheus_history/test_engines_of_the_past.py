"""Pods of engines in a Prometheus' past have the same names as live ones."""

from __future__ import annotations

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.recognising import recognise
from plimsoll_operator.prometheus_history.past_pods import (
    PastPod,
    ReadingRules,
    identity_of,
    metric_label,
    unknown_by,
)
from plimsoll_operator.prometheus_history.runs import PastRuns
from tests.builders.engines.all import TASKS
from tests.builders.engines.argo import argo
from tests.builders.engines.runs import Chance, Json, Task
from tests.builders.stores import an_attempt

OF_THE_LIVE_ONLY = {("dagster", "a mapped step")}
"""A variable tells its item's key from the step's, and no series has it."""
RUNS = 20
NODE = "workflows.argoproj.io/node-name"


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
        assert unknown_by(of_the_past(pod), ReadingRules()) is None


def without_notes(pod: Json) -> PastPod:
    """As shown by a kube-state-metrics that may export labels alone."""
    return of_the_past({**pod, "metadata": {**pod["metadata"], "annotations": {}}})


def test_a_step_of_argo_is_unknown_where_no_series_shows_its_node() -> None:
    past = without_notes(argo(Chance(1), "load", ".load-orders"))
    assert unknown_by(past, ReadingRules()) == NODE


@pytest.mark.parametrize(
    ("named", "how"),
    [
        ({labels.TASK: "orders"}, ReadingRules()),
        ({"app": "orders"}, ReadingRules(task_label="app")),
    ],
)
def test_a_step_that_people_named_is_known(named: dict[str, str], how: ReadingRules) -> None:
    past = without_notes(argo(Chance(1), "load", ".load-orders"))
    past.add_labels({metric_label(key): value for key, value in named.items()})
    assert unknown_by(past, how) is None
    assert unknown_by(past, ReadingRules()) == (None if labels.TASK in named else NODE)


@pytest.mark.parametrize("task", [pytest.param(each, id=f"{each.engine}: {each.name}")
                                  for each in TASKS if each.recognised])  # fmt: skip
def test_each_import_has_its_own_run_if_only_an_owners_name_tells_the_run(task: Task) -> None:
    """Another owner may have the name of a deleted one."""
    first, second = of_the_past(task.make(Chance(1))), of_the_past(task.make(Chance(1)))
    second.owner_name += "-other"
    found = [identity_of(each, ReadingRules()) for each in (first, second)]
    runs = [each.run for each in found if each is not None and each.run is not None]
    days = [PastRuns().place(an_attempt(uid).in_run(runs[0]).built).run for uid in ("u1", "u2")]
    assert len(set(runs)) == 1 or len(set(days)) == 2
