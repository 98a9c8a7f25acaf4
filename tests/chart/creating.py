"""A thread that creates labelled pods by dry-run, and counts the results."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.names import labels
from tests.conftest import Cluster

PATH = "/api/v1/namespaces/{namespace}/pods?dryRun=All"
USUALLY_S, OFTEN_S = 0.25, 0.1
"""Pauses between two pods."""


@dataclass(slots=True)
class Creations:
    """Results of the pods: decided, undecided or refused; and the time of the slowest."""

    decided: int = 0
    undecided: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    pause_s: float = USUALLY_S

    @contextlib.contextmanager
    def often(self) -> Iterator[None]:
        """More pods a second inside the block, where something happens that could lose one."""
        self.pause_s = OFTEN_S
        try:
            yield
        finally:
            self.pause_s = USUALLY_S

    def count(self, status: int, answer: Mapping[str, Any], took_s: float) -> None:
        self.slowest_s = max(self.slowest_s, took_s)
        when = time.strftime("%X")
        if status != 201:
            self.refused.append(f"{when} {status} {answer.get('message')}")
        elif labels.DECISION in answer["metadata"].get("annotations", {}):
            self.decided += 1
        else:
            self.undecided.append(when)


def a_labelled_pod(name: str, task: str = "created") -> dict[str, Any]:
    """A pod that no node has to run."""
    resources = {"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}}
    container = {"name": "main", "image": "localhost/none:1", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {labels.TASK: task}},
        "spec": {"containers": [container]},
    }


def is_decided(cluster: Cluster, namespace: str, name: str) -> bool:
    """Whether Plimsoll decides a pod that is created by dry-run."""
    said = cluster.kubectl(
        "create", "--dry-run=server", "-o", "json", "-n", namespace, "-f", "-",
        stdin=json.dumps(a_labelled_pod(name)),
    )  # fmt: skip
    return labels.DECISION in json.loads(said)["metadata"].get("annotations", {})


@contextlib.contextmanager
def creating(cluster: Cluster, namespace: str) -> Iterator[Creations]:
    """Create one pod after the other, on one connection, until the block ends."""
    counted, ended = Creations(), threading.Event()
    connect = _connector(cluster)

    def work() -> None:
        connection, number = connect(), 0
        while not ended.wait(counted.pause_s):
            number += 1
            body = json.dumps(a_labelled_pod(f"created-{number}"))
            began_s = time.monotonic()
            connection.request("POST", PATH.format(namespace=namespace), body, connect.headers)
            answer = connection.getresponse()
            found = json.loads(answer.read())
            counted.count(answer.status, found, time.monotonic() - began_s)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield counted
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class _Connector:
    host: str
    context: ssl.SSLContext
    headers: dict[str, str]

    def __call__(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.host, context=self.context, timeout=30)


def _connector(cluster: Cluster) -> _Connector:
    found = json.loads(
        cluster.kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json")
    )
    server = found["clusters"][0]["cluster"]
    context = ssl.create_default_context(cafile=str(cluster.handle.layout.certificates / "ca.crt"))
    token = found["users"][0]["user"]["token"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return _Connector(str(server["server"]).removeprefix("https://"), context, headers)
