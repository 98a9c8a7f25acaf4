"""Reads AdmissionReviews, and writes their answers. Nothing here can refuse a pod.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import orjson

from plimsoll_operator.pods.spec import mapping

V1: Final = "admission.k8s.io/v1"
V1BETA1: Final = "admission.k8s.io/v1beta1"
KIND: Final = "AdmissionReview"

_UID: Final = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([^"\\]{1,128})"')
_UID_WITHIN_BYTES: Final = 4096


class Unanswerable(ValueError):
    """A request that gets no decision; it is let through.

    reason: one of few words, for counting. uid, version: what could be read of them.
    """

    def __init__(self, reason: str, uid: str, version: str = V1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.uid = uid
        self.version = version


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object whose creation is answered, by its group, version and resource."""

    group: str
    version: str
    resource: str


POD: Final = Resource("", "v1", "pods")
JOB: Final = Resource("batch", "v1", "jobs")


@dataclass(frozen=True, slots=True)
class Creation:
    """A request to admit a new object.

    namespace: None if the review does not say it.
    dry_run: the API server only asks; the object is not created.
    """

    uid: str
    object: Mapping[str, Any]
    namespace: str | None
    dry_run: bool = False


class _Request(msgspec.Struct, rename="camel"):
    """The fields that are read. Skipping the others takes a third less time, measured."""

    uid: Any = None
    resource: Any = None
    sub_resource: Any = None
    operation: Any = None
    namespace: Any = None
    object: Any = None
    dry_run: Any = None


class _Review(msgspec.Struct, rename="camel"):
    kind: Any = None
    api_version: Any = None
    request: _Request | None = None


_decoder: Final = msgspec.json.Decoder(_Review)


def read_review(body: bytes, resource: Resource = POD) -> Creation:
    """Read the review of an object's creation.

    Raises:
        Unanswerable: for anything else, with what is needed to let it through.
    """
    try:
        review = _decoder.decode(body)
    except (ValueError, RecursionError) as error:
        raise Unanswerable("foreign" if _is_json(body) else "malformed", uid_in(body)) from error
    request, version = review.request, review.api_version
    uid = request.uid if request is not None and isinstance(request.uid, str) else ""
    if review.kind != KIND or request is None or not uid:
        raise Unanswerable("foreign", uid)
    if version != V1:
        raise Unanswerable("version", uid, V1BETA1 if version == V1BETA1 else V1)
    if not _is_creation(request, resource) or not isinstance(request.object, dict):
        raise Unanswerable("not-a-creation", uid)
    namespace = request.namespace if isinstance(request.namespace, str) else None
    return Creation(uid, request.object, namespace, request.dry_run is True)


def _is_json(body: bytes) -> bool:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return True


def _is_creation(request: _Request, resource: Resource) -> bool:
    asked = mapping(request.resource)
    return (
        asked.get("resource") == resource.resource
        and (asked.get("group") or "") == resource.group
        and asked.get("version") == resource.version
        and not request.sub_resource
        and request.operation == "CREATE"
    )


def uid_in(body: bytes) -> str:
    """The request's uid, from the start of a body that cannot be read; "" if it is not there.

    The API server writes it first, and takes no answer without it.
    """
    match = _UID.search(body, 0, _UID_WITHIN_BYTES)
    return match[1].decode("utf-8", "replace") if match else ""


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
        response["patch"] = orjson.dumps(patch)  # msgspec writes bytes as base64
    if warnings:
        response["warnings"] = warnings
    return msgspec.json.encode({"apiVersion": version, "kind": KIND, "response": response})
