"""One real Plimsoll for all tests here, and namespaces that it enforces sizes in."""

from __future__ import annotations

from tests.e2e.conftest import plimsoll, shop

__all__ = ["plimsoll", "shop"]
