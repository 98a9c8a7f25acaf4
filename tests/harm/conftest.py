"""One rehearsal of all chosen scenarios, and its table at the end of what pytest prints."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any, Final

import pytest
from deploy.local.images.on_node import load_image

from tests.apiserver.crds import await_kinds, install_crds
from tests.conftest import Cluster
from tests.harm import table
from tests.harm.catalogue import ALL
from tests.harm.engines import TRAININGS, WORKFLOWS, foreign_kind
from tests.harm.rehearsal import Pair, rehearse
from tests.harm.scenario import Scenario
from tests.rigs.images.eater import load_eater
from tests.rigs.images.runtimes_image import archive

PAIRS: Final = "pairs"
_KEPT: Final = pytest.StashKey[list[Pair]]()


def chosen(request: pytest.FixtureRequest) -> list[Scenario]:
    """The scenarios whose tests run, each once: all, or those that ``pytest -k`` names."""
    items: list[Any] = [each for each in request.session.items if hasattr(each, "callspec")]
    named = {item.callspec.params["scenario"].name for item in items if PAIRS in item.fixturenames}
    return [each for each in ALL if each.name in named]


@pytest.fixture(scope="session")
def pairs(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Pair]:
    """Each chosen scenario's two runs, by its name; written to harm.json."""
    load_eater(cluster.handle.layout)
    # The cluster's network has no way out, so make it before.
    assert archive().exists(), (
        f"there is no {archive()}; run: python -m tests.rigs.images.runtimes_image"
    )
    load_image(cluster.handle.layout, archive())
    install_crds(cluster)
    folder = tmp_path_factory.mktemp("plimsoll")
    with foreign_kinds(cluster):
        try:
            found = asyncio.run(rehearse(cluster, chosen(request), folder))
        except AssertionError as error:
            # Pytest says it once for each scenario.
            pytest.fail(f"no scenario has a result: {error}", pytrace=False)
    request.config.stash[_KEPT] = found
    table.write(found)
    return {pair.scenario.name: pair for pair in found}


@contextlib.contextmanager
def foreign_kinds(cluster: Cluster) -> Iterator[None]:
    """Kinds of other projects exist inside the block."""
    kinds = [foreign_kind(*each) for each in (WORKFLOWS, TRAININGS)]
    names = [str(kind["metadata"]["name"]) for kind in kinds]
    for kind in kinds:
        cluster.apply(kind)
    await_kinds(cluster, "crd", *names)
    try:
        yield
    finally:
        cluster.kubectl("delete", "crd", *names)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table."""
    found = config.stash.get(_KEPT, None)
    if found is not None:
        terminalreporter.section("First, do no harm")
        for line in table.lines(found):
            terminalreporter.write_line(line)
