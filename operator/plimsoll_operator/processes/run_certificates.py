"""A server certificate for one machine's admission, in files."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from plimsoll_operator.credentials.issuing import issue

LIFETIME = timedelta(days=365)


def make_certificates(folder: Path, hosts: list[str], now: datetime) -> bytes:
    """Write ``tls.crt`` and ``tls.key`` into ``folder``; returns the authority's certificate, PEM.

    hosts: names and addresses the API server will call; the first is the subject.
    """
    pair = issue(hosts, now, LIFETIME)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tls.crt").write_bytes(pair.certificate)
    key_file = folder / "tls.key"
    key_file.touch(mode=0o600)
    key_file.write_bytes(pair.key)
    return pair.authority
