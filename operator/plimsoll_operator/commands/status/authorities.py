"""Until when an authority in a webhook configuration is valid."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence


def authority_ends_s(bundles: Sequence[str]) -> float | None:
    """Unix seconds until which every webhook has an authority that is valid.

    bundles: base64 of PEM certificates each; the one that is valid longest counts in each.
    None if a bundle holds no certificate.
    """
    from cryptography import x509

    ends = []
    for bundle in bundles:
        try:
            found = x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
        except (ValueError, binascii.Error):
            return None
        ends.append(max(each.not_valid_after_utc.timestamp() for each in found))
    return min(ends, default=None)
