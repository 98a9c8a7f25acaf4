"""AdmissionReviews, from bytes to what is asked and back. Nothing here can refuse a pod.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from plimsoll_operator.pods.spec import mapping

V1: Final = "admission.k8s.io/v1"
V1BETA1: Final = "admission.k8s.io/v1beta1"
KIND: Final = "AdmissionReview"

_UID: Final = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([^"\\]{1,128})"')
_UID_WITHIN_BYTES: Final = 4096


class Unanswerable(ValueError):
    """A request that cannot be sized.

    reason: one of few words, for counting. uid, version: what could be read of them.
    """

    def __init__(self, reason: str, uid: str, version: str = V1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.uid = uid
        self.version = version


@dataclass(frozen=True, slots=True)
class PodCreation:
    """A request to admit a new pod. namespace: where; None if the review does not say."""

    uid: str
    pod: Mapping[str, Any]
    namespace: str | None
    dry_run: bool


def read_review(body: bytes) -> PodCreation:
    """Read the review of a pod's creation.

    Raises:
        Unanswerable: for anything else, with what is needed to let it through.

    """
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unanswerable("malformed", uid_in(body)) from error
    request = mapping(mapping(review).get("request"))
    uid = request.get("uid")
    uid = uid if isinstance(uid, str) else ""
    version = mapping(review).get("apiVersion")
    if mapping(review).get("kind") != KIND or not uid:
        raise Unanswerable("foreign", uid)
    if version != V1:
        raise Unanswerable("version", uid, V1BETA1 if version == V1BETA1 else V1)
    pod = request.get("object")
    if not _is_pod_creation(request) or not isinstance(pod, dict):
        raise Unanswerable("not-a-new-pod", uid)
    namespace = request.get("namespace")
    return PodCreation(
        uid=uid,
        pod=pod,
        namespace=namespace if isinstance(namespace, str) else None,
        dry_run=request.get("dryRun") is True,
    )


def _is_pod_creation(request: Mapping[str, Any]) -> bool:
    resource = mapping(request.get("resource"))
    return (
        resource.get("resource") == "pods"
        and not resource.get("group")
        and resource.get("version") == "v1"
        and not request.get("subResource")
        and request.get("operation") == "CREATE"
    )


def uid_in(body: bytes) -> str:
    """The request's uid, found at the start of a body that cannot be read whole; "" if not there.

    The API server writes it first. It is what makes an answer count.
    """
    found = _UID.search(body, 0, _UID_WITHIN_BYTES)
    return found[1].decode("utf-8", "replace") if found else ""


def allowed(
    uid: str,
    *,
    patch: Sequence[Mapping[str, Any]] = (),
    warnings: Sequence[str] = (),
    version: str = V1,
) -> bytes:
    """The answer that admits the object, changed by a JSON Patch if there is one."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(patch)).decode("ascii")
    if warnings:
        response["warnings"] = warnings
    return orjson.dumps({"apiVersion": version, "kind": KIND, "response": response})
