"""The installation of Plimsoll that a command uses; light, because every command may name one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Which cluster is used, and where Plimsoll is in it.

    kubeconfig, context: None stands for kubectl's choice. installed_in: the namespace that Plimsoll
    runs in; None looks for it by its labels.
    """

    kubeconfig: str | None = None
    context: str | None = None
    installed_in: str | None = None
