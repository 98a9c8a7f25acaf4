"""Applications of a real Spark on the cluster: their drivers' pods, as a submitter makes them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deploy.local.images.on_node import has_image, load_image

from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.rigs.spark.spark_image import JOBS, reference, require

ENDED_WITHIN_S: Final = 240.0
CONF: Final = "/opt/conf"
_LOGS: Final = "/logs"
_RIGHTS: Final = {
    "apiGroups": [""],
    "resources": ["pods", "configmaps", "services", "persistentvolumeclaims"],
    "verbs": ["*"],
}
"""Rights of a driver in its namespace, as the account ``default``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One application. words: the job's (spark_jobs.py), or of another program.

    properties: in the file that the submitter makes, as cluster mode does. options: of
    ``spark-submit`` in the driver's pod. executor_mib: an executor's heap; its pod has 384 MiB
    more. logs: a folder of this machine for its event log. program: in place of the driver's
    entrypoint. files: beside the properties, by name. variables: of the driver's container.
    """

    name: str
    words: Sequence[str]
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    executors: int = 2
    executor_mib: int = 512
    logs: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    program: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ran:
    """An application that ended. said: its last line, or the end of its log. driver: its pod."""

    phase: str
    said: str
    driver: Any
    selector: str

    @property
    def took_s(self) -> float:
        """What its job took, without the start of Spark."""
        word, *_, seconds = self.said.split()
        if word != "DONE":
            raise AssertionError(f"the job did not get through: {self.said}")
        return float(seconds)


def load_spark(cluster: Cluster) -> None:
    """Put the image into the node, unless it is already there."""
    layout = cluster.handle.layout
    if not has_image(layout, reference()):
        load_image(layout, require())


def let_drivers_in(cluster: Cluster, namespace: str) -> None:
    """Write what drivers need in a namespace: the right to make executors."""
    rbac, place = "rbac.authorization.k8s.io", {"namespace": namespace}
    subject = {"kind": "ServiceAccount", "name": "default", **place}
    role = {"roleRef": {"apiGroup": rbac, "kind": "Role", "name": "driver"}, "subjects": [subject]}
    for kind, body in (("Role", {"rules": [_RIGHTS]}), ("RoleBinding", role)):
        metadata = {"name": "driver", **place}
        cluster.apply({"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": metadata, **body})


async def run_application(
    shop: Shop, application: Application, within_s: float = ENDED_WITHIN_S
) -> Ran:
    """Run one to its end, whatever that is."""
    selector = f"spark-{uuid.uuid4().hex}"
    name = f"{application.name}-{selector[-8:]}-driver"
    api = await shop.core.read_namespaced_service("kubernetes", "default")
    file = {**_properties(shop, application, name, selector), **application.properties}
    file["spark.master"] = f"k8s://https://{api.spec.cluster_ip}:443"
    text = "".join(f"{key}={value}\n" for key, value in file.items())
    made = {
        "metadata": {"name": f"{name}-conf"},
        "data": {"spark.properties": text, **application.files},
    }
    await shop.core.create_namespaced_config_map(shop.namespace, made)
    await shop.core.create_namespaced_pod(shop.namespace, _pod(application, name, selector))

    async def ended() -> Any:
        pod = await shop.core.read_namespaced_pod(name, shop.namespace)
        return pod if pod.status.phase in {"Succeeded", "Failed"} else None

    pod = await until(f"{name} ends", ended, within_s)
    log = await shop.core.read_namespaced_pod_log(name, shop.namespace)
    said = [line for line in log.splitlines() if line.startswith(("DONE", "FOUND"))]
    return Ran(pod.status.phase, said[-1] if said else log[-600:], pod, selector)


async def executors_of(shop: Shop, ran: Ran) -> Sequence[Any]:
    """The executors' pods that are there, ended ones among them."""
    chosen = f"spark-app-selector={ran.selector},spark-role=executor"
    found = await shop.core.list_namespaced_pod(shop.namespace, label_selector=chosen)
    return list(found.items)


def _properties(shop: Shop, application: Application, name: str, selector: str) -> dict[str, str]:
    return {
        "spark.app.name": application.name,
        "spark.app.id": selector,
        "spark.ui.enabled": "false",
        "spark.executor.instances": str(application.executors),
        "spark.executor.cores": "1",
        "spark.executor.memory": f"{application.executor_mib}m",
        "spark.driver.memory": "512m",
        "spark.kubernetes.namespace": shop.namespace,
        "spark.kubernetes.driver.pod.name": name,
        "spark.kubernetes.container.image": reference(),
        "spark.kubernetes.container.image.pullPolicy": "Never",
        "spark.kubernetes.executor.request.cores": "100m",
        # A test looks at these afterwards.
        "spark.kubernetes.executor.deleteOnTermination": "false",
        "spark.kubernetes.executor.podNamePrefix": name.removesuffix("-driver"),
        "spark.eventLog.enabled": "false" if application.logs is None else "true",
        "spark.eventLog.dir": f"file://{_LOGS}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def _pod(application: Application, name: str, selector: str) -> dict[str, Any]:
    address = {"fieldRef": {"fieldPath": "status.podIP"}}
    labels = {
        "spark-role": "driver",
        "spark-app-selector": selector,
        "spark-app-name": application.name,
    }
    # A submitter writes a Service's name there; this cluster has no DNS.
    here = ["--conf", "spark.driver.host=$(SPARK_DRIVER_BIND_ADDRESS)"]
    file = ["--properties-file", f"{CONF}/spark.properties"]
    words = ["driver", *file, *here, *application.options, JOBS, *application.words]
    mounts = [{"name": "conf", "mountPath": CONF}]
    volumes: list[dict[str, Any]] = [{"name": "conf", "configMap": {"name": f"{name}-conf"}}]
    if application.logs is not None:
        mounts.append({"name": "logs", "mountPath": _LOGS})
        volumes.append({"name": "logs", "hostPath": {"path": str(application.logs)}})
    container = {
        "name": "spark-kubernetes-driver",
        "image": reference(),
        "imagePullPolicy": "Never",
        "args": list(application.program) or words,
        "env": [
            {"name": "SPARK_DRIVER_BIND_ADDRESS", "valueFrom": address},
            {"name": "SPARK_CONF_DIR", "value": CONF},
            *({"name": name, "value": value} for name, value in application.variables.items()),
        ],
        "volumeMounts": mounts,
        "resources": {
            "requests": {"cpu": "100m", "memory": "1Gi"},
            "limits": {"memory": "1Gi"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [container], "volumes": volumes},
    }
