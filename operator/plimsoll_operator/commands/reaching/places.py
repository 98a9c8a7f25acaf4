"""Where a command looks for Plimsoll; light, for all commands may be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which cluster is meant, and where in it Plimsoll is.

    kubeconfig, context: None takes what kubectl would. installed_in: the namespace that Plimsoll
    runs in; None looks for it by its labels.
    """

    kubeconfig: str | None = None
    context: str | None = None
    installed_in: str | None = None
