"""Where kopf keeps what it knows of an object: nowhere.

Handlers of events compare nothing with an earlier state, but kopf copies each object, deeply and
several times, for handlers that would. That was a quarter of what a pod's event cost.
"""

from __future__ import annotations

from typing import Any

import kopf


class NoDiffBase(kopf.DiffBaseStorage):
    """Every object is empty, and was before."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Nothing of an object matters."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        """Nothing was kept."""

    def store(self, **_: Any) -> None:
        """Keep nothing."""


class NoProgress(kopf.ProgressStorage):
    """No handler is ever half done."""

    def fetch(self, **_: Any) -> None:
        """Nothing was kept."""

    def store(self, **_: Any) -> None:
        """Keep nothing."""

    def purge(self, **_: Any) -> None:
        """Nothing is there."""

    def touch(self, **_: Any) -> None:
        """Write nothing on objects: they are not ours."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """Nothing of ours is in it."""
        return essence
