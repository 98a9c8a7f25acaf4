"""What a healthy cluster shows of Plimsoll, as the API gives it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plimsoll_operator.commands.status.cluster_state import ClusterState

NOW = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
NOW_S = NOW.timestamp()
LABELS = {"app.kubernetes.io/name": "plimsoll", "app.kubernetes.io/version": "0.1.0"}


@cache
def a_bundle(valid_for: timedelta = timedelta(days=90)) -> str:
    """An authority as a webhook configuration holds it, valid for so long from NOW."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=365))
        .not_valid_after(NOW + valid_for)
        .sign(key, hashes.SHA256())
    )
    from cryptography.hazmat.primitives.serialization import Encoding

    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode()


def a_deployment(component: str, *, ready: int = 1, wanted: int = 1, version: str = "0.1.0") -> Any:
    """A Deployment of the chart."""
    return {
        "metadata": {
            "name": f"plimsoll-{component}",
            "namespace": "plimsoll",
            "labels": {
                **LABELS,
                "app.kubernetes.io/component": component,
                "app.kubernetes.io/version": version,
            },
        },
        "spec": {"replicas": wanted},
        "status": {"readyReplicas": ready} if ready else {},
    }


def a_claim(phase: str | None, **spec: Any) -> Any:
    """The claim of the store; a phase of None: there is none."""
    claim: dict[str, Any] = {"metadata": {"name": "plimsoll-store", "namespace": "plimsoll"}}
    return claim if phase is None else {**claim, "spec": spec, "status": {"phase": phase}}


def a_webhook(**hook: Any) -> Any:
    """The webhook configuration, as the controller has completed it."""
    config = {"clientConfig": {"caBundle": a_bundle()}, "failurePolicy": "Ignore", **hook}
    return {"metadata": {"name": "plimsoll", "labels": LABELS}, "webhooks": [config]}


def a_lease(holder: str = "plimsoll-controller-0", *, renewed_ago_s: float = 1.0) -> Any:
    """A Lease that somebody has held for three hours."""
    return {
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 10,
            "renewTime": (NOW - timedelta(seconds=renewed_ago_s)).isoformat(),
            "acquireTime": (NOW - timedelta(hours=3)).isoformat(),
        }
    }


def a_profile(name: str = "train-demand", namespace: str = "shop", **status: Any) -> Any:
    """A TaskProfile in recommend mode."""
    told = {
        "task": name,
        "mode": "recommend",
        "phase": "Sizing",
        "runs": 40,
        "oomKills": 1,
        "wouldRuns": 40,
        "wouldSave": "63% (1.2 GB·h)",
        "wouldSaveGbH": 1.2,
        "wouldAskedGbH": 1.9,
        "wouldKill": 1,
        "wouldKillShare": 0.025,
        "lastDecisions": ["train-demand-x1: 4Gi would be → 512Mi"],
        **status,
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {}, "status": told}


def a_condition(kind: str, status: str, reason: str, message: str = "why") -> Any:
    """One condition of a status."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def what_is_seen(**changes: Any) -> ClusterState:
    """A healthy installation with one task; changes: fields of ClusterState."""
    healthy: dict[str, Any] = {
        "installed_in": "plimsoll",
        "deployments": [a_deployment("admission", ready=2, wanted=2), a_deployment("controller")],
        "agents": [
            {
                "metadata": {"labels": LABELS},
                "status": {"desiredNumberScheduled": 3, "numberReady": 3},
            }
        ],
        "lease": a_lease(),
        "webhooks": [a_webhook()],
        "feed_ages_s": {"plimsoll-admission-a": 0.5, "plimsoll-admission-b": 1.5},
        "certificates_end_s": {"plimsoll-admission-a": NOW_S + 60 * 86_400.0},
        "lowering": {"plimsoll-admission-a": 1.0, "plimsoll-admission-b": 1.0},
        "policies": [],
        "profiles": [a_profile()],
    }
    return ClusterState(**{**healthy, **changes})
