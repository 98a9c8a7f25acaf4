#!/usr/bin/env python3
"""Writes every chart file that is generated from others; tests compare them.

``.venv/bin/python deploy/chart/renew.py``
"""

import os
import sys
from pathlib import Path

# The checkout replaces this folder in the path, so that modules are found as deploy.chart.*.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parents[1]), *(entry for entry in sys.path if entry != str(_HERE))]

from deploy.chart.generated import CHECKOUT, generated_files  # noqa: E402  the lines above first
from deploy.local.binaries.tools import tool  # noqa: E402


def _renew(helm: Path) -> bool:
    changed = False
    for path, text in generated_files(helm).items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(path.relative_to(CHECKOUT))
            changed = True
    return changed


if __name__ == "__main__":
    program = tool("helm", os.environ, lambda text: print(text, file=sys.stderr))
    # The rendered text includes copied files, such as the CRDs: repeat until nothing changes.
    while _renew(program):
        pass
