"""The guard around each decision of the webhook."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import structlog

from plimsoll_operator.admission.fail_open import or_else
from plimsoll_operator.metrics.quiet_log import QuietLog


@dataclass(frozen=True, slots=True)
class Webhook:
    log: QuietLog = field(default_factory=lambda: QuietLog(time.monotonic))

    @or_else("not-halved", lambda pod: f"{pod} as it is")
    def half(self, pod: str, parts: int) -> str | None:
        if parts == 1:
            return None
        if not parts:
            raise ValueError(f"{pod} carries a secret")
        return f"{pod} in {parts} parts"


def test_what_is_decided_passes_the_guard_as_it_is() -> None:
    with structlog.testing.capture_logs() as logged:
        assert Webhook().half("train", 2) == "train in 2 parts"
        assert Webhook().half("train", 1) is None
    assert logged == []


def test_what_fails_is_answered_and_logged_without_the_text_of_the_error() -> None:
    with structlog.testing.capture_logs() as logged:
        assert Webhook().half("train", 0) == "train as it is"
    assert [(each["event"], each["subject"]) for each in logged] == [("not-halved", "error")]
    assert logged[0]["error"].startswith("ValueError in Webhook.half:")
    assert "secret" not in str(logged)
