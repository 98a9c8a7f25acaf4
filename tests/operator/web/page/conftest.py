"""Pages are drawn in time here, even on a busy machine."""

from __future__ import annotations

import pytest

from plimsoll_operator.web.page import serving


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a page a minute; a test of its patience sets its own."""
    monkeypatch.setattr(serving, "PATIENCE_S", 60.0)
