"""Where the public traces are; docs/replay.md says where they come from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from plimsoll_predictor.replay.sizes.traces import TraceError

ROOT: Final = Path(__file__).resolve().parents[1]
TRACES_FOLDER: Final = Path(os.environ.get("TRACES") or ROOT.parent / "shared" / "traces")
FIVE: Final = ("nfcore-methylseq", "nfcore-eager", "nfcore-rnaseq", "nfcore-mag", "cluster-mag")
"""The traces on which the first sizes were found; each has bars of its own."""
TRACES: Final = (*FIVE, "nfcore-chipseq")
QUICK_TRACES: Final = ("nfcore-eager", "nfcore-rnaseq")


def trace_paths(folder: Path, *, quick: bool) -> list[Path]:
    """The traces that have bars.

    Raises TraceError if one is missing.
    """
    named = [folder / f"{name}.csv.gz" for name in (QUICK_TRACES if quick else TRACES)]
    missing = [str(path) for path in named if not path.is_file()]
    if missing:
        raise TraceError(
            f"missing: {', '.join(missing)}; set TRACES to the folder with the public traces"
            " (docs/replay.md says where they come from)"
        )
    return named
