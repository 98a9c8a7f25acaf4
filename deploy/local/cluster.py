#!/usr/bin/env python3
"""A real Kubernetes on this machine: ``python3 deploy/local/cluster.py --help``.

It needs only Python 3.11: it runs before the virtual environment exists.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  Debian 11's Python gets a sentence, not a traceback
    sys.exit(f"cluster: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")

# The checkout replaces this folder in the path, so that modules are found as deploy.local.*.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parents[1]), *(entry for entry in sys.path if entry != str(_HERE))]

from deploy.local.commands import main  # noqa: E402  the lines above come first

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
