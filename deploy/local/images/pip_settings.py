"""How an image build reaches packages: in the same way as this machine.

A company's own index, its certificates and its credentials are passed to the build as secrets. They
are mounted only for the command that needs them, and are in no layer of the image.
"""

from __future__ import annotations

import configparser
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_CA_INSIDE: Final = "/run/secrets/ca"
_CA_BUNDLE: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_OF_THE_MACHINE: Final = Path("/etc/pip.conf")
_ABOUT_THE_HOST: Final = frozenset(
    {"cache-dir", "cert", "client-cert", "config-file", "find-links", "log", "python", "require",
     "requirement", "constraint", "src", "target", "user", "require-virtualenv", "prefix", "root"}
)  # fmt: skip
"""Settings that name files or environments of this machine, or change what gets installed."""


def pip_settings(environment: Mapping[str, str], files: Sequence[Path]) -> str:
    """Make a pip.conf for the build from this machine's, as text.

    environment: its ``PIP_*`` variables take precedence over the files, as in pip.
    files: pip.conf files, the least important first; missing ones are left out.
    """
    merged: dict[str, str] = {}
    for file in files:
        parser = configparser.RawConfigParser()
        parser.read(file, encoding="utf-8")
        for section in ("global", "install"):
            if parser.has_section(section):
                merged |= {key.replace("_", "-"): text for key, text in parser.items(section)}
    for name, text in environment.items():
        if name.startswith("PIP_") and text:
            merged[name.removeprefix("PIP_").lower().replace("_", "-")] = text
    kept = {key: text for key, text in merged.items() if key not in _ABOUT_THE_HOST}
    if certificates(merged):
        kept["cert"] = _CA_INSIDE
    writer = configparser.RawConfigParser()
    writer["global"] = kept
    output = io.StringIO()
    writer.write(output)
    return output.getvalue()


def pip_files(environment: Mapping[str, str]) -> list[Path]:
    """Where pip looks for its settings, the least important first."""
    if named := environment.get("PIP_CONFIG_FILE"):
        return [_OF_THE_MACHINE, Path(named)]
    home = Path(environment.get("HOME", "/root"))
    base = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return [_OF_THE_MACHINE, home / ".pip" / "pip.conf", base / "pip" / "pip.conf"]


def certificates(settings: Mapping[str, str]) -> Path | None:
    """The file of certificates for fetching packages; None to use pip's own."""
    named = settings.get("cert") or settings.get("PIP_CERT")
    if named and Path(named).is_file():
        return Path(named)
    return _CA_BUNDLE if _CA_BUNDLE.is_file() else None
