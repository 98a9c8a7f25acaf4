"""Pods for tests. Every step gives a new builder, so a base can be shared and never leaks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.names import labels
from tests.builders.json_copies import json_copy

POD_UID = "6f1c2a8e-0000-4000-8000-000000000001"
JOB_UID = "6f1c2a8e-0000-4000-8000-00000000000a"

_Json = dict[str, Any]

RUNNING: _Json = {
    "name": "main",
    "restartCount": 0,
    "containerID": "containerd://main",
    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
}
"""The status of a container that runs."""


@dataclass(frozen=True, slots=True)
class APod:
    """Builds one pod as the API server shows it to admission."""

    _built: Mapping[str, Any]

    def built(self) -> _Json:
        """The pod; the caller may change it."""
        built: _Json = json_copy(dict(self._built))
        return built

    def in_namespace(self, namespace: str | None) -> APod:
        return self._with(lambda pod: _set_or_drop(pod["metadata"], "namespace", namespace))

    def named(self, name: str, uid: str | None = POD_UID) -> APod:
        """With a name, and by default created: it has a UID."""

        def change(pod: _Json) -> None:
            pod["metadata"].pop("generateName", None)
            pod["metadata"]["name"] = name
            _set_or_drop(pod["metadata"], "uid", uid)

        return self._with(change)

    def generated_from(self, prefix: str) -> APod:
        """Not named yet: the API server will."""

        def change(pod: _Json) -> None:
            pod["metadata"].pop("name", None)
            pod["metadata"]["generateName"] = prefix

        return self._with(change)

    def labelled(self, task: str | None = None, **labels_: str) -> APod:
        """task: of plimsoll.dev/task; other labels by keyword."""
        named = {} if task is None else {labels.TASK: task}
        return self.with_labels({**named, **labels_})

    def with_labels(self, values: Mapping[str, str]) -> APod:
        return self._with(lambda pod: pod["metadata"].setdefault("labels", {}).update(values))

    def unlabelled(self) -> APod:
        return self._with(lambda pod: pod["metadata"].pop("labels", None))

    def annotated(self, values: Mapping[str, Any]) -> APod:
        return self._with(lambda pod: pod["metadata"].setdefault("annotations", {}).update(values))

    def knowing(self, **features: object) -> APod:
        """Features as annotations."""
        prefix = labels.FEATURE_PREFIX
        return self.annotated({f"{prefix}{name}": str(value) for name, value in features.items()})

    def in_mode(self, mode: str) -> APod:
        return self.annotated({labels.MODE: mode})

    def asking(self, memory: str | int | None, *, of: str = "main") -> APod:
        """The memory request of a container; None drops it."""
        return self._with(lambda pod: _set_memory(pod, of, "requests", memory))

    def limited(self, memory: str | int | None, *, of: str = "main") -> APod:
        """The memory limit of a container; None drops it."""
        return self._with(lambda pod: _set_memory(pod, of, "limits", memory))

    def with_cpu(self, request: str | None, limit: str | None = None, *, of: str = "main") -> APod:
        def change(pod: _Json) -> None:
            resources = _container(pod, of).setdefault("resources", {})
            for kind, value in (("requests", request), ("limits", limit)):
                if value is not None:
                    resources.setdefault(kind, {})["cpu"] = value

        return self._with(change)

    def with_container(self, name: str, **fields: Any) -> APod:
        """One more container, after those that are there."""
        container = {"name": name, "image": "task:1", **fields}
        return self._with(lambda pod: pod["spec"]["containers"].append(container))

    def with_init_container(self, name: str, **fields: Any) -> APod:
        container = {"name": name, "image": "init:1", **fields}
        return self._with(
            lambda pod: pod["spec"].setdefault("initContainers", []).append(container)
        )

    def with_sidecar(self, name: str, **fields: Any) -> APod:
        """An init container that goes on running."""
        return self.with_init_container(name, restartPolicy="Always", **fields)

    def with_environment(self, values: Mapping[str, Any], *, of: str = "main") -> APod:
        """Variables; a value that is a mapping becomes valueFrom."""
        variables = [
            {"name": name, "valueFrom": dict(value)}
            if isinstance(value, Mapping)
            else {"name": name, "value": value}
            for name, value in values.items()
        ]
        return self._with(lambda pod: _container(pod, of).update(env=variables))

    def running_with(self, *arguments: str, of: str = "main") -> APod:
        return self._with(lambda pod: _container(pod, of).update(args=list(arguments)))

    def restarting(self, policy: str) -> APod:
        """restartPolicy: Never, OnFailure or Always."""
        return self._with(lambda pod: pod["spec"].update(restartPolicy=policy))

    def owned_by_job(
        self, name: str = "train-x7k2p", index: int | None = None, attempts: int | None = 7
    ) -> APod:
        """attempts: as written on the Job's template; None if admission never saw the Job."""
        owned = self.owned_by("Job", name, uid=JOB_UID, version="batch/v1")
        if attempts is not None:
            owned = owned.annotated({labels.JOB_ATTEMPTS: str(attempts)})
        if index is None:
            return owned
        return owned.annotated({"batch.kubernetes.io/job-completion-index": str(index)})

    def owned_by(
        self,
        kind: str,
        name: str,
        *,
        uid: str = JOB_UID,
        version: str = "v1",
        controls: bool = True,
    ) -> APod:
        reference = {
            "apiVersion": version,
            "kind": kind,
            "name": name,
            "uid": uid,
            "controller": controls,
        }
        return self._with(
            lambda pod: pod["metadata"].setdefault("ownerReferences", []).append(reference)
        )

    def received(self) -> APod:
        """As a webhook gets it: the API server has noted which fields its maker wrote."""
        names = self.built()["metadata"].get("annotations", {})
        containers = [each["name"] for each in self.built()["spec"]["containers"]]
        fields: _Json = {
            "f:metadata": {"f:annotations": {f"f:{name}": {} for name in names}},
            "f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': {} for name in containers}},
        }
        entry = {"manager": "maker", "operation": "Update", "fieldsV1": fields}
        return self._with(lambda pod: pod["metadata"].update(managedFields=[entry]))

    def with_spec(self, **fields: Any) -> APod:
        return self._with(lambda pod: pod["spec"].update(fields))

    def with_status(self, **fields: Any) -> APod:
        return self._with(lambda pod: pod.setdefault("status", {}).update(fields))

    def patched(self, operations: list[_Json]) -> APod:
        """After a JSON Patch, applied by a library and not by the code under test."""
        import jsonpatch

        return APod(jsonpatch.apply_patch(self.built(), operations))

    def _with(self, change: Callable[[_Json], object]) -> APod:
        pod = self.built()
        change(pod)
        return APod(pod)


def a_pod() -> APod:
    """A bare pod of the task ``train`` in ``shop``, not created yet, asking for nothing."""
    return APod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "train-1",
                "namespace": "shop",
                "labels": {labels.TASK: "train"},
            },
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "task:1", "resources": {}}],
            },
        }
    )


def a_review(
    pod: APod | _Json, *, uid: str = "review-1", dry_run: bool = False, **request: Any
) -> _Json:
    """The AdmissionReview of a pod's creation; keywords replace fields of its request."""
    body = pod.built() if isinstance(pod, APod) else pod
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "name": "",
            # The API server ensures that both say the same.
            "namespace": body.get("metadata", {}).get("namespace") or "shop",
            "operation": "CREATE",
            "userInfo": {"username": "ml-team", "groups": ["system:authenticated"]},
            "object": body,
            "oldObject": None,
            "dryRun": dry_run,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
            **request,
        },
    }


def decision_of(pod: APod) -> _Json:
    """The decision annotation, as JSON."""
    text = pod.built()["metadata"]["annotations"][labels.DECISION]
    found: _Json = json.loads(text)
    return found


def memory_of(pod: APod, container: str = "main") -> tuple[str | None, str | None]:
    """A container's memory request and limit, as written."""
    resources = _container(pod.built(), container).get("resources", {})
    return (
        resources.get("requests", {}).get("memory"),
        resources.get("limits", {}).get("memory"),
    )


def cpu_of(pod: APod, container: str = "main") -> tuple[str | None, str | None]:
    """A container's CPU request and limit, as written."""
    resources = _container(pod.built(), container).get("resources", {})
    return (
        resources.get("requests", {}).get("cpu"),
        resources.get("limits", {}).get("cpu"),
    )


def _container(pod: _Json, name: str) -> _Json:
    spec = pod["spec"]
    everything = [*spec["containers"], *spec.get("initContainers", [])]
    found: _Json = next(container for container in everything if container["name"] == name)
    return found


def _set_memory(pod: _Json, name: str, kind: str, memory: str | int | None) -> None:
    resources = _container(pod, name).setdefault("resources", {})
    if memory is not None:
        resources.setdefault(kind, {})["memory"] = memory
    elif kind in resources:
        resources[kind].pop("memory", None)


def _set_or_drop(target: _Json, key: str, value: object) -> None:
    if value is None:
        target.pop(key, None)
    else:
        target[key] = value
