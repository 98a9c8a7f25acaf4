"""The installation of Plimsoll that a command is about; light, since every command may name one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Which cluster is meant, and where in it Plimsoll is.

    kubeconfig, context: None stands for what kubectl would choose. installed_in: the namespace
    that Plimsoll runs in; None looks for it by its labels.
    """

    kubeconfig: str | None = None
    context: str | None = None
    installed_in: str | None = None
