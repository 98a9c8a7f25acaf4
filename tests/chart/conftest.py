"""Helm for every test of the chart, and the figures they measured at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from deploy.local.binaries.tools import tool
from deploy.local.images.dockerfile import TARGETS, build_image
from deploy.local.images.on_node import has_image, load_image

from tests.chart.figures import FIGURES
from tests.chart.helm import Helm
from tests.chart.our_kinds import remove_kinds
from tests.conftest import Cluster


@pytest.fixture(scope="session")
def helm_program() -> Path:
    """Helm, built once from its Go module into the cache."""
    return tool("helm", os.environ, lambda text: print(text, file=sys.stderr))


@pytest.fixture(scope="session")
def helm(helm_program: Path) -> Helm:
    """Helm without a cluster."""
    return Helm(helm_program)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in FIGURES.lines():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def image(cluster: Cluster) -> str:
    """The image of the Dockerfile, on the node; its name."""
    built = build_image(TARGETS["plimsoll"], os.environ, lambda text: print(text, file=sys.stderr))
    if not has_image(cluster.handle.layout, built.reference):
        load_image(cluster.handle.layout, built.archive)
    return built.reference


@pytest.fixture(scope="session")
def cluster_helm(helm_program: Path, cluster: Cluster) -> Iterator[Helm]:
    """Helm on the local cluster, where a release leaves our kinds to the next one.

    There are none when the first test begins, as the chart takes over only its own, and none after
    the last.
    """
    remove_kinds(cluster)
    yield Helm(helm_program, cluster, validates=False)
    remove_kinds(cluster)


@pytest.fixture(scope="session")
def admins_helm(cluster_helm: Helm) -> Helm:
    """The same as admins run it: it validates what it installs."""
    return replace(cluster_helm, validates=True)
