"""Every chart file that is generated from others, with the content that it must have now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from deploy.chart.rendering import OLDEST, VALUE_SETS, render
from deploy.chart.values_comments import Value, read_values

HERE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = HERE.parents[1]
CHART: Final = CHECKOUT / "helm" / "plimsoll"
GOLDEN: Final = CHECKOUT / "tests" / "chart" / "golden"
RENEW: Final = ".venv/bin/python deploy/chart/renew.py"


def generated_files(helm: Path) -> dict[Path, str]:
    """Path and content of all of them. helm: the program."""
    values = read_values((CHART / "values.yaml").read_text())
    return {
        **crd_copies(),
        CHART / "README.md": readme(values),
        CHART / "values.schema.json": described_schema(values),
        **{GOLDEN / f"{name}.yaml": render(helm, CHART, name) for name in VALUE_SETS},
        CHECKOUT / "deploy" / "plimsoll.yaml": plain_manifests(helm),
    }


def crd_copies() -> dict[Path, str]:
    """Copies of deploy/crds inside the chart: Helm reads nothing outside of it."""
    sources = sorted((CHECKOUT / "deploy" / "crds").glob("*.yaml"))
    return {CHART / "files" / "crds" / each.name: each.read_text() for each in sources}


def readme(values: list[Value]) -> str:
    """The chart's README: its introduction, and a table of every value."""
    rows = [f"| `{each.path}` | {_code(each.default)} | {_cell(each.comment)} |" for each in values]
    table = ["| value | default | |", "|---|---|---|", *rows]
    return (HERE / "introduction.md").read_text() + "\n" + "\n".join(table) + "\n"


def _code(default: Any) -> str:
    return f"`{json.dumps(default)}`"


def _cell(comment: str) -> str:
    return comment.replace("|", "\\|")


def described_schema(values: list[Value]) -> str:
    """values.schema.json with each value's comment as its description."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    for value in values:
        _property(schema, value.path)["description"] = value.comment
    return json.dumps(schema, indent=2) + "\n"


def _property(schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    found: Any = schema
    for key in path.split("."):
        if key not in found["properties"]:
            raise KeyError(f"values.schema.json does not know {path}; add it under properties")
        found = found["properties"][key]
    assert isinstance(found, dict)
    return found


def plain_manifests(helm: Path) -> str:
    """deploy/plimsoll.yaml: the default for people without Helm, its namespace included."""
    head = (
        f"# Made from helm/plimsoll by `{RENEW}`; do not edit.\n"
        "# kubectl apply -f deploy/plimsoll.yaml, with `image:` set to yours.\n"
    )
    labels = {"app.kubernetes.io/name": "plimsoll"}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "plimsoll", "labels": labels},
    }
    # kubectl refuses a field that an older API server does not know.
    rendered = render(helm, CHART, "default", hooks=False, kubernetes=OLDEST)
    unmanaged = rendered.replace(
        "app.kubernetes.io/managed-by: Helm", "app.kubernetes.io/managed-by: kubectl"
    )
    return f"{head}---\n{yaml.safe_dump(namespace, sort_keys=False)}{unmanaged}"
