"""What admission writes on the template of a Job that is created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll_operator.pods.job_attempts import notes_for_job, notes_for_unlabelled_job, patch_with


def patch_for_job(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The operations; none if its pods are not Plimsoll's."""
    return patch_with(job, notes_for_job(job))


def patch_for_unlabelled_job(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same for a Job without the label, in a namespace whose pods are recognised."""
    return patch_with(job, notes_for_unlabelled_job(job))
