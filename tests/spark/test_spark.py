"""A real Spark on the node: what its drivers get, and what wins over it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.splitting.spark_driver import OPTIONS, STEP
from plimsoll_operator.splitting.spark_replaced import PYTHON_OPTIONS
from plimsoll_predictor.splitting.spark.settings import ADAPTIVE, ADVISORY, PARTITIONS
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S
from tests.rigs.processes.command_lines import run_here
from tests.rigs.spark.spark_applications import Application, Ran, executors_of, run_application
from tests.rigs.spark.spark_image import JOBS

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

ALONE = ("--conf", "spark.master=local[1]")
"""In the driver's own process: executors have no influence on a property."""
ASKS = ("found", PARTITIONS)
GIVEN, OWN = "7", "14"
AT_A_TIME = 4
OFF = {ADAPTIVE: "false"}
JOIN = ("join", "200000")
KILLED_ROWS = "500000"
MIB = 512
"""With this heap, a pod's Python function cannot hold half of that many rows, but an eighth."""


async def taught(shop: Shop, name: str, partitions: int, replaces: Sequence[str] = ()) -> None:
    """Write what ``plimsoll spark --teach`` writes, and wait until admission knows it.

    replaces: the properties that the task has replaced in configuration, as people write it.
    """
    profile = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TaskProfile",
        "metadata": {"name": f"spark.{name}.driver"},
        "spec": {"spark": {"partitions": partitions, "replaces": list(replaces)}},
    }
    place = ("plimsoll.dev", "v1alpha1", shop.namespace, "taskprofiles")
    await shop.custom.create_namespaced_custom_object(*place, profile)
    await until(f"{name} is given", lambda: would_be_given(shop, name), WITHIN_S)


async def would_be_given(shop: Shop, name: str) -> str | None:
    """The options that admission would write on a driver; the check has no side effect."""
    container = {"name": "spark-kubernetes-driver", "image": "localhost/none:1"}
    app = {"spark-role": "driver", "spark-app-selector": "spark-0", "spark-app-name": name}
    pod = {
        "metadata": {"name": f"{name}-probe", "labels": app},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    made = await shop.core.create_namespaced_pod(shop.namespace, pod, dry_run="All")
    return options_of(made)


def options_of(pod: Any) -> str | None:
    """The value of the variable that Plimsoll writes; None without it."""
    found = {each.name: each.value for each in pod.spec.containers[0].env or []}
    return found.get(OPTIONS)


def note_of(ran: Ran) -> Mapping[str, Any]:
    note: Mapping[str, Any] = json.loads(ran.driver.metadata.annotations[labels.SPARK])
    return note


async def run_all(shop: Shop, applications: Sequence[Application]) -> list[Ran]:
    """Run applications, only a few at a time: each starts a JVM."""
    turns = asyncio.Semaphore(AT_A_TIME)

    async def run(application: Application) -> Ran:
        async with turns:
            return await run_application(shop, application)

    return await asyncio.gather(*map(run, applications))


async def test_whatever_the_user_set_wins_over_what_is_given(shop: Shop) -> None:
    await taught(shop, "asks", int(GIVEN))
    set_, in_file = ("--conf", f"{PARTITIONS}={OWN}"), {PARTITIONS: OWN}
    python = ["python3", JOBS, *ASKS, "spark.master=local[1]"]
    defaults = {"spark-defaults.conf": f"{PARTITIONS} {OWN}\n"}
    submitted = ["spark-submit", *ALONE, JOBS, *ASKS]
    asking = {
        "nothing": (Application(name="asks", words=ASKS, options=ALONE), GIVEN),
        "nothing, by Python alone": (Application(name="asks", words=(), program=python), GIVEN),
        "file": (Application(name="asks", words=ASKS, options=ALONE, properties=in_file), OWN),
        "--conf": (Application(name="asks", words=ASKS, options=(*ALONE, *set_)), OWN),
        "code": (
            Application(name="asks", words=(*ASKS, f"{PARTITIONS}={OWN}"), options=ALONE),
            OWN,
        ),
        "defaults": (Application(name="asks", words=(), program=submitted, files=defaults), OWN),
    }
    found = await run_all(shop, [each for each, _ in asking.values()])
    said = {how: ran.said for how, ran in zip(asking, found, strict=True)}
    assert said == {how: f"FOUND {wanted}" for how, (_, wanted) in asking.items()}
    assert all(options_of(ran.driver) for ran in found)


async def test_what_a_policy_replaces_wins_over_configuration_and_loses_to_code(
    shop: Shop,
) -> None:
    await taught(shop, "replaces", int(GIVEN), [PARTITIONS])
    job = Application(name="replaces", words=ASKS, options=ALONE)
    python = ["python3", JOBS, *ASKS, "spark.master=local[1]"]
    in_code = f"{PARTITIONS}={OWN}"
    in_file = {PARTITIONS: OWN}
    defaults = {"spark-defaults.conf": f"{PARTITIONS} {OWN}\n"}
    shell = {PYTHON_OPTIONS: "pyspark-shell"}
    submitted = ["spark-submit", *ALONE, JOBS, *ASKS]
    asking = {
        "nothing": (job, GIVEN),
        "file": (replace(job, properties=in_file), GIVEN),
        "--conf": (replace(job, options=(*ALONE, "--conf", in_code)), GIVEN),
        "defaults": (replace(job, program=submitted, files=defaults), GIVEN),
        "defaults, by Python": (
            replace(job, program=python, files=defaults, variables=shell),
            GIVEN,
        ),
        "code": (replace(job, words=(*ASKS, in_code), properties=in_file), OWN),
        "code, by Python": (replace(job, program=[*python, in_code], variables=shell), OWN),
        "a shell": (
            replace(job, program=["bash", "-c", " ".join(submitted)], files=defaults),
            OWN,
        ),
    }
    found = await run_all(shop, [each for each, _ in asking.values()])
    said = {how: ran.said for how, ran in zip(asking, found, strict=True)}
    assert said == {how: f"FOUND {wanted}" for how, (_, wanted) in asking.items()}
    notes = {how: note_of(ran) for how, ran in zip(asking, found, strict=True)}
    assert [how for how, note in notes.items() if "replaces" not in note] == ["a shell"]
    assert "a number in configuration stays" in notes["a shell"]["warning"]


async def test_a_job_killed_at_its_default_gets_through_with_smaller_partitions_at_the_same_memory(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    job = Application(name="holds", words=("whole", KILLED_ROWS), executor_mib=MIB)
    first = await run_application(shop, job)
    assert (first.phase, options_of(first.driver)) == ("Failed", None)
    for _ in range(3):
        await until("the kill is told", lambda: would_be_given(shop, "holds"), WITHIN_S)
        ran = await run_application(shop, job)
        if ran.phase == "Succeeded":
            break
    assert ran.phase == "Succeeded", ran.said
    note = note_of(ran)
    assert note["done"] is True
    assert note["properties"][ADVISORY] in {"16m", "4m", "1m"}
    executors = [*await executors_of(shop, first), *await executors_of(shop, ran)]
    memory = {each.spec.containers[0].resources.limits["memory"] for each in executors}
    assert len(memory) == 1, memory
    steps = {each.metadata.annotations.get(STEP) for each in await executors_of(shop, ran)}
    assert steps == {str(note["step"])}


async def test_what_a_log_teaches_is_given_to_the_next_driver(
    shop: Shop, cluster: Cluster, logs: Path
) -> None:
    job = Application(name="joins", words=JOIN, properties=OFF, logs=logs)
    assert (await run_application(shop, job)).phase == "Succeeded"
    assert "spec.spark.partitions is 6" in await learned(shop, cluster, logs, "joins")
    await until("it is given", lambda: would_be_given(shop, "joins"), WITHIN_S)
    assert note_of(await run_application(shop, job))["properties"] == {PARTITIONS: "6"}


async def test_a_log_teaches_in_place_of_configuration_once_a_policy_says_so(
    shop: Shop, cluster: Cluster, logs: Path
) -> None:
    name = "configured"
    job = Application(name=name, words=JOIN, properties={**OFF, PARTITIONS: "400"}, logs=logs)
    assert (await run_application(shop, job)).phase == "Succeeded"
    said = await learned(shop, cluster, logs, name)
    assert "was set by its user" in said
    assert "spark.replaces in a policy allows it (6 partitions do" in said
    cluster.apply(
        {
            "apiVersion": "plimsoll.dev/v1alpha1",
            "kind": "TaskProfile",
            "metadata": {"name": f"spark.{name}.driver", "namespace": shop.namespace},
            "spec": {"spark": {"replaces": [PARTITIONS]}},
        }
    )
    assert "spec.spark.partitions is 6" in await learned(shop, cluster, logs, name)
    await until("it is given", lambda: would_be_given(shop, name), WITHIN_S)
    ran = await run_application(shop, job)
    assert note_of(ran)["replaces"] == [PARTITIONS]
    assert "spec.spark.partitions is 6" in await learned(shop, cluster, logs, name)


async def learned(shop: Shop, cluster: Cluster, logs: Path, name: str) -> str:
    """Let the newest log teach an application's drivers; return the command's output."""
    log = max(logs.iterdir(), key=lambda each: each.stat().st_mtime)
    words = ["spark", str(log), "--teach", f"{shop.namespace}/spark.{name}.driver"]
    kubeconfig = ("--kubeconfig", str(cluster.kubeconfig))
    done = await asyncio.to_thread(run_here, *words, *kubeconfig)
    assert done.returncode == 0, done.stderr
    return done.stderr
