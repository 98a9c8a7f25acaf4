"""Errors: of the API server, by what follows from them; of ours, by who can mend them."""

from __future__ import annotations

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.controller import kube
from plimsoll_operator.logs import words_for
from plimsoll_predictor import store
from plimsoll_predictor.store import StoreError


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        pytest.param(409, "AlreadyExists", kube.AlreadyThere, id="the name is taken"),
        pytest.param(409, "Conflict", kube.Changed, id="a quota changed meanwhile"),
        pytest.param(404, "NotFound", kube.NotFound, id="not there"),
        pytest.param(403, "Forbidden", kube.Refused, id="not allowed"),
        pytest.param(429, "TooManyRequests", kube.Unreachable, id="later"),
    ],
)
def test_an_answer_becomes_what_follows_from_it(
    status: int, reason: str, kind: type[kube.ApiError]
) -> None:
    error = client.ApiException(status=status, reason="HTTP says")
    error.body = f'{{"kind":"Status","reason":"{reason}","code":{status}}}'
    assert type(kube._translated(error)) is kind


def test_every_trouble_of_the_store_is_told_in_one_line() -> None:
    kinds = [kind for kind in vars(store).values() if _is_trouble(kind)]
    assert len(kinds) >= 5
    assert [words_for(kind("why")) for kind in kinds] == ["why"] * len(kinds)


def _is_trouble(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, StoreError)
