"""An import from a Prometheus reads just the namespaces that people name, however many."""

from __future__ import annotations

import re

import pytest

from plimsoll_operator.prometheus_history.promql import MAX_NAMESPACES, Where


def names(count: int) -> tuple[str, ...]:
    return tuple(f"team-{number}" for number in range(count))


def read_by(where: Where) -> set[str]:
    """Which of many namespaces the selector selects."""
    parts = re.findall(r'namespace(=~|!=)"([^"]*)"', where.selector())
    every = {*names(200), "others", "kube-system"}
    for sign, pattern in parts:
        named = {name for name in every if re.fullmatch(pattern, name)}
        every = named if sign == "=~" else every - named
    return every


@pytest.mark.parametrize("count", [1, MAX_NAMESPACES, MAX_NAMESPACES + 1, 200])
def test_no_namespace_is_read_that_nobody_named(count: int) -> None:
    assert read_by(Where(names(count))) == set(names(count))


def test_without_a_name_all_but_the_clusters_own_are_read() -> None:
    assert read_by(Where()) == {*names(200), "others"}


def test_questions_about_pods_in_few_namespaces_are_about_these() -> None:
    assert read_by(Where(names(90)).narrowed(["team-1", "team-2", "no/name"])) == {
        "team-1",
        "team-2",
    }


def test_questions_about_pods_in_many_namespaces_are_as_wide_as_people_allow() -> None:
    everywhere = Where((), ('cluster="prod"',))
    assert everywhere.narrowed(names(MAX_NAMESPACES + 1)) == everywhere
    assert read_by(Where(names(90)).narrowed(names(80))) == set(names(90))
