"""One-layer images as files, made from a folder, with no registry and no image builder."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_EPOCH: Final = "1970-01-01T00:00:00Z"
_OCI: Final = "application/vnd.oci.image"
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write_image(
    folder: Path,
    reference: str,
    command: Sequence[str],
    target: Path,
    entrypoint: Sequence[str] = (),
) -> None:
    """Write an image in OCI layout, as `ctr images import` takes it.

    reference: with a host part and a tag, such as ``localhost/pause:1``; containerd would look for
    a name without a host in a registry. entrypoint: the program that gets a pod's ``args``.
    """
    started = {"Cmd": list(command), "WorkingDir": "/", "Env": ["PATH=/bin:/usr/bin"]}
    if entrypoint:
        started["Entrypoint"] = list(entrypoint)
    layer = _layer(folder)
    config = _document(
        {
            "architecture": ARCHITECTURES[platform.machine()],
            "os": "linux",
            "created": _EPOCH,
            "config": started,
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
            "history": [{"created": _EPOCH, "created_by": "plimsoll"}],
        }
    )
    manifest = _document(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _descriptor("config.v1+json", config),
            "layers": [_descriptor("layer.v1.tar", layer)],
        }
    )
    names = {
        "io.containerd.image.name": reference,
        "org.opencontainers.image.ref.name": reference.rpartition(":")[2],
    }
    index = _document(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.index.v1+json",
            "manifests": [{**_descriptor("manifest.v1+json", manifest), "annotations": names}],
        }
    )
    with tarfile.open(target, "w") as tar:
        _add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(tar, "index.json", index)
        for blob in (manifest, config, layer):
            _add(tar, "blobs/sha256/" + _digest(blob).removeprefix("sha256:"), blob)


def _layer(folder: Path) -> bytes:
    """Owners, times and order are fixed, so that the same content has the same digest."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, str(path.relative_to(folder)), recursive=False, filter=plain)
    return buffer.getvalue()


def _document(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def _descriptor(kind: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": f"{_OCI}.{kind}", "digest": _digest(blob), "size": len(blob)}


def _add(tar: tarfile.TarFile, name: str, blob: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(blob)
    tar.addfile(entry, io.BytesIO(blob))
