"""The fixtures of the API server's tests."""

from __future__ import annotations

from tests.apiserver.conftest import knowing_cluster, shop

__all__ = ["knowing_cluster", "shop"]
