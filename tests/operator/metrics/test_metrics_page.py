"""docs/metrics.md names every metric that exists, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry

from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.agent.alarm_sender import AlarmSender
from plimsoll_operator.agent.metrics import AgentMetrics
from plimsoll_operator.agent.near_limit import NearLimit
from plimsoll_operator.agent.outbox import Outbox
from plimsoll_operator.agent.pod_cgroups import Version
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.extender.metrics import ExtenderMetrics
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.metrics.live import Live
from plimsoll_operator.metrics.process import ProcessMetrics

PAGE = (Path(__file__).parents[3] / "docs/metrics.md").read_text()


def registries() -> Iterator[CollectorRegistry]:
    controller = ControllerMetrics(tasks_shown=1)
    controller.watch(
        Live(
            tasks=lambda: 0,
            store_healthy=lambda: True,
            queued_writes=lambda: 0,
            leaking=lambda: 0,
            spent_budgets=lambda: 0,
            held_ratios=lambda: {"": 0.5},
            models_trained_s=lambda: [1.0, 2.0],
            trainings_waiting=lambda: 0,
            training_waits_s=lambda: 0.0,
            trainings_running=lambda: 0,
            feed_readers=lambda: 0,
            retries=lambda: {"created": 0},
            events=lambda: {"sent": 0},
            feed_untold=lambda: {"tasks": 0},
        )
    )
    yield controller.registry
    yield ProcessMetrics().registry
    yield AdmissionMetrics().registry
    yield ExtenderMetrics().registry
    outbox = Outbox(0, 0.0, lambda: 0.0)
    sampler = Sampler(Version.V2, {}, lambda: 0.0)
    near = NearLimit(Version.V2, sampler.last, lambda: 0.0)
    alarms = AlarmSender("n1", lambda *_: (204, ""), lambda: 0)
    yield AgentMetrics(outbox, sampler, near, alarms).registry


def shown() -> set[str]:
    families = (family for registry in registries() for family in registry.collect())
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in families
        if family.name.startswith("plimsoll_")
    }


def test_every_metric_is_on_the_page_and_no_other() -> None:
    assert set(re.findall(r"`(plimsoll_\w+)`", PAGE)) == shown()


def test_types_and_labels_are_as_the_page_says() -> None:
    rows = re.findall(r"^\| `(plimsoll_\w+)` \| (\w+) \| ([^|]*) \|", PAGE, flags=re.MULTILINE)
    told = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    for registry in registries():
        for family in registry.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            if name not in told:
                continue
            found = {label for sample in family.samples for label in sample.labels} - {"le"}
            kind, labels = told[name]
            assert kind == family.type, name
            assert found <= labels, name
