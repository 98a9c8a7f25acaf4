"""The server's certificate, from files that may change at any time.

New handshakes get the newest pair; open connections keep theirs. Certificate and key are swapped
together, in the handshake's server-name callback (which OpenSSL also calls for clients that name no
server): if they were loaded into the context in use, it could have only one file's half of an
update.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from plimsoll_operator.admission.certificate_expiry import expires_of
from plimsoll_operator.admission.metrics import AdmissionMetrics

log = structlog.get_logger()

POLL_S: Final = 1.0


class CertificateError(Exception):
    """The certificate's files cannot be used; says which, and what to do."""


@dataclass(slots=True)
class Certificate:
    """A certificate and its key in PEM files, such as a mounted Secret (kubelet swaps a symlink).

    Making one raises CertificateError if there is no usable pair to start with.
    """

    certificate_file: Path
    key_file: Path
    metrics: AdmissionMetrics
    context: ssl.SSLContext = field(init=False)
    """The server's own context: always the same object, whichever pair is in use."""
    _current: ssl.SSLContext = field(init=False)
    _digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        self._digest = self._read_digest()
        self._current = self._load()
        self.context = self._load()
        self.context.sni_callback = self._choose

    def _choose(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext
    ) -> None:
        connection.context = self._current

    async def watch(self, poll_s: float = POLL_S) -> None:
        """Load the pair again whenever the files' contents change, until cancelled."""
        while True:
            await asyncio.sleep(poll_s)
            await asyncio.to_thread(self.reload_if_changed)

    def reload_if_changed(self) -> bool:
        """Look once; True if a new pair is in use. A pair that cannot be used leaves the old one.

        Contents are compared, not times: a copy may keep its time stamps, and a Secret's files
        are few and small.
        """
        try:
            digest = self._read_digest()
            if digest == self._digest:
                return False
            # Noted first, so that a pair that cannot be used is logged once.
            self._digest = digest
            self._current = self._load()
        except CertificateError as error:
            self.metrics.certificate_errors.inc()
            log.warning("certificate-kept", error=str(error))
            return False
        log.info("certificate-loaded", certificate=str(self.certificate_file))
        return True

    def _read_digest(self) -> bytes:
        digest = hashlib.sha256()
        for path in (self.certificate_file, self.key_file):
            try:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            except OSError as error:
                raise CertificateError(
                    f"cannot read {path}: {error.strerror}; mount the serving certificate there"
                ) from error
        return digest.digest()

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            # Without a passphrase, OpenSSL would ask the terminal for the one of an encrypted key.
            context.load_cert_chain(self.certificate_file, self.key_file, password="")
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(
                f"{self.certificate_file} and {self.key_file} are not a certificate and its key:"
                f" {error}; both must be PEM and belong together"
            ) from error
        self.metrics.certificate_expires_s.set(expires_of(self.certificate_file))
        return context
