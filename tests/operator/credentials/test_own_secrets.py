"""Tokens and Secrets as data."""

from __future__ import annotations

import base64

import pytest

from plimsoll_operator.credentials.secrets import (
    OPAQUE,
    SecretName,
    data_of,
    manifest,
    new_token,
    token_in,
)
from plimsoll_operator.names.service_urls import with_brackets

NAME = SecretName("here", "token")


@pytest.mark.parametrize(
    ("text", "token"),
    [
        pytest.param(b"a-token-of-people", "a-token-of-people", id="a person's own"),
        pytest.param(b" a-token-of-people\n", "a-token-of-people", id="with a line end"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"short", None, id="too short to be a secret"),
        pytest.param(b"two words are not one token", None, id="with spaces"),
        pytest.param(b"x" * 513, None, id="longer than a header should be"),
        pytest.param("ü".encode() * 20, None, id="not ASCII"),
        pytest.param(b"\0" * 40, None, id="binary"),
    ],
)
def test_a_secret_holds_a_usable_token_or_none(text: bytes, token: str | None) -> None:
    assert token_in({"token": text}) == token


def test_a_secret_without_the_entry_holds_none() -> None:
    assert token_in({"other": b"a-token-of-people"}) is None


def test_a_new_token_is_usable_and_never_the_same() -> None:
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(token_in({"token": each.encode()}) == each for each in made)


def test_an_entry_that_is_no_base64_is_empty() -> None:
    assert data_of({"data": {"a": "%%%", "b": "Yg==", "c": None}}) == {
        "a": b"",
        "b": b"b",
        "c": b"",
    }
    assert data_of({}) == {}


def test_a_mended_secret_keeps_its_type_and_what_others_wrote_on_it() -> None:
    before = {
        "type": "example.com/theirs",
        "metadata": {
            "labels": {"team": "a"},
            "annotations": {"why": "b"},
            "resourceVersion": "7",
            "uid": "u",
            "managedFields": [{}],
        },
        "data": {"token": "eA==", "more": "eQ=="},
    }
    made = manifest(NAME, OPAQUE, {"token": b"new"}, before)
    assert made["type"] == "example.com/theirs"
    assert made["metadata"]["labels"]["team"] == "a"
    assert made["metadata"]["annotations"] == {"why": "b"}
    assert made["metadata"]["resourceVersion"] == "7"
    assert "managedFields" not in made["metadata"]
    assert made["data"] == {"token": base64.b64encode(b"new").decode()}


@pytest.mark.parametrize(
    ("text", "name"),
    [("token", NAME), ("here/token", NAME), ("there/token", SecretName("there", "token"))],
)
def test_a_secret_is_named_with_or_without_its_namespace(text: str, name: SecretName) -> None:
    assert SecretName.parse(text, "here") == name


@pytest.mark.parametrize("text", ["", "a/", "a/b/c"])
def test_a_name_that_names_no_secret_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="write NAME or NAMESPACE/NAME"):
        SecretName.parse(text, "here")


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("http://10.0.0.7:8081", "http://10.0.0.7:8081"),
        ("http://fd00::7:8081", "http://[fd00::7]:8081"),
        ("http://fd00::7:8081/v1/feed", "http://[fd00::7]:8081/v1/feed"),
        ("http://[fd00::7]:8081", "http://[fd00::7]:8081"),
        ("https://controller.plimsoll:8443/", "https://controller.plimsoll:8443/"),
        ("https://controller", "https://controller"),
        ("https://user:secret@host:8443", "https://user:secret@host:8443"),
    ],
)
def test_a_bare_ipv6_address_gets_its_brackets(url: str, whole: str) -> None:
    assert with_brackets(url) == whole
