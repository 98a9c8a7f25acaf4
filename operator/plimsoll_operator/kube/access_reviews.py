"""What the API server is asked about one's own rights, and how its answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.pods.spec import mapping

ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def access_review(verb: str, group: str, resource: str, namespace: str = "") -> dict[str, Any]:
    """Return the question whether RBAC allows a verb on a resource, such as ``pods/resize``.

    namespace: "" means all.

    >>> access_review("patch", "", "pods/resize", "shop")["spec"]["resourceAttributes"]
    {'verb': 'patch', 'group': '', 'resource': 'pods', 'namespace': 'shop', 'subresource': 'resize'}
    """
    name, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": name, "namespace": namespace}
    return {"spec": {"resourceAttributes": {**asked, "subresource": subresource}}}


def is_allowed(answer: Mapping[str, Any]) -> bool:
    """Say whether the answer allows it. An answer that does not say so allows nothing."""
    return mapping(answer.get("status")).get("allowed") is True
