"""Reads a TLS Secret and a caBundle, and says in a sentence what is wrong with them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
AUTHORITIES: Final = "ca.crt"
MOST_BYTES: Final = 64 * 1024
"""The most bytes of an entry: a chain of certificates has a few KB."""


class Unusable(Exception):
    """A Secret that admission cannot serve with; the message says why."""


@dataclass(frozen=True, slots=True)
class Served:
    """A Secret that holds a certificate, its key and who signed it.

    authorities: PEM of each certificate in ca.crt, the one in use first.
    not_before_s, not_after_s: Unix seconds between which it is valid.
    """

    authorities: tuple[bytes, ...]
    not_before_s: float
    not_after_s: float


def read_served(data: Mapping[str, bytes], names: Sequence[str]) -> Served:
    """Understand a Secret's data.

    names: what the certificate must be valid for.

    Raises:
        Unusable: if anything is missing, broken or belongs to something else.

    """
    for entry in (CERTIFICATE, KEY, AUTHORITIES):
        if not data.get(entry):
            raise Unusable(f"it has no {entry}")
        if len(data[entry]) > MOST_BYTES:
            raise Unusable(f"its {entry} is larger than {MOST_BYTES} bytes")
    certificate = _certificate(data[CERTIFICATE])
    _check_key(certificate, data[KEY])
    missing = set(names) - _names_of(certificate)
    if missing:
        raise Unusable(f"its certificate is not for {', '.join(sorted(missing))}")
    authorities = read_authorities(data[AUTHORITIES])
    if not authorities or not _signed_by(certificate, authorities[0]):
        raise Unusable(f"the first authority of its {AUTHORITIES} did not sign its certificate")
    ends = min(certificate.not_valid_after_utc, _certificate(authorities[0]).not_valid_after_utc)
    return Served(authorities, certificate.not_valid_before_utc.timestamp(), ends.timestamp())


def read_authorities(bundle: bytes) -> tuple[bytes, ...]:
    """Each certificate of a bundle as PEM; empty if it cannot be read."""
    if not bundle or len(bundle) > MOST_BYTES:
        return ()
    try:
        certificates = x509.load_pem_x509_certificates(bundle)
    except (ValueError, UnsupportedAlgorithm):
        return ()
    return tuple(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def _certificate(text: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(text)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Unusable(f"its {CERTIFICATE} is no certificate: {error}") from error


def _check_key(certificate: x509.Certificate, text: bytes) -> None:
    try:
        key = serialization.load_pem_private_key(text, password=None)
        matches = key.public_key() == certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Unusable(f"its {KEY} is no key: {error}") from error
    if not matches:
        raise Unusable(f"its {KEY} does not belong to its {CERTIFICATE}")


def _names_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (
        x509.ExtensionNotFound,
        x509.DuplicateExtension,
        x509.UnsupportedGeneralNameType,
        ValueError,
    ):
        return set()
    addresses = names.get_values_for_type(x509.IPAddress)
    return {*names.get_values_for_type(x509.DNSName), *map(str, addresses)}


def _signed_by(certificate: x509.Certificate, authority: bytes) -> bool:
    try:
        certificate.verify_directly_issued_by(_certificate(authority))
    except (InvalidSignature, TypeError, ValueError, UnsupportedAlgorithm, Unusable):
        return False
    return True
