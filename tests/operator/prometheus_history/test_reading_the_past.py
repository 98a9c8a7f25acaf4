"""Which past pods become attempts, and which are counted as left out, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from plimsoll_operator.prometheus_history.client import PrometheusClient, Sample
from plimsoll_operator.prometheus_history.past_pods import ReadingRules
from plimsoll_operator.prometheus_history.promql import Where
from plimsoll_operator.prometheus_history.windows import PastReader
from plimsoll_predictor.core.record import Observation

POD = {"namespace": "shop", "pod": "etl-x7k2p-load-123", "uid": "u"}
MAIN = {**POD, "container": "main"}
STEP = {
    "kube_pod_info": {**POD, "created_by_kind": "Workflow", "created_by_name": "etl-x7k2p"},
    "kube_pod_labels": {**POD, "label_workflows_argoproj_io_workflow": "etl-x7k2p"},
    "kube_pod_completion_time": POD,
    "kube_pod_status_phase": {**POD, "phase": "Succeeded"},
    "kube_pod_container_info": MAIN,
}
"""A step of Argo that has ended, in a Prometheus that knows no annotation."""
NODE = {**POD, "annotation_workflows_argoproj_io_node_name": "etl-x7k2p.load-orders"}
END_S = 1_700_000_000.0


class Series:
    """A Prometheus with one series of each of these metrics."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = labels

    async def ask(self, promql: str, at_s: float) -> list[Sample]:
        return [
            Sample(labels, at_s - 60.0)
            for metric, labels in self._labels.items()
            if f"{metric}{{" in promql
        ]


async def read(
    series: Mapping[str, Mapping[str, str]],
) -> tuple[list[Observation], dict[str, int]]:
    """The attempts, and the pods that are left out, by the reason."""
    client = cast(PrometheusClient, Series(series))
    reader = PastReader(client, Where((), ()), ReadingRules())
    found = [each async for some in reader.read(END_S - 3600, END_S) for each in some]
    return found, dict(+reader.progress.left_out)


async def test_a_step_of_argo_has_the_name_of_live_ones() -> None:
    found, left_out = await read({**STEP, "kube_pod_annotations": NODE})
    assert [each.task.name for each in found] == ["argo.etl.load.load-orders"]
    assert left_out == {}


async def test_a_step_of_argo_that_no_series_names_is_left_out_with_what_to_do() -> None:
    found, left_out = await read(STEP)
    (reason,) = left_out
    assert (found, left_out[reason]) == ([], 1)
    assert "--metric-annotations-allowlist=pods=[workflows.argoproj.io/node-name]" in reason
