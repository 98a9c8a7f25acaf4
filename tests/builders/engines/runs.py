"""A family of pods: one task of an engine, with any number of runs."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

API_SERVERS_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""https://github.com/kubernetes/apimachinery/blob/master/pkg/util/rand/rand.go"""


@dataclass(frozen=True, slots=True)
class Task:
    """One task as people would count it. engine: makes its pods.

    make: one pod of a run, as admission sees it. recognised: the least share of its runs that have
        to be recognised without a label; below 1 only where names are given up that people could
        have written, too.
    """

    engine: str
    name: str
    make: Callable[[Chance], Json]
    recognised: float = 1.0


class Chance:
    """The part of a run that differs from run to run, by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def ending(self, characters: int = 5) -> str:
        """The ending that the API server adds to generateName."""
        return "".join(self._random.choices(API_SERVERS_ALPHABET, k=characters))

    def letters(self, characters: int = 8, alphabet: str = "abcdefghijklmnopqrstuvwxyz0123456789"
                ) -> str:  # fmt: skip
        return "".join(self._random.choices(alphabet, k=characters))

    def hexadecimal(self, characters: int) -> str:
        return self.letters(characters, "0123456789abcdef")

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def number(self, most: int) -> int:
        return self._random.randrange(most)

    def one_of(self, *choices: str) -> str:
        return self._random.choice(choices)

    def time(self) -> str:
        """A time as in Airflow's names of scheduled runs."""
        day, hour = self._random.randrange(1, 29), self._random.randrange(24)
        return f"2026-{self._random.randrange(1, 13):02}-{day:02}T{hour:02}:00:00+00:00"


def a_pod(
    name: str | None = None,
    *,
    prefix: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: tuple[str, str, str, str] | None = None,
    restart: str = "Never",
    containers: tuple[str, ...] = ("main",),
    env: Mapping[str, str] | None = None,
) -> Json:
    """A pod. prefix: of a name that the API server makes. owner: version, kind, name, UID."""
    metadata: Json = {"namespace": "shop"}
    if name is not None:
        metadata["name"] = name
    if prefix is not None:
        metadata["generateName"] = prefix
    if labels is not None:
        metadata["labels"] = dict(labels)
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if owner is not None:
        version, kind, of, uid = owner
        reference = {"apiVersion": version, "kind": kind, "name": of, "uid": uid}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    variables = [{"name": key, "value": value} for key, value in (env or {}).items()]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "restartPolicy": restart,
            "containers": [
                {"name": each, "image": "task:1", "resources": {}, "env": variables}
                for each in containers
            ],
        },
    }


def a_jobs_pod(
    job: str,
    uid: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    index: int | None = None,
    restart: str = "Never",
    containers: tuple[str, ...] = ("main",),
) -> Json:
    """A pod as Kubernetes' Job controller makes it.

    kubernetes/kubernetes: pkg/controller/job/job_controller.go,
    pkg/controller/job/indexed_job_utils.go
    """
    its = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": job,
        "controller-uid": uid,
        "job-name": job,
        **(labels or {}),
    }
    notes = dict(annotations or {})
    prefix = f"{job}-"
    if index is not None:
        its["batch.kubernetes.io/job-completion-index"] = str(index)
        notes["batch.kubernetes.io/job-completion-index"] = str(index)
        prefix = f"{job}-{index}-"
    return a_pod(
        prefix=prefix,
        labels=its,
        annotations=notes or None,
        owner=("batch/v1", "Job", job, uid),
        restart=restart,
        containers=containers,
    )


def safe_label(text: str) -> str:
    """A text as Airflow writes it into a label's value.

    apache/airflow: providers/cncf/kubernetes/src/airflow/providers/cncf/kubernetes/
    kubernetes_helper_functions.py, pod_generator.py (make_safe_label_value)
    """
    import re

    safe = re.sub(r"^[^a-z0-9A-Z]*|[^a-zA-Z0-9_\-\.]|[^a-z0-9A-Z]*$", "", text)
    if len(safe) > 63 or text != safe:
        ending = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:9]
        safe = f"{safe[: 63 - len(ending) - 1]}-{ending}"
    return safe
