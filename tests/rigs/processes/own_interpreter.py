"""Imported before all else by the server that controllers are forked from: which Python is theirs.

What starts trainers takes its command's first word from ``sys.executable`` as it is imported.
"""

from __future__ import annotations

import os
import sys
from typing import Final

NAMED_BY: Final = "PLIMSOLL_TESTS_INTERPRETER"

sys.executable = os.environ.pop(NAMED_BY, sys.executable)
