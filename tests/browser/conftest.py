"""A tab for the tests of a module; those that need a new page each have their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rigs.browser.browsers import Tab, a_browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with a_browser(tmp_path_factory.mktemp("browser") / "profile") as tab:
        yield tab
