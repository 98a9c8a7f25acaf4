"""The webhook configuration that sends labelled pods to admission, and admission's certificate.

On a cluster the chart makes both; here they are the same, by URL instead of by Service.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from plimsoll_operator.credentials.issuing import Pair, issue
from plimsoll_operator.names import labels
from plimsoll_operator.names.namespaces import (
    NAME_LABEL,
    NOBODYS,
    OWN_NAMESPACE,
    excluded_namespaces,
    selector_of,
)
from plimsoll_operator.names.objects import metadata_of

NAME = "plimsoll"
MADE_BY_RUN: Final[Mapping[str, str]] = {"app.kubernetes.io/managed-by": "plimsoll"}
"""Its labels; those of a chart's name Helm."""
TIMEOUT_S = 2
LIFETIME = timedelta(days=365)
LEFT_ALONE = excluded_namespaces(OWN_NAMESPACE)

IS_A_TASKS_JOB = (
    "has(object.spec.template.metadata) && has(object.spec.template.metadata.labels)"
    f" && '{labels.TASK}' in object.spec.template.metadata.labels"
)
"""A CEL expression: the template of the Job's pods has the label of a task."""

UNLABELLED: Final[dict[str, Any]] = {
    "matchExpressions": [
        {"key": labels.TASK, "operator": "DoesNotExist"},
        {"key": labels.ENABLED, "operator": "NotIn", "values": ["false"]},
    ]
}


def webhook_configuration(
    address: str, authority: bytes, excluded: Iterable[str] = LEFT_ALONE
) -> dict[str, Any]:
    """Return a configuration for labelled pods, and for Jobs that make such pods.

    In namespaces whose people want it, it is also for pods and Jobs without a label.

    address: of admission, as ``https://host:port``. authority: the certificate's signer, PEM.
    excluded: the namespaces that are left alone.
    """
    pods = _webhook("size", f"{address}/size", authority, ("", "pods"))
    pods["objectSelector"] = {"matchExpressions": [{"key": labels.TASK, "operator": "Exists"}]}
    jobs = _webhook("job", f"{address}/job", authority, ("batch", "jobs"))
    jobs["matchConditions"] = [{"name": "makes-pods-of-a-task", "expression": IS_A_TASKS_JOB}]
    # They come before the first: a pod that they label is then sized by it.
    unlabelled, unlabelled_jobs = _without_label(address, authority)
    # The same for namespaces whose SizingPolicy wants it; the leader names them there.
    by_policy, jobs_by_policy = (
        {**each, "name": each["name"].replace(".", "-by-policy.", 1)}
        for each in _without_label(address, authority)
    )
    by_label = {"key": labels.ENABLED, "operator": "In", "values": ["true"]}
    none_yet = {"key": NAME_LABEL, "operator": "In", "values": [NOBODYS]}
    for webhooks, wanting in (
        ((pods, jobs), []),
        ((unlabelled, unlabelled_jobs), [by_label]),
        ((by_policy, jobs_by_policy), [none_yet]),
    ):
        for webhook in webhooks:
            selector = selector_of(excluded)
            selector["matchExpressions"] += wanting
            webhook["namespaceSelector"] = selector
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME, "labels": dict(MADE_BY_RUN)},
        "webhooks": [unlabelled, by_policy, pods, jobs, unlabelled_jobs, jobs_by_policy],
    }


def is_made_by_run(configuration: Mapping[str, Any], address: str) -> bool:
    """Say whether ``plimsoll run`` made it, for admission at this address."""
    its_labels = metadata_of(configuration).get("labels") or {}
    urls = [
        str((each.get("clientConfig") or {}).get("url"))
        for each in configuration.get("webhooks") or ()
    ]
    is_ours = MADE_BY_RUN.items() <= its_labels.items()
    return is_ours and bool(urls) and all(url.startswith(f"{address}/") for url in urls)


def _without_label(address: str, authority: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the webhooks for pods without the label, and for Jobs that make such pods."""
    pods = _webhook("recognise", f"{address}/unlabelled", authority, ("", "pods"))
    pods["objectSelector"] = UNLABELLED
    jobs = _webhook("recognise-job", f"{address}/unlabelled-job", authority, ("batch", "jobs"))
    without = f"!({IS_A_TASKS_JOB})"
    jobs["matchConditions"] = [{"name": "makes-pods-without-a-label", "expression": without}]
    return pods, jobs


def _webhook(name: str, url: str, authority: bytes, kind: tuple[str, str]) -> dict[str, Any]:
    """Return one webhook for the creation of objects. kind: their group and resource."""
    group, resource = kind
    return {
        "name": f"{name}.plimsoll.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
        "rules": [
            {
                "apiGroups": [group],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": [resource],
                "scope": "Namespaced",
            }
        ],
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_S,
    }


def make_certificates(folder: Path, hosts: list[str], now: datetime) -> bytes:
    """Write ``tls.crt`` and ``tls.key`` for the hosts; the first host is the subject.

    Return the authority's certificate, PEM.
    """
    pair = issue(hosts, now, LIFETIME)
    folder.mkdir(parents=True, exist_ok=True)
    write_pair(folder, pair)
    return pair.authority


def write_pair(folder: Path, pair: Pair) -> None:
    """Write its ``tls.crt`` and ``tls.key``; admission looks for new ones every second."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    key_file = folder / "tls.key"
    key_file.touch(mode=0o600)
    key_file.write_bytes(pair.key)
