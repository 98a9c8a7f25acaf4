"""Reads when a certificate expires, without a library for certificates: admission stays small.

RFC 5280, 4.1: Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version OPTIONAL, serial,
signature, issuer, validity SEQUENCE { notBefore, notAfter }, ... }, ... }, in DER.
"""

from __future__ import annotations

import math
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_SEQUENCE: Final = 0x30
_EXPLICIT_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


def expires_s(pem: str) -> float:
    """When the first certificate of a PEM text expires, in Unix seconds.

    The first is the server's own; those of a chain follow it.

    Raises:
        ValueError, IndexError: if there is none, or its dates are not as RFC 5280 has them.
    """
    der = ssl.PEM_cert_to_DER_cert(pem[pem.index(_BEGIN) : pem.index(_END) + len(_END)])
    _, certificate, _ = _element(der)
    _, to_be_signed, _ = _element(certificate)
    tag, _, rest = _element(to_be_signed)
    # Version 1 certificates leave the version out; then that was the serial.
    for _ in range(3 if tag == _EXPLICIT_VERSION else 2):
        _, _, rest = _element(rest)
    tag, validity, _ = _element(rest)
    if tag != _SEQUENCE:
        raise ValueError("the validity is not where RFC 5280 has it")
    _, _, rest = _element(validity)
    tag, text, _ = _element(rest)
    return _time(tag, text.decode("ascii"))


def expires_of(file: Path) -> float:
    """The same for a file, for a metric to show; NaN if it cannot be read."""
    try:
        return expires_s(file.read_text(encoding="ascii", errors="replace"))
    except (OSError, ValueError, IndexError):
        return math.nan


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """The tag and the contents of the first element, and what follows it."""
    tag, length, start = der[0], der[1], 2
    if length & 0x80:
        size = length & 0x7F
        start += size
        length = int.from_bytes(der[2:start], "big")
    if len(der) < start + length:
        raise ValueError("it is cut short")
    return tag, der[start : start + length], der[start + length :]


def _time(tag: int, text: str) -> float:
    if tag == _UTC_TIME:  # two digits of the year: 50 to 99 are of the last century
        text = ("19" if int(text[:2]) >= 50 else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("the end of the validity is not a time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()
