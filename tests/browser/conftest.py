"""One browser for all tests, and a tab that is like a new one for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rigs.browser.browsers import Tab, a_browser, browser_path


@pytest.fixture(scope="session")
def only_tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with a_browser(tmp_path_factory.mktemp("browser") / "profile") as tab:
        yield tab


@pytest.fixture
def tab(only_tab: Tab) -> Tab:
    only_tab.renew()
    return only_tab


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a browser, for tests that start it themselves."""
    return browser_path()
