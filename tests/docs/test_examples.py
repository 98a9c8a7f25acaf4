"""The examples keep their word: whole Jobs whose pods do each item once, however they are cut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_operator.names import labels
from plimsoll_operator.splitting.items_job import read_items_job
from plimsoll_operator.splitting.leased_job import Leasing, told_template, wants_leases

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLES = CHECKOUT / "examples"
ITEMS = 1200


def the_job(file: str = "job-over-items.yaml") -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / file).read_text())
    return job


def test_the_job_can_be_cut() -> None:
    found = read_items_job(the_job())
    assert found.kept is None
    assert (found.cuttable.items, found.cuttable.pods, found.cuttable.workers) == (ITEMS, 8, 8)
    assert found.cuttable.most_listed >= 8, "its program reads where its items begin"


def of_the_jobset() -> dict[str, Any]:
    """The Job as the JobSet's controller makes it."""
    jobset = the_job("leased-jobset.yaml")
    (replicated,) = jobset["spec"]["replicatedJobs"]
    owner = {"apiVersion": jobset["apiVersion"], "kind": "JobSet", "name": "s", "controller": True}
    name = {"name": "s-workers-0", "namespace": "shop", "ownerReferences": [owner]}
    template = replicated["template"]
    return {**template, "metadata": {**template["metadata"], **name}}


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(the_job("leased-job.yaml"), id="a Job"),
        pytest.param(of_the_jobset(), id="a JobSet's"),
    ],
)
def test_pods_of_the_leased_examples_are_told_how_to_lease(job: dict[str, Any]) -> None:
    assert wants_leases(job)
    assert read_items_job(job).cuttable.items == ITEMS
    patch, notes = told_template(job, "shop", Leasing("http://leases:8083", b"k" * 32, "run-1"))
    assert [each["path"] for each in patch] == ["/spec/template/spec/containers/0/env"]
    assert notes == {labels.LEASE_RUN: "run-1"}


def commands() -> dict[str, list[str]]:
    (container,) = the_job()["spec"]["template"]["spec"]["containers"]
    return {
        "shell": [*container["command"], *container["args"]],
        "python": [sys.executable, str(EXAMPLES / "loop-over-items.py")],
        "processes": [sys.executable, str(EXAMPLES / "loop-in-one-pod.py")],
    }


@pytest.mark.slow
@pytest.mark.parametrize("program", ["shell", "python", "processes"])
@pytest.mark.parametrize(
    ("shares", "starts"),
    [(1, ""), (7, ""), (7, None), (5, "0 500 1000 1100 1199 1200"), (1, "0 1200")],
)
def test_all_shares_together_are_all_items_once(
    program: str, shares: int, starts: str | None
) -> None:
    done: list[int] = []
    for index in range(shares):
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CHECKOUT / "operator"),
            "PLIMSOLL_ITEMS": str(ITEMS),
            "PLIMSOLL_SHARES": str(shares),
            "JOB_COMPLETION_INDEX": str(index),
            **({} if starts is None else {"PLIMSOLL_STARTS": starts}),
        }
        ran = subprocess.run(
            commands()[program], env=environment, capture_output=True, text=True, check=True
        )
        done += [int(line.removeprefix("item ")) for line in ran.stdout.splitlines()]
    assert done == list(range(ITEMS))
