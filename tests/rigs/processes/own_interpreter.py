"""The server that forks controllers imports this first: it says which Python is theirs.

The module that starts trainers reads its command's first word from ``sys.executable`` when it is
imported.
"""

from __future__ import annotations

import os
import sys
from typing import Final

NAMED_BY: Final = "PLIMSOLL_TESTS_INTERPRETER"

sys.executable = os.environ.pop(NAMED_BY, sys.executable)
