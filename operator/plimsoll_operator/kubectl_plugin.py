"""The plugin of kubectl: ``kubectl plimsoll ...`` and its completion.

kubectl runs ``kubectl-plimsoll`` with the words after the plugin's name. For completion it runs
``kubectl_complete-plimsoll`` with the words typed so far; the last one may be unfinished.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Final

NAME: Final = "kubectl plimsoll"


def main() -> None:
    """Run the command line under kubectl's name."""
    from plimsoll_operator.__main__ import run_as

    run_as(NAME)


def complete() -> None:
    """Print the words that may follow, one a line, with a description after a tab."""
    from plimsoll_operator.__main__ import run_as

    *typed, unfinished = sys.argv[1:] or [""]
    # fish and kubectl have the same form: a word, a tab, a description.
    os.environ["_PLIMSOLL_COMPLETE"] = "complete_fish"
    os.environ["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    os.environ["_TYPER_COMPLETE_ARGS"] = f"{shlex.join(['plimsoll', *typed])} {unfinished}"
    sys.argv = ["plimsoll"]
    run_as("plimsoll")
