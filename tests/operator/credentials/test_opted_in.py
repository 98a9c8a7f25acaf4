"""The webhooks have the namespaces whose SizingPolicy wants pods recognised, and no others."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from plimsoll_operator.credentials.opted_in import BY_POLICY, opted_in, selectors_for
from plimsoll_operator.names.namespaces import NAME_LABEL, NOBODYS
from plimsoll_operator.processes.run_webhook import webhook_configuration

EXCLUDED = frozenset({"kube-system", "plimsoll"})


def a_policy(namespace: str, name: str = "default") -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}}


def configuration() -> dict[str, Any]:
    return webhook_configuration("https://x", b"", EXCLUDED)


def patched(before: dict[str, Any], namespaces: list[str]) -> dict[str, Any]:
    """Merge the patch as the API server does: webhooks by their names, and lists as a whole."""
    after = copy.deepcopy(before)
    for change in selectors_for(before, namespaces):
        (one,) = (each for each in after["webhooks"] if each["name"] == change["name"])
        one["namespaceSelector"] = change["namespaceSelector"]
    return after


def names_in(written: dict[str, Any]) -> dict[str, list[str]]:
    return {
        each["name"]: rule["values"]
        for each in written["webhooks"]
        for rule in each["namespaceSelector"]["matchExpressions"]
        if (rule["key"], rule["operator"]) == (NAME_LABEL, "In")
    }


def each_of(names: list[str]) -> dict[str, list[str]]:
    return {name: [*names] for name in BY_POLICY}


@pytest.mark.parametrize(
    ("policies", "namespaces"),
    [
        pytest.param([], [], id="none"),
        pytest.param([a_policy("shop"), a_policy("lab")], ["lab", "shop"], id="two"),
        pytest.param([a_policy("shop", "other")], [], id="a policy that is not in force"),
        pytest.param([a_policy("shop", "cluster")], [], id="nor is this one's name"),
        pytest.param([a_policy("plimsoll"), a_policy("kube-system")], [], id="excluded"),
    ],
)
def test_the_policy_of_a_namespace_says_so(
    policies: list[dict[str, Any]], namespaces: list[str]
) -> None:
    assert opted_in(policies, EXCLUDED) == namespaces


def test_at_first_nobody_is_selected() -> None:
    assert names_in(configuration()) == each_of([NOBODYS])
    assert selectors_for(configuration(), []) == []


def test_the_names_are_written_into_two_webhooks_and_taken_out_again() -> None:
    named = patched(configuration(), ["lab", "shop"])
    assert names_in(named) == each_of(["lab", "shop"])
    assert selectors_for(named, ["lab", "shop"]) == []
    assert patched(named, []) == configuration()


def test_excluded_namespaces_stay_excluded_there() -> None:
    named = patched(configuration(), ["shop"])
    for each in named["webhooks"]:
        assert {"key": NAME_LABEL, "operator": "NotIn", "values": sorted(EXCLUDED)} in each[
            "namespaceSelector"
        ]["matchExpressions"]


def test_a_configuration_of_an_older_chart_is_left_as_it_is() -> None:
    older = configuration()
    older["webhooks"] = [each for each in older["webhooks"] if each["name"] not in BY_POLICY]
    assert selectors_for(older, ["shop"]) == []
    assert selectors_for({}, ["shop"]) == []
