"""`bench-scale.json`: the last results of each benchmark of scale, under keys of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).resolve().parents[2] / "bench-scale.json"


def keep(found: Mapping[str, Any]) -> None:
    """Write figures, and leave those of the other benchmarks as they are."""
    RESULTS.write_text(json.dumps({**kept(), **found}, indent=2) + "\n")


def kept() -> dict[str, Any]:
    """Return the earlier results."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found
