"""The forms in which a command prints; light, because the command line loads it at every start."""

from __future__ import annotations

from enum import StrEnum


class OutputForm(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
