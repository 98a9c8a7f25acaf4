"""Events: their words and shape; an Event sent twice counts once."""

from __future__ import annotations

import re

import pytest

from plimsoll_operator.profile.event_manifests import event_for, event_name
from plimsoll_operator.wording import event_words
from plimsoll_operator.wording.event_words import Happening, Regarding
from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.lifting import LIFTING_OFF, Leaking

POD = Regarding(kind="Pod", namespace="shop", name="train-x7f2k", uid="u-1")
LIFTED = event_words.lifted(512 * MIB, GIB, 2)


@pytest.mark.parametrize(
    ("happening", "reason", "kind", "words"),
    [
        pytest.param(
            event_words.sized(512 * MIB, 4 * GIB, "bin 1 of 3"),
            "Sized",
            "Normal",
            "memory 4Gi → 512Mi: bin 1 of 3",
        ),
        pytest.param(
            event_words.sized(512 * MIB, None, "max seen"),
            "Sized",
            "Normal",
            "memory no request → 512Mi: max seen",
        ),
        pytest.param(
            LIFTED,
            "Lifted",
            "Warning",
            "killed for lack of memory at 512Mi; attempt 2 of this run gets 1Gi",
        ),
        pytest.param(
            event_words.lifted(512 * MIB, GIB, 2, cause=Cause.CHILD),
            "Lifted",
            "Warning",
            "killed for lack of memory at 512Mi (a child process was killed at the limit);"
            " attempt 2 of this run gets 1Gi",
        ),
        pytest.param(
            event_words.retried("train-2", 2, GIB),
            "Retried",
            "Normal",
            "attempt 2 is pod train-2 with 1Gi",
        ),
        pytest.param(
            event_words.retry_not_made("train-2", 2, "given up: a webhook forbids it"),
            "NotRetried",
            "Warning",
            "attempt 2 of this run (pod train-2) was given up: a webhook forbids it; remove the"
            " cause, then run the pod again yourself",
        ),
        pytest.param(
            event_words.lent(512 * MIB, 148 * MIB, 77 * MIB),
            "Lent",
            "Normal",
            "memory 512Mi → 148Mi: it uses 77Mi; it lends 364Mi; its limit stays",
        ),
        pytest.param(
            event_words.rescued(512 * MIB, GIB, "it grows"),
            "Rescued",
            "Normal",
            "memory 512Mi → 1Gi: it grows",
        ),
        pytest.param(
            event_words.not_rescued("leak", "it rises in a line"),
            "NotRescued",
            "Warning",
            "it nears its memory limit and is not given more: it rises in a line",
        ),
        pytest.param(
            event_words.not_released("policy keep-gates forbids it"),
            "NotReleased",
            "Warning",
            "it cannot be started: the API server refuses to let it go (policy keep-gates forbids"
            " it); it is tried again every minute; remove the rule that forbids it, give the"
            " controller its rights back, or run `plimsoll release`",
        ),
        pytest.param(
            event_words.released("unordered", ["n1"], 12.4),
            "Released",
            "Normal",
            "may start after waiting 12 s: no policy orders its task any more, it is paused, or"
            " releases are slow in this namespace; it prefers node n1",
        ),
        pytest.param(
            event_words.smaller_partitions(1, 3),
            "SmallerPartitions",
            "Normal",
            "its application's next driver is given smaller partitions, step 1 of 3, where its user"
            " set none",
        ),
        pytest.param(
            event_words.leaking(Leaking("lifted 3 times", "raise maxLifts").words, "job:9"),
            "Leaking",
            "Warning",
            "given up on run job:9: lifted 3 times; look for a leak, or raise maxLifts",
        ),
        pytest.param(
            event_words.leaking(Leaking(LIFTING_OFF).words, "job:9"),
            "Leaking",
            "Warning",
            "given up on run job:9: lifting is switched off (maxLifts 0)",
        ),
        pytest.param(
            event_words.not_lifted(512 * MIB),
            "NotLifted",
            "Warning",
            "killed for lack of memory at 512Mi; no further lift follows: tasks with the same tag"
            " cannot be told apart, so they count as one run; together they have used up that run's"
            " attempts; their next pods get what was written, or more",
        ),
        pytest.param(
            event_words.stuck(),
            "NotReplaced",
            "Warning",
            "killed for lack of memory and restarted in place at the same size: nobody is known to"
            " make this pod again, so Plimsoll does not delete this one; use a Job, or"
            " restartPolicy Never",
        ),
    ],
)
def test_each_reason_has_its_words(
    happening: Happening, reason: str, kind: str, words: str
) -> None:
    event = event_for(happening, POD, at_s=0.0, instance="controller-0")
    assert (event["reason"], event["type"], event["note"]) == (reason, kind, words)


def test_the_same_happening_told_later_by_another_controller_has_the_same_name() -> None:
    first = event_for(LIFTED, POD, at_s=1.0, instance="a")
    again = event_for(LIFTED, POD, at_s=99.5, instance="b")
    assert first["metadata"] == again["metadata"]


def test_a_cpu_request_that_nobody_wrote_is_not_said_to_be_written() -> None:
    assert event_words.cpu_given_back(2000, 500, "why").note == (
        "CPU request 2000m → 500m, as its author wrote it: why"
    )
    assert event_words.cpu_given_back(2000, None, "why").note == (
        "CPU request 2000m → 0m, none was written: why"
    )


def test_more_words_of_why_change_no_name() -> None:
    told = event_words.because(LIFTED, "running attempts have reached 1Gi")
    assert told.note == f"{LIFTED.note}; running attempts have reached 1Gi"
    assert event_name(told, POD) == event_name(LIFTED, POD)
    assert event_words.because(LIFTED, "") == LIFTED


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(
            (event_words.lifted(GIB, 2 * GIB, 3), POD), id="the next lift of the same pod"
        ),
        pytest.param((event_words.retried("train-2", 2, GIB), POD), id="another reason"),
        pytest.param(
            (LIFTED, Regarding(kind="Pod", namespace="shop", name=POD.name, uid="u-2")),
            id="a new pod of the same name",
        ),
    ],
)
def test_another_happening_has_another_name(other: tuple[Happening, Regarding]) -> None:
    assert event_name(*other) != event_name(LIFTED, POD)


def test_an_event_carries_what_the_api_server_asks_of_events_v1() -> None:
    event = event_for(LIFTED, POD, at_s=1_790_000_000.25, instance="i" * 500)
    assert event["eventTime"] == "2026-09-21T14:13:20.250000Z"
    assert len(event["reportingInstance"]) == 128
    assert event["reportingController"] == "plimsoll.dev/controller"
    assert event["action"] == "Lift"
    assert event["metadata"]["namespace"] == event["regarding"]["namespace"] == "shop"


@pytest.mark.parametrize("letter", ["x", "·", "界"])
def test_a_long_note_is_cut_to_the_bytes_the_api_server_counts(letter: str) -> None:
    event = event_for(event_words.sized(GIB, GIB, letter * 5000), POD, at_s=0.0, instance="i")
    assert 1021 <= len(event["note"].encode()) <= 1024
    assert event["note"].endswith(f"{letter}…")


@pytest.mark.parametrize("name", ["a" * 253, "...", "Ünïcode_Pod", "train-x7f2k"])
def test_the_name_is_valid_whatever_the_object_is_called(name: str) -> None:
    made = event_name(LIFTED, Regarding(kind="Pod", namespace="shop", name=name, uid="u"))
    assert len(made) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", made)
