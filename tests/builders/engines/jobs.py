"""Pods of plain and Indexed Jobs, and of CronJobs, as of Kubernetes 1.35.4.

Its version is in deploy/local/kubernetes/go.mod.

kubernetes/kubernetes:

- pkg/controller/job/job_controller.go, ``manageJob``: <Job>-<random>, or <Job>-<index>-<random>
- pkg/controller/cronjob/cronjob_controllerv2.go, ``getJobName``: <CronJob>-<minutes since 1970>
- pkg/registry/batch/job/strategy.go, ``generateSelectorIfNeeded``: the labels on a Job's pods
"""

from __future__ import annotations

from functools import partial

from tests.builders.engines.job_patches import patch_for_unlabelled_job
from tests.builders.engines.runs import Chance, Json, Task, a_jobs_pod
from tests.builders.pods import APod


def job(chance: Chance, name: str, indexed: bool = False) -> Json:
    """A pod of a Job that people named, deleted, and created again."""
    return a_jobs_pod(name, chance.uid(), index=chance.number(90) if indexed else None)


def dated_job(chance: Chance, name: str) -> Json:
    """A pod of a Job that a script creates each night, with the date in its name."""
    return a_jobs_pod(f"{name}-{chance.time()[:10]}", chance.uid())


def generated_job(chance: Chance, prefix: str, seen: bool) -> Json:
    """A pod of a Job created with generateName. seen: whether admission saw the Job itself."""
    notes = _notes({"generateName": prefix}) if seen else {}
    return a_jobs_pod(f"{prefix}{chance.ending()}", chance.uid(), annotations=notes)


def trial(chance: Chance, experiment: str) -> Json:
    """A pod of a Job that Katib made for a trial: it draws eight letters, without generateName."""
    name = f"{experiment}-{chance.ending(8)}"
    return a_jobs_pod(name, chance.uid(), annotations=_notes({"name": name}))


def _notes(metadata: Json) -> Json:
    """What admission writes on the pods of a Job whose creation it sees."""
    manifest = {
        "metadata": metadata,
        "spec": {"template": {"metadata": {}, "spec": {"restartPolicy": "Never"}}},
    }
    template = APod(manifest).patched(patch_for_unlabelled_job(manifest)).built()["spec"]
    notes: Json = template["template"]["metadata"]["annotations"]
    return notes


def cronjob(chance: Chance, name: str) -> Json:
    """A pod of a CronJob's Job."""
    return a_jobs_pod(f"{name}-{29_000_000 + chance.number(900_000)}", chance.uid())


TASKS = (
    Task("job", "a Job", partial(job, name="report")),
    Task("job", "an Indexed Job", partial(job, name="shards", indexed=True)),
    Task("job", "a dot in the name", partial(job, name="etl.load")),
    Task("job", "with a date", partial(dated_job, name="backup")),
    Task("job", "generated", partial(generated_job, prefix="train-", seen=True)),
    Task("job", "never seen", partial(generated_job, prefix="score-", seen=False), 0.6),
    # One in seven of such endings has no letter after a digit.
    Task("job", "a trial", partial(trial, experiment="grid"), 0.7),
    Task("cronjob", "a CronJob", partial(cronjob, name="nightly")),
    Task("cronjob", "another", partial(cronjob, name="nightly-bcdfg")),
)
