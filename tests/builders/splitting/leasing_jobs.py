"""Jobs whose pods lease their items, and what admission answers about them."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.pods.job_attempts import notes_for_job, patch_with
from plimsoll_operator.splitting.cut_job import CutJob, cut_new_job
from plimsoll_operator.splitting.leased_job import Leasing
from plimsoll_predictor.core.policy import Mode
from tests.builders.pods import APod
from tests.builders.splitting.items_jobs import a_job, moment_of

Json = dict[str, Any]
KEY = b"k" * 32
LEASING = Leasing("http://plimsoll-leases.plimsoll.svc:8083", KEY, "review-1")


def a_leased_job(**spec: Any) -> Json:
    job = a_job(**spec)
    job["metadata"]["annotations"][labels.LEASES] = "true"
    return job


def answered(job: Json, leasing: Leasing | None = LEASING, mode: Mode = Mode.ENFORCE) -> CutJob:
    found = cut_new_job(job, moment_of(mode), leasing)
    assert found is not None
    return found


def after(job: Json, found: CutJob) -> Json:
    """The Job as the API server keeps it."""
    notes = {**(notes_for_job(found.job) or {}), **found.notes}
    made = APod(job).patched([*patch_with(job, notes), *found.patch]).built()
    made["metadata"]["uid"] = "uid-1"
    return made
