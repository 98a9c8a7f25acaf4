"""Errors: the API server's, by their consequences; our own, by who can mend them."""

from __future__ import annotations

import pytest

from plimsoll_operator.kube import errors as kube_errors
from plimsoll_operator.processes.logs import words_for
from plimsoll_predictor.store import StoreError


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        pytest.param(409, "AlreadyExists", kube_errors.AlreadyThere, id="the name is taken"),
        pytest.param(409, "Conflict", kube_errors.Changed, id="a quota changed meanwhile"),
        pytest.param(404, "NotFound", kube_errors.NotFound, id="not there"),
        pytest.param(403, "Forbidden", kube_errors.Refused, id="not allowed"),
        pytest.param(410, "Expired", kube_errors.Expired, id="a list's rest is forgotten"),
        pytest.param(429, "TooManyRequests", kube_errors.Unreachable, id="later"),
    ],
)
def test_an_answer_becomes_what_follows_from_it(
    status: int, reason: str, kind: type[kube_errors.ApiError]
) -> None:
    body = f'{{"kind":"Status","reason":"{reason}","message":"said","code":{status}}}'
    error = kube_errors.error_of(status, body.encode(), "HTTP says")
    assert type(error) is kind
    assert "said" in str(error)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"proxy says no", "proxy says no", id="no JSON"),
        pytest.param(b"[1]", "[1]", id="JSON of another kind"),
        pytest.param(b"", "Forbidden", id="nothing: HTTP's own words"),
    ],
)
def test_what_is_no_status_object_is_told_as_it_is(body: bytes, words: str) -> None:
    error = kube_errors.error_of(403, body, "Forbidden")
    assert (type(error), str(error)) == (kube_errors.Refused, words)


def test_trouble_of_the_store_is_told_in_one_line() -> None:
    assert words_for(StoreError("why")) == "why"
