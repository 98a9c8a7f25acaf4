"""The only kind of error that people see from the local cluster."""

from __future__ import annotations


class Trouble(Exception):
    """Something is missing or broken here; the message says what, where, and what to do."""
