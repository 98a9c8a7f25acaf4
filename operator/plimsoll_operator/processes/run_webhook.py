"""The webhook configuration that sends labelled pods to admission. Pure.

On a cluster the chart writes it; here it is the same, by URL instead of by Service.
"""

from __future__ import annotations

import base64
from typing import Any

from plimsoll_operator.names import labels

NAME = "plimsoll"
TIMEOUT_S = 2


def webhook_configuration(url: str, authority: bytes) -> dict[str, Any]:
    """Labelled pods only, never kube-system, fail open after TIMEOUT_S.

    authority: PEM of the certificate authority that signed admission's certificate.
    """
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "plimsoll"}},
        "webhooks": [
            {
                "name": "size.plimsoll.dev",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                        "scope": "Namespaced",
                    }
                ],
                "objectSelector": {
                    "matchExpressions": [{"key": labels.TASK, "operator": "Exists"}]
                },
                "namespaceSelector": {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/metadata.name",
                            "operator": "NotIn",
                            "values": ["kube-system", "plimsoll"],
                        }
                    ]
                },
                "failurePolicy": "Ignore",
                "matchPolicy": "Equivalent",
                "reinvocationPolicy": "IfNeeded",
                "sideEffects": "None",
                "timeoutSeconds": TIMEOUT_S,
            }
        ],
    }
