"""The examples are what they say: whole Jobs, whose pods do each item once however they are cut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_operator.splitting.items_job import read_items_job

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLES = CHECKOUT / "examples"
ITEMS = 1200


def the_job() -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / "job-over-items.yaml").read_text())
    return job


def test_the_job_can_be_cut() -> None:
    found = read_items_job(the_job())
    assert found.kept is None
    assert (found.cuttable.items, found.cuttable.pods, found.cuttable.workers) == (ITEMS, 8, 8)


def commands() -> dict[str, list[str]]:
    (container,) = the_job()["spec"]["template"]["spec"]["containers"]
    return {
        "shell": [*container["command"], *container["args"]],
        "python": [sys.executable, str(EXAMPLES / "loop-over-items.py")],
    }


@pytest.mark.parametrize("program", ["shell", "python"])
@pytest.mark.parametrize("shares", [1, 7])
def test_all_shares_together_are_all_items_once(program: str, shares: int) -> None:
    done: list[int] = []
    for index in range(shares):
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CHECKOUT / "operator"),
            "PLIMSOLL_ITEMS": str(ITEMS),
            "PLIMSOLL_SHARES": str(shares),
            "JOB_COMPLETION_INDEX": str(index),
        }
        ran = subprocess.run(
            commands()[program], env=environment, capture_output=True, text=True, check=True
        )
        done += [int(line.removeprefix("item ")) for line in ran.stdout.splitlines()]
    assert done == list(range(ITEMS))
