"""The public traces that figures are measured on. They carry no licence, so they are not ours to
keep: TRACES names their folder, by default ../shared/traces beside the project.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("TRACES") or ROOT.parent / "shared" / "traces")


def trace_file(name: str) -> Path:
    """The file of a trace. A test that needs it fails without it: it is not skipped."""
    path = FOLDER / f"{name}.csv.gz"
    assert path.is_file(), (
        f"{path} is missing: set TRACES to the folder with the public traces"
        " (docs/replay.md says where they come from)"
    )
    return path
