"""Jobs over items, and what admission answers about them."""

from __future__ import annotations

from functools import cache
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.pods.job_attempts import notes_for_job, patch_with
from plimsoll_operator.sizing.job_sizing import Moment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.cut_job import CutJob, cut_new_job
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, Learned, learned_of
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

Json = dict[str, Any]
ITEMS, SHARES, WORKERS = 400, 40, 4


@cache
def one_each(largest: int = 10) -> Learned:
    """Chunks of short items: every additional pod costs more than it gains."""
    found = learned_of([ChunkRun(largest, 0.1, 1.5, 20 * MIB) for _ in range(40)])
    assert found is not None
    return found


def a_job(**spec: Any) -> Json:
    pod = a_pod().asking("1Gi").limited("1Gi").built()
    pod["spec"]["containers"][0]["env"] = [
        {"name": "MINE", "value": str(SHARES)},
        {"name": "PLIMSOLL_ITEMS", "value": str(ITEMS)},
        {"name": "PLIMSOLL_SHARES", "value": str(SHARES)},
    ]
    template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
    return {
        "metadata": {
            "name": "train",
            "namespace": "shop",
            "annotations": {labels.ITEMS: str(ITEMS)},
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": SHARES,
            "parallelism": WORKERS,
            "backoffLimitPerIndex": 3,
            "template": template,
            **spec,
        },
    }


def moment_of(mode: Mode = Mode.ENFORCE, learned: Learned | None = None, **state: Any) -> Moment:
    chunks = {TRAIN: learned or one_each()}
    known = {TRAIN: knowledge_of(mode=mode)}
    return Moment(AdmissionState(**{"tasks": known, "chunks": chunks, **state}), "shop")


def answered(job: Json, moment: Moment | None = None) -> CutJob:
    found = cut_new_job(job, moment or moment_of())
    assert found is not None
    return found


def after(job: Json, found: CutJob) -> Json:
    """The Job as the API server keeps it."""
    notes = {**(notes_for_job(found.job) or {}), **found.notes}
    return APod(job).patched([*patch_with(job, notes), *found.patch]).built()


def env_of(job: Json) -> dict[str, str]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def applied(job: Json) -> None:
    job["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
