#!/usr/bin/env python3
"""Writes docs/annotations.md's tables of fields from deploy/crds; a test compares them.

``.venv/bin/python deploy/reference/fields.py``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

CHECKOUT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = CHECKOUT / "docs" / "annotations.md"
_CRDS: Final = CHECKOUT / "deploy" / "crds"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a custom resource. refusals: the API server's messages about wrong values."""

    path: str
    kind: str
    description: str
    refusals: tuple[str, ...]


def spec_and_status(name: str) -> tuple[list[Field], list[Field]]:
    """Fields of ``spec`` and of ``status`` of deploy/crds/NAME.yaml, in the file's order."""
    crd = yaml.safe_load((_CRDS / f"{name}.yaml").read_text())
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return list(_fields(properties["spec"])), list(_fields(properties.get("status", {})))


def _fields(schema: Mapping[str, Any], prefix: str = "") -> Iterator[Field]:
    for name, value in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield Field(
            path, _kind(value), _in_one_line(value.get("description", "")), _refusals(value)
        )
        if value.get("type") == "array":
            yield from _fields(value.get("items", {}), f"{path}[].")
        elif isinstance(value.get("additionalProperties"), dict):
            yield from _fields(value["additionalProperties"], f"{path}.NAME.")
        else:
            yield from _fields(value, f"{path}.")


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    if schema.get("type") == "array":
        inner = schema.get("items", {}).get("type", "")
        return f"list of {inner}s" if inner not in {"object", ""} else "list"
    if "additionalProperties" in schema:
        return "map"
    if schema.get("format") == "date-time":
        return "time"
    return str(schema.get("type", ""))


def _refusals(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(rule["message"] for rule in schema.get("x-kubernetes-validations", ()))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def tables() -> dict[str, str]:
    """Name of each generated part of the page -> its text."""
    policy, _ = spec_and_status("sizingpolicies")
    profile, status = spec_and_status("taskprofiles")
    shared = {field.path for field in policy}
    own = [field for field in profile if field.path not in shared]
    campaign, its_status = spec_and_status("profilingcampaigns")
    return {
        "policy": _table(policy),
        "profile": _table(own),
        "status": _table(status),
        "campaign": _table(campaign),
        "campaign status": _table(its_status),
    }


def _table(fields: list[Field]) -> str:
    if not fields:
        return "None.\n"
    head = ["| field | value | |", "|---|---|---|"]
    return "\n".join([*head, *(_row(field) for field in fields)]) + "\n"


def _row(field: Field) -> str:
    said = "".join(f" *Refused: {each}.*" for each in field.refusals)
    cell = f"{field.description}{said}".strip().replace("|", "\\|").replace("<", "&lt;")
    return f"| `{field.path}` | {field.kind} | {cell} |"


def renewed(page: str) -> str:
    """The page with its generated parts updated.

    Raises:
        ValueError: if the page lacks the marks around a part.

    """
    for name, text in tables().items():
        begin, end = f"<!-- {name}: made from deploy/crds -->\n", f"<!-- {name}: end -->"
        before, found, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found and found_end):
            raise ValueError(f"{PAGE}: the marks around the table {name!r} are missing")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
