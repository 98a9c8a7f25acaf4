"""Pods by an author who wants to harm: each as large, as odd and as unlike the others as may be.

The API server would refuse some of them. But everything read from a pod has to be bounded: pods
also come from AdmissionReviews that anybody may send, and from a Prometheus' past.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.names import labels

Json = dict[str, Any]

ANNOTATION_CHARS: Final = 250_000
"""As much as the API server lets all annotations of a pod have."""
FILL: Final = "abcdefghij" * (ANNOTATION_CHARS // 10)
ODD_TEXTS: Final = (
    "💥" * 1000,
    "\x00\x01\n" * 300,
    "\ud800 half",
    "\u202egnp.exe",
    "'; DROP TABLE observations; --",
    "../" * 500,
    "١٢٣",
    "~" * 200,
)
ODD_NUMBERS: Final = (
    "NaN",
    "-1",
    "1e308",
    "-1e308",
    "9" * 250,
    "Infinity",
    "0x10",
    "1_000",
    "1e15",
)
ODD_VALUES: Final[tuple[Any, ...]] = (None, -1, 1e308, True, [], {}, ["x"], {"a": {"b": 1}}, 2**70)
MOST_WORDS: Final = 700_000
"""As many words of one character as fit into a pod."""
QUANTITIES: Final = ("128Mi", "256Mi", "1Gi", "64Mi")
ODD_QUANTITIES: Final = ("-1Gi", "0", "100Ei", "1e400", "NaN")


@dataclass(frozen=True, slots=True)
class HostilePod:
    """One pod. number: unique. document: the pod as it is created."""

    number: int
    document: Json

    @property
    def uid(self) -> str:
        return str(self.document["metadata"]["uid"])

    def sized(self, operations: list[Json]) -> HostilePod:
        """The pod as admission leaves it. It copies only changed parts: the rest may be large."""
        document = self.document
        for operation in operations:
            keys = [key.replace("~1", "/") for key in operation["path"].split("/")[1:]]
            document = _set(document, keys, operation["value"])
        return replace(self, document=document)

    def running(self) -> Json:
        """The pod on its node."""
        state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        return self._with("Running", state)

    def ended(self) -> Json:
        """The pod killed, done or failed, all equally often."""
        reason, code = (("OOMKilled", 137), ("Completed", 0), ("Error", 1))[self.number % 3]
        ended = {
            "reason": reason,
            "exitCode": code,
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": "2026-01-01T00:01:00Z",
            "containerID": "containerd://main",
        }
        return self._with("Failed" if code else "Succeeded", {"terminated": ended})

    def peak(self) -> PeakReport:
        """An agent's report of the pod."""
        need_bytes = (self.number % 900 + 20) * 2**20
        return PeakReport(
            pod_uid=self.uid,
            container_id=None,
            need_peak_bytes=need_bytes,
            kernel_peak_bytes=need_bytes,
            working_set_peak_bytes=need_bytes,
            anon_peak_bytes=need_bytes,
            cpu_s=1.0,
            limit_bytes=None,
            final=True,
            measured_s=1_767_225_665.0,
        )

    def _with(self, phase: str, state: Json) -> Json:
        name = self.document["spec"]["containers"][0]["name"]
        status = {
            "phase": phase,
            "containerStatuses": [
                {
                    "name": name,
                    "restartCount": 0,
                    "containerID": "containerd://main",
                    "state": state,
                }
            ],
        }
        spec = {**self.document["spec"], "nodeName": f"node-{self.number}-{FILL[:230]}"}
        return {**self.document, "spec": spec, "status": status}


def _set(document: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    first, *others = keys
    if isinstance(document, list):
        number = int(first)
        return [*document[:number], _set(document[number], others, value), *document[number + 1 :]]
    return {**document, first: _set(document.get(first, {}), others, value)}


def hostile_pods(count: int, seed: int, worst_every: int = 20) -> Iterator[HostilePod]:
    """Pods of five namespaces.

    worst_every: every n-th pod is as large as it may be in every way at once.
    """
    rng = random.Random(seed)
    for number in range(count):
        worst = number % worst_every == 0
        yield HostilePod(number, _pod(number, rng, f"evil-{number % 5}", worst))


def oddly_typed_pods(count: int, seed: int) -> Iterator[Json]:
    """Pods in which any field may have any type."""
    rng = random.Random(seed)
    for pod in hostile_pods(count, seed):
        running = pod.running()
        # The API server itself writes a status, so its types are right.
        yield {**{key: _spoiled(running[key], rng) for key in running}, "status": running["status"]}


class Counted(list[Any]):
    """A list that counts how often an element is read. reads: so far."""

    def __init__(self, elements: Iterable[Any]) -> None:
        super().__init__(elements)
        self.reads = 0

    def __iter__(self) -> Iterator[Any]:
        for element in super().__iter__():
            self.reads += 1
            yield element

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.reads += len(found) if isinstance(place, slice) else 1
        return found


def wordy_pod() -> tuple[Json, Counted, Counted]:
    """A pod whose program gets as many arguments and variables as fit; and these two lists."""
    arguments = Counted(["x"] * MOST_WORDS)
    variables = Counted({"name": f"V{number}", "value": "1"} for number in range(MOST_WORDS // 10))
    document = _pod(1, random.Random(1), "evil-1", worst=False)
    document["spec"]["containers"][0] |= {"args": arguments, "env": variables}
    return document, arguments, variables


def _pod(number: int, rng: random.Random, namespace: str, worst: bool) -> Json:
    memory = "128Mi" if worst else rng.choice(ODD_QUANTITIES if number % 9 == 0 else QUANTITIES)
    metadata: Json = {
        "name": f"{number}-{FILL[:240]}",
        "namespace": namespace,
        "uid": f"6f1c2a8e-0000-4000-8000-{number:012}",
        "creationTimestamp": "2025-12-31T23:59:59Z",
        "labels": {labels.TASK: _task(number, worst)},
        "annotations": _features(number, rng, worst) | _words(number, rng, worst),
    }
    _EXTRAS[0 if worst else number // 3 % len(_EXTRAS)](metadata, number)
    container = {
        "name": "main",
        "image": f"registry/{number}/{FILL[:20_000]}",
        "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}},
    }
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [container]}}


def _task(number: int, worst: bool) -> str:
    # Thousands of tasks; half of the pods have the same few, so that these learn.
    name = number if worst or number % 2 else number % 10
    return f"t{name}-{FILL}"[:63]


def _features(number: int, rng: random.Random, worst: bool) -> Json:
    prefix = labels.FEATURE_PREFIX
    if worst:
        return {f"{prefix}f{each:02}-{FILL[:50]}": f"{number}{FILL[:250]}" for each in range(64)}
    values = (*ODD_NUMBERS, *(text[:256] for text in ODD_TEXTS), str(number), "north")
    names = [f"f{each}" for each in range(rng.randrange(100))]
    return {f"{prefix}{name}": rng.choice(values) for name in names}


def _words(number: int, rng: random.Random, worst: bool) -> Json:
    if worst or number % 7 == 0:
        long = f"{number}-{_filling(number)}"
        return {labels.RUN: f"run {long}", labels.ITEM: f"item {long}", labels.RUN_OF: long}
    text = rng.choice(ODD_TEXTS)
    return {
        labels.RUN: f"r{number}{text}",
        labels.ITEM: f"i{number}{text}" if number % 2 else f"i{number}",
        labels.RUN_OF: f"{number}{text}",
        labels.DECISION: rng.choice((text, "{}", "[]", json.dumps({"run": FILL[:5000]}))),
        labels.MODE: "enforce" if number % 5 else text,
    }


def _filling(number: int) -> str:
    """Three in a pod fill its annotations; most have less, so that ten thousand take seconds."""
    return FILL[: ANNOTATION_CHARS // 3 if number % 20 == 0 else 1000]


def _bare(_metadata: Json, _number: int) -> None:
    """The pod has no owner."""


def _of_owner(metadata: Json, number: int) -> None:
    long = _filling(number)
    name = f"{number}{'-000000' * (len(long) // 7)}"
    owner = {"kind": "Thing", "name": name, "uid": f"{number}{long}", "controller": True}
    metadata["ownerReferences"] = [owner]
    metadata["labels"][labels.TASK] = "auto"


def _of_job(metadata: Json, number: int) -> None:
    long = _filling(number)
    owner = {"kind": "Job", "name": "job", "uid": f"{number}{long}", "controller": True}
    metadata["ownerReferences"] = [owner]
    metadata["annotations"]["batch.kubernetes.io/job-completion-index"] = long
    for name in (labels.RUN, labels.ITEM):
        metadata["annotations"].pop(name, None)


def _of_argo(metadata: Json, number: int) -> None:
    metadata["labels"].update({labels.TASK: "auto", "workflows.argoproj.io/workflow": f"w{number}"})
    name = ("\ud800", "a\x00b", "日本" * 40, f"t{number}" + "x" * 200, "/")[number % 5]
    metadata["annotations"] |= {
        "workflows.argoproj.io/node-name": f"w{number}(0:{_filling(number)})",
        "workflows.argoproj.io/template": json.dumps({"name": name}),
    }


_EXTRAS: Final[tuple[Callable[[Json, int], None], ...]] = (_bare, _of_owner, _of_job, _of_argo)


def _spoiled(document: Any, rng: random.Random) -> Any:
    """Put values of another type in some places."""
    if rng.random() < 0.05:
        return rng.choice(ODD_VALUES)
    if isinstance(document, dict):
        return {key: _spoiled(value, rng) for key, value in document.items()}
    if isinstance(document, list):
        return [_spoiled(value, rng) for value in document]
    return document
