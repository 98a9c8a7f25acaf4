"""Scenarios of Jobs, whose own controller makes their next pods, or makes none."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names import labels
from tests.harm.manifests import a_container, a_job, a_template, eats
from tests.harm.plays import jobs, of_a_cron_job, resumed
from tests.harm.scenario import Past, Scenario
from tests.harm.watching import MAIN

INDEXED: dict[str, Any] = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
TAKES_S, DEADLINE_S = 95, 190
"""A second attempt, after the Job controller's 10 s, would end after the deadline."""
ENDS_WITH_137 = {
    "rules": [
        {
            "action": "FailJob",
            "onExitCodes": {"containerName": MAIN, "operator": "In", "values": [137]},
        }
    ]
}
NAMED = a_template()
NAMED["metadata"]["annotations"] = {labels.RUN: "nightly", labels.ITEM: "eu"}
"""A CronJob's template whose annotations make all its Jobs claim to be the same run."""
UNCOUNTING = a_job("uncounting", backoffLimit=3)
UNCOUNTING["metadata"]["annotations"] = {labels.KILLED_ATTEMPTS: "ignore"}

SCENARIOS = (
    Scenario("a Job tried once (backoffLimit 0)", plays=jobs(a_job("once", backoffLimit=0))),
    Scenario("a Job tried twice (backoffLimit 1)", plays=jobs(a_job("twice", backoffLimit=1))),
    Scenario(
        "a Job tried seven times (backoffLimit 6)",
        plays=jobs(a_job("patient", backoffLimit=6)),
        lowers=True,
    ),
    Scenario(
        "an Indexed Job, each index tried once",
        plays=jobs(a_job("indexed", backoffLimitPerIndex=0, **INDEXED)),
    ),
    Scenario(
        "an Indexed Job, each index tried twice",
        plays=jobs(a_job("indexed", backoffLimitPerIndex=1, **INDEXED)),
    ),
    Scenario(
        "8 pods of a Job at once (backoffLimit 2)",
        plays=jobs(a_job("wide", backoffLimit=2, completions=8, parallelism=8)),
    ),
    Scenario(
        "4 pods of a Job in a row (backoffLimit 2)",
        plays=jobs(a_job("row", backoffLimit=2, completions=4)),
    ),
    Scenario(
        "a Job that fails at exit 137 (podFailurePolicy)",
        plays=jobs(a_job("strict", backoffLimit=3, podFailurePolicy=ENDS_WITH_137)),
    ),
    Scenario(
        "a Job restarted in place (OnFailure)",
        plays=jobs(a_job("inplace", a_template(restartPolicy="OnFailure"), backoffLimit=6)),
        lowers=True,
    ),
    Scenario(
        "a Job restarted in place, tried four times",
        plays=jobs(a_job("inplace", a_template(restartPolicy="OnFailure"), backoffLimit=3)),
    ),
    Scenario(
        "a Job restarted in place, tried once",
        plays=jobs(a_job("inplace", a_template(restartPolicy="OnFailure"), backoffLimit=0)),
    ),
    Scenario(
        "a Job that waits in a queue (suspend)",
        plays=resumed(a_job("queued", backoffLimit=6)),
        lowers=True,
    ),
    Scenario(
        "a Job resumed while admission is away",
        plays=resumed(a_job("resumed", backoffLimit=6), while_admission_is_away=True),
        alone=True,
    ),
    Scenario(
        "a Job that counts no lowered attempt",
        plays=jobs(UNCOUNTING),
        lowers=True,
    ),
    Scenario(
        "a Job with no time for a second try",
        plays=jobs(
            a_job(
                "hurried",
                a_template(a_container(eats(after_s=TAKES_S))),
                backoffLimit=6,
                activeDeadlineSeconds=DEADLINE_S,
            )
        ),
        past=Past(tuple(38 + number % 3 for number in range(12)), ran_s=TAKES_S + 2),
    ),
    Scenario(
        "Jobs of a CronJob, all named as one run",
        plays=of_a_cron_job(
            a_job("first", NAMED, backoffLimit=1), a_job("second", NAMED, backoffLimit=1)
        ),
    ),
)
