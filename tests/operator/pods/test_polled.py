"""Bare pods whose input a person uses, or whose installer waits for them by name."""

from __future__ import annotations

import pytest

from plimsoll_operator.pods.identity import Retrier, identify
from tests.builders.pods import a_pod


@pytest.mark.parametrize(
    ("fields", "retrier"),
    [
        pytest.param({"stdin": True, "tty": True}, Retrier.MAKER, id="kubectl run -it"),
        pytest.param({"stdin": False}, Retrier.PLIMSOLL, id="nobody"),
        pytest.param({"stdin": "yes"}, Retrier.PLIMSOLL, id="nonsense"),
    ],
)
def test_a_pod_that_somebody_talks_to_is_never_copied(
    fields: dict[str, object], retrier: Retrier
) -> None:
    """``kubectl run -i`` says how the first pod ended, and deletes it with ``--rm``."""
    identity = identify(a_pod().with_container("shell", **fields).built())
    assert identity is not None
    assert identity.retrier is retrier


@pytest.mark.parametrize("hook", ["helm.sh/hook", "argocd.argoproj.io/hook"])
def test_a_bare_hook_of_an_installation_is_never_copied(hook: str) -> None:
    """``helm test`` fails with the pod that it made, and a copy would install a second time."""
    identity = identify(a_pod().annotated({hook: "test"}).built())
    assert identity is not None
    assert identity.retrier is Retrier.MAKER
