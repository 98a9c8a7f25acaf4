"""Keys and certificates of one cluster, by openssl; new ones at every start."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.local.layout import API_SERVICE_ADDRESS, NODE_ADDRESS
from deploy.local.node.nodes import Node
from deploy.local.shell import run

_DOING: Final = "making certificates"
_DAYS: Final = "365"
_API_NAMES: Final = (
    f"IP:127.0.0.1,IP:{NODE_ADDRESS},IP:{API_SERVICE_ADDRESS},"
    "DNS:localhost,DNS:kubernetes.default.svc"
)


def make_certificates(folder: Path, nodes: Sequence[Node]) -> str:
    """Write all keys and certificates into the folder; return the administrator's token."""
    folder.mkdir(parents=True, mode=0o700)
    _key(folder / "accounts.key")
    _openssl("pkey", "-in", folder / "accounts.key", "-pubout", "-out", folder / "accounts.pub")
    _key(folder / "ca.key")
    _openssl("req", "-x509", "-key", folder / "ca.key", "-out", folder / "ca.crt",
             "-subj", "/CN=local-cluster-ca", "-days", _DAYS)  # fmt: skip
    _signed(folder, "api", "/CN=kube-apiserver", _API_NAMES)
    _signed(folder, "front-proxy", "/CN=front-proxy", "DNS:front-proxy")
    # The API server calls kubelet with this one; kubelet asks the API server about its rights.
    _signed(folder, "api-to-kubelet", "/O=system:masters/CN=kube-apiserver", "DNS:kube-apiserver")
    for node in nodes:
        alternative_names = f"IP:{node.address},DNS:{node.name}"
        _signed(folder, node.program("kubelet"), f"/CN={node.name}", alternative_names)
    token = secrets.token_hex(16)
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f"{token},admin,admin,system:masters\n")
    return token


def _key(path: Path) -> None:
    _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def _signed(folder: Path, name: str, subject: str, alternative_names: str) -> None:
    key, request = folder / f"{name}.key", folder / f"{name}.csr"
    _key(key)
    _openssl("req", "-new", "-key", key, "-out", request, "-subj", subject,
             "-addext", f"subjectAltName={alternative_names}")  # fmt: skip
    _openssl("x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey",
             folder / "ca.key", "-CAcreateserial", "-out", folder / f"{name}.crt",
             "-days", _DAYS, "-copy_extensions", "copyall")  # fmt: skip
    request.unlink()


def _openssl(*words: str | Path) -> None:
    arguments: Sequence[str | Path] = ("openssl", *words)
    run(arguments, doing=_DOING)
