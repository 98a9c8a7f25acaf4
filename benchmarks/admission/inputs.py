"""The inputs of both servers: a certificate, a snapshot with a 100-tree model, a pod to review."""

from __future__ import annotations

import datetime
import ipaddress
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.admission.peers import CERTIFICATE, KEY, SNAPSHOT
from plimsoll_operator.admission.snapshot import take_snapshot, write_snapshot
from plimsoll_operator.feed.client import Position
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import CpuPolicy, Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import Model, ModelMetrics
from plimsoll_predictor.training.compile import compile_booster
from tests.builders.nodes import a_node, nodes_of

TASK: Final = TaskId("shop", "train-demand")
SEED: Final = 3


def prepare(folder: Path) -> None:
    """Write the certificate and the snapshot that both servers use."""
    write_certificate(folder)
    state = AdmissionState(nodes=nodes_of(a_node("72Gi", cpu="36")))
    policy = Policy(mode=Mode.ENFORCE, cpu=CpuPolicy(mode=Mode.ENFORCE))
    state.tasks[TASK] = Knowledge(
        task=TASK,
        policy=policy,
        runs=1460,
        max_need_bytes=7 * GIB,
        champion=CLASSIFIER,
        model=a_model(),
        cpu=CpuUse(runs=64, high_cores=0.6, peak_cores=1.4),
    )
    write_snapshot(folder / SNAPSHOT, take_snapshot(state, Position("bench", 1), time.time()))


def a_model() -> Model:
    """A classifier of 4 bins with 25 rounds: 100 trees of depth 6."""
    import xgboost

    random = np.random.default_rng(SEED)
    sizes = random.uniform(1, 1000, (1460, 12))
    rows = [{f"x{i}": float(value) for i, value in enumerate(row)} for row in sizes]
    schema = FeatureSchema.fit(rows)
    noisy = sizes[:, 0] * sizes[:, 1] / 1e6 + random.normal(0, 0.05, len(sizes))
    classes = np.digitize(noisy, np.quantile(noisy, [0.25, 0.5, 0.75]))
    table = xgboost.DMatrix(schema.expand(schema.encode_rows(rows)), label=classes)
    options = {
        "objective": "multi:softprob",
        "num_class": 4,
        "max_depth": 6,
        "eta": 0.3,
        "nthread": 1,
        "seed": SEED,
        "verbosity": 0,
    }
    trees = compile_booster(xgboost.train(options, table, num_boost_round=25), n_bins=4)
    bins = Bins(
        ceilings_bytes=(900 * MIB, 2 * GIB, 4 * GIB, 8 * GIB),
        counts=(365, 365, 365, 365),
        mean_need_bytes=(0.6e9, 1.5e9, 3e9, 6e9),
        mean_runtime_s=(60.0, 120.0, 240.0, 480.0),
    )
    metrics = ModelMetrics(
        u_score=20.0,
        accuracy=0.9,
        u_rate=0.02,
        optimal_improvement=0.5,
        estimated_improvement=0.43,
        confusion=tuple(tuple(365 * (i == j) for j in range(4)) for i in range(4)),
        classifier="xgboost",
        sampler="none",
        penalty=10.0,
    )
    return Model(
        task=str(TASK),
        schema=schema,
        bins=bins,
        predictor=trees,
        trained_s=0.0,
        observations=len(rows),
        metrics=metrics,
    )


def review() -> dict[str, Any]:
    """A typical AdmissionReview: a pod with two containers and twelve features."""
    prefix = "features.plimsoll.dev/"
    names = ("main", "metrics")
    containers = [
        {
            "name": name,
            "image": "registry.example/train:1",
            "command": ["python", "-m", "train"],
            "args": ["--table", "demand", "--workers", "4"],
            "env": [{"name": f"SETTING_{i}", "value": f"value-{i}"} for i in range(8)],
            "resources": {
                "requests": {"cpu": "1", "memory": "8Gi" if name == "main" else "256Mi"},
                "limits": {"memory": "8Gi" if name == "main" else "256Mi"},
            },
            "volumeMounts": [
                {
                    "name": "kube-api-access-abcde",
                    "readOnly": True,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                }
            ],
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        }
        for name in names
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "train-demand-",
            "namespace": TASK.namespace,
            "labels": {"plimsoll.dev/task": TASK.name, "app": "demand", "team": "ml"},
            "annotations": {f"{prefix}x{i}": str(100 + 37 * i) for i in range(12)},
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": containers,
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
    }
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": TASK.namespace,
            "operation": "CREATE",
            "userInfo": {"username": "ml-team", "groups": ["system:authenticated"]},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }


def write_certificate(folder: Path) -> None:
    """A self-signed certificate for loopback."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    (folder / CERTIFICATE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / KEY).write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
