"""The one kind of error that people see from the local cluster."""

from __future__ import annotations


class Trouble(Exception):  # noqa: N818  read as a word: `raise Trouble("no Go")`
    """Something is missing or broken here; the message says what, where, and what to do."""
