"""Parts made from other files of the chart agree with those; the chart passes Helm's lint."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from deploy.chart.generated import CHART, CHECKOUT, RENEW, generated_files
from deploy.chart.rendering import KUBERNETES, OLDEST, VALUE_SETS
from deploy.chart.values_comments import Uncommented, read_values
from deploy.local.layout import kubernetes_version

from tests.chart.helm import Helm

COPIES = sorted((CHECKOUT / "deploy" / "crds").glob("*.yaml"))


@pytest.fixture(scope="module")
def expected(helm_program: Path) -> dict[Path, str]:
    return generated_files(helm_program)


@pytest.mark.parametrize(
    "path",
    [
        *(CHART / "files" / "crds" / each.name for each in COPIES),
        CHART / "README.md",
        CHART / "values.schema.json",
        *(CHECKOUT / "tests" / "chart" / "golden" / f"{name}.yaml" for name in VALUE_SETS),
        CHECKOUT / "deploy" / "plimsoll.yaml",
    ],
    ids=lambda path: str(path.relative_to(CHECKOUT)),
)
def test_a_file_made_from_others_is_current(expected: dict[Path, str], path: Path) -> None:
    assert path.read_text() == expected[path], f"run {RENEW}"


def test_every_file_made_from_others_is_looked_at(expected: dict[Path, str]) -> None:
    assert len(expected) == len(COPIES) + 3 + len(VALUE_SETS)


def test_nothing_is_left_of_files_that_are_no_longer_made(expected: dict[Path, str]) -> None:
    there = {*(CHART / "files" / "crds").iterdir(), *(CHECKOUT / "tests/chart/golden").iterdir()}
    assert there <= set(expected)


@pytest.mark.parametrize("value_set", VALUE_SETS)
def test_helm_lint_finds_nothing(helm: Helm, value_set: str) -> None:
    values = VALUE_SETS[value_set]
    words = [] if values is None else ["--values", str(values)]
    said = helm.do("lint", str(CHART), "--strict", "--namespace", "plimsoll", *words)
    assert "[WARNING]" not in said


def test_the_chart_is_of_the_products_version(helm: Helm) -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHECKOUT / "pyproject.toml").read_text()
    assert f'version = "{chart["version"]}"' in project
    assert chart["appVersion"] == chart["version"]


def test_the_manifests_for_people_without_helm_hold_nothing_of_helms_tests() -> None:
    assert "helm.sh/hook" not in (CHECKOUT / "deploy" / "plimsoll.yaml").read_text()


def test_the_manifests_for_people_without_helm_are_for_the_oldest_kubernetes_too() -> None:
    oldest = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    assert oldest == f">={OLDEST.removesuffix('.0')}.0-0"
    assert "recursiveReadOnly" not in (CHECKOUT / "deploy" / "plimsoll.yaml").read_text()


def test_it_is_rendered_for_the_kubernetes_that_it_is_tested_on() -> None:
    assert kubernetes_version() == KUBERNETES


def test_a_value_without_a_comment_is_named() -> None:
    with pytest.raises(Uncommented, match=r"values.yaml: a\.c has no comment"):
        read_values("a:\n  # What b is.\n  b: 1\n\n  c: 2\n")


def test_a_comment_belongs_to_the_value_below_it() -> None:
    values = read_values("# Of all.\n\na:\n  # One,\n  # two.\n  b: {x: 1}\n# Three.\nd: []\n")
    assert [(each.path, each.comment) for each in values] == [("a.b", "One, two."), ("d", "Three.")]
