"""Reads the chart's values.yaml together with its comments, which are the reference for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

_KEY: Final = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]+):(?P<rest>.*)$")


@dataclass(frozen=True, slots=True)
class Value:
    """One value that people may set. path: such as ``admission.replicas``."""

    path: str
    default: Any
    comment: str


class Uncommented(ValueError):
    """A value of values.yaml has no comment."""


def read_values(text: str) -> list[Value]:
    """Every value of a values.yaml, in its order.

    A value is a key with a comment right above it. A key without one is a group, and each key in it
    needs a comment of its own.

    Raises:
        Uncommented: naming the key without a comment.

    """
    comments = dict(_comments(text))
    return list(_values(yaml.safe_load(text), comments, ""))


def _comments(text: str) -> Iterator[tuple[str, str]]:
    """Path and comment of every key; "" where there is none."""
    above: list[str] = []
    parents: list[tuple[int, str]] = []
    for line in text.splitlines():
        if line.strip().startswith("#"):
            above.append(line.strip().removeprefix("#").strip())
        elif found := _KEY.match(line):
            indent = len(found["indent"])
            parents = [(i, key) for i, key in parents if i < indent] + [(indent, found["key"])]
            yield ".".join(key for _, key in parents), " ".join(above)
            above = []
        else:
            above = []


def _values(group: Mapping[str, Any], comments: Mapping[str, str], path: str) -> Iterator[Value]:
    for key, default in group.items():
        here = f"{path}.{key}" if path else key
        if comments.get(here):
            yield Value(here, default, comments[here])
        elif isinstance(default, dict) and default:
            yield from _values(default, comments, here)
        else:
            raise Uncommented(f"values.yaml: {here} has no comment; say above it what it is for")
