"""Words Events on pods and TaskProfiles; ``event_manifests`` makes objects of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.wording.cause_words import words_for_kill
from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.units import words_for_bytes


class EventReason(StrEnum):
    """The kind of an Event; people filter by it."""

    SIZED = "Sized"
    STEPPED_BACK = "SteppedBack"
    LIFTED = "Lifted"
    RETRIED = "Retried"
    NOT_RETRIED = "NotRetried"
    NOT_REPLACED = "NotReplaced"
    NOT_LIFTED = "NotLifted"
    LEAKING = "Leaking"
    RESIZED = "Resized"
    DRIFTING = "Drifting"
    CROWDED = "TooManyTasks"
    RUNNING_LONG = "RunningLong"
    MENDED = "Mended"
    LENT = "Lent"
    TAKEN_BACK = "TakenBack"
    RESCUED = "Rescued"
    NOT_RESCUED = "NotRescued"
    SMALLER_CHUNKS = "SmallerChunks"
    SMALLER_PARTITIONS = "SmallerPartitions"
    HELD = "Held"
    RELEASED = "Released"
    NOT_RELEASED = "NotReleased"
    LEASED = "Leased"


_REPEATED: Final = frozenset({EventReason.RESIZED, EventReason.LENT, EventReason.TAKEN_BACK})
"""They are announced when they are done, and a pod may get the same size more than once."""
_WHY_RELEASED: Final = {
    "turn": "it is its turn",
    "overtaken": "many have overtaken it",
    "waited": "it waited for its turn for as long as it may",
    "others": "something else holds it, too, or it is one of a group",
    "unranked": "the priority of its pods is not known, or they may not preempt",
    "unordered": (
        "no policy orders its task any more, it is paused, or releases are slow in this namespace"
    ),
    "large": "it fits on no node, not even on an empty one",
    "outside": "a later pod without an order would overtake it",
    "lower": "a pod of lower priority would start first",
    "crowd": "too many wait",
    "blind": "it is not known what runs on the nodes",
    "away": "no controller leads",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object of an Event."""

    kind: str
    namespace: str
    name: str
    uid: str
    api_version: str = "v1"

    @classmethod
    def of(cls, obj: Mapping[str, Any], kind: str = "Pod", api_version: str = "v1") -> Regarding:
        """Return what identifies an object of the API server."""
        meta = obj["metadata"]
        return cls(
            kind=kind,
            namespace=str(meta["namespace"]),
            name=str(meta["name"]),
            uid=str(meta["uid"]),
            api_version=api_version,
        )


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to one object.

    note: one sentence for people. key: distinguishes happenings of the same reason and object, such
        as an attempt's number or a size; the same key means the same happening.
    at_s: when it happened, Unix seconds; None for what happens now.
    """

    reason: EventReason
    note: str
    key: str = ""
    at_s: float | None = None


def done(happening: Happening, now_s: float) -> Happening:
    """Return a happening that is announced now, apart from an earlier one that was alike."""
    if happening.reason not in _REPEATED:
        return happening
    return replace(happening, key=f"{happening.key}@{now_s:.0f}")


def at(happening: Happening, at_s: float | None) -> Happening:
    """Return a happening that may be seen late, with its time."""
    return replace(happening, at_s=at_s)


def sized(allocation_bytes: int, asked_bytes: int | None, why: str) -> Happening:
    """A pod got its size at admission."""
    return _sized(EventReason.SIZED, asked_bytes, allocation_bytes, why)


def stepped_back(why: str) -> Happening:
    """Somebody else sets a pod's memory, so Plimsoll leaves it alone. why: who sets it."""
    note = f"{why}; it is measured and learned from, and nobody lifts it after a kill"
    return Happening(EventReason.STEPPED_BACK, note)


def lifted(
    from_bytes: int,
    to_bytes: int,
    next_attempt: int,
    *,
    certain: bool = True,
    cause: Cause | None = None,
) -> Happening:
    """A pod was OOM-killed; its run's next attempt gets more.

    certain: whether somebody is known to make that attempt.
    """
    size = words_for_bytes(to_bytes)
    following = f"attempt {next_attempt} of this run gets {size}"
    if not certain:
        following = f"if there is an attempt {next_attempt} of this run, it gets {size}"
    note = f"{_killed(from_bytes, cause)}; {following}"
    return Happening(EventReason.LIFTED, note, str(next_attempt))


def because(happening: Happening, words: str) -> Happening:
    """Add words to the reason of a happening; the same happening if there are none."""
    return replace(happening, note=f"{happening.note}; {words}") if words else happening


def failed_lowered(at_bytes: int, next_attempt: int) -> Happening:
    """A pod failed by itself below the written size; its run goes on with the written size."""
    note = (
        f"failed by itself at {words_for_bytes(at_bytes)}, less than was written, which may have"
        f" been too small; attempt {next_attempt} of this run gets what was written"
    )
    return Happening(EventReason.LIFTED, note, str(next_attempt))


def given_back(
    at_bytes: int, next_attempt: int, cause: Cause | None, *, certain: bool = True
) -> Happening:
    """A pod was killed below the written size; its run goes on with the written size.

    cause: of its end; its node may have run out of memory. certain: as in ``lifted``.
    """
    at = f"at {words_for_bytes(at_bytes)}, less than was written"
    how = f"killed for lack of memory {at}{words_for_kill(cause)}"
    if cause is Cause.NODE_PRESSURE:
        how = f"ended {at}, when its node ran out of memory"
    following = f"attempt {next_attempt} of this run gets what was written"
    if not certain:
        following = f"if there is an attempt {next_attempt} of this run, it gets what was written"
    return Happening(EventReason.LIFTED, f"{how}; {following}", str(next_attempt))


def not_retried(at_bytes: int, why: str, cause: Cause | None = None) -> Happening:
    """A pod was OOM-killed, and nobody makes its run's next attempt. why: the reason."""
    note = (
        f"{_killed(at_bytes, cause)}; nobody makes another attempt"
        f" of this run ({why}); the task's next runs are sized by what this one taught"
    )
    return Happening(EventReason.NOT_RETRIED, note)


def not_lifted(at_bytes: int, cause: Cause | None = None) -> Happening:
    """A pod was OOM-killed, and siblings that have its key have used up the lifts with it."""
    note = (
        f"{_killed(at_bytes, cause)}; no further lift follows: tasks with the same tag cannot be"
        " told apart, so they count as one run; together they have used up that run's attempts;"
        " their next pods get what was written, or more"
    )
    return Happening(EventReason.NOT_LIFTED, note)


def _killed(at_bytes: int, cause: Cause | None) -> str:
    return f"killed for lack of memory at {words_for_bytes(at_bytes)}{words_for_kill(cause)}"


def retried(new_pod: str, attempt: int, allocation_bytes: int | None) -> Happening:
    """Plimsoll made a bare pod's next attempt; the Event is on the previous pod.

    allocation_bytes: None for the size that its author wrote.
    """
    size = "what was written" if allocation_bytes is None else words_for_bytes(allocation_bytes)
    note = f"attempt {attempt} is pod {new_pod} with {size}"
    return Happening(EventReason.RETRIED, note, new_pod)


def retry_not_made(new_pod: str, attempt: int, words: str) -> Happening:
    """Plimsoll does not make a bare pod's next attempt. words: how that ended."""
    note = (
        f"attempt {attempt} of this run (pod {new_pod}) was {words}; remove the cause, then run the"
        " pod again yourself"
    )
    return Happening(EventReason.NOT_RETRIED, note, new_pod)


def replaced() -> Happening:
    """A pod was deleted so that its owner replaces it: its container would keep its old size."""
    note = (
        "deleted, so that its owner makes a pod with more memory: a container restarted in place"
        " keeps the limit that was too small"
    )
    return Happening(EventReason.LIFTED, note, "replaced")


def freed() -> Happening:
    """A pod was deleted so that its owner replaces it: its task ended, but a container goes on."""
    note = (
        "deleted, so that its owner makes a pod with more memory: its task ended at a size below"
        " what was written, and another of its containers goes on"
    )
    return Happening(EventReason.LIFTED, note, "replaced")


def stuck(kept: str | None = None) -> Happening:
    """A killed container restarts at its old size.

    kept: why a new pod may be worse: it would lose something, or may never come. None if nobody is
        known to make one.
    """
    why = kept or "nobody is known to make this pod again"
    advice = "use a Job, or restartPolicy Never" if kept is None else "use restartPolicy Never"
    note = (
        f"killed for lack of memory and restarted in place at the same size: {why}, so Plimsoll"
        f" does not delete this one; {advice}"
    )
    return Happening(EventReason.NOT_REPLACED, note, "stuck")


def leaking(words: str, run: str) -> Happening:
    """A run gets no further lift; the Event is on its last pod. words: why, and what to do."""
    return Happening(EventReason.LEAKING, f"given up on run {run}: {words}", run)


def resized(from_bytes: int | None, to_bytes: int, why: str) -> Happening:
    """A pod that waits for a node got another size, because its task has learned."""
    return _sized(EventReason.RESIZED, from_bytes, to_bytes, why)


def cpu_given_back(from_millicores: int | None, to_millicores: int | None, why: str) -> Happening:
    """A pod that waits for a node requests the CPU that its author wrote, and no more."""
    before, after = (f"{millicores or 0}m" for millicores in (from_millicores, to_millicores))
    written = "none was written" if to_millicores is None else "as its author wrote it"
    note = f"CPU request {before} → {after}, {written}: {why}"
    return Happening(EventReason.RESIZED, note, "cpu")


def lent(from_bytes: int, to_bytes: int, used_bytes: int) -> Happening:
    """A running pod's request was lowered to its use plus some room; its limit stays."""
    uses, lends = words_for_bytes(used_bytes), words_for_bytes(from_bytes - to_bytes)
    why = f"it uses {uses}; it lends {lends}; its limit stays"
    return _sized(EventReason.LENT, from_bytes, to_bytes, why)


def taken_back(from_bytes: int, to_bytes: int, why: str) -> Happening:
    """A running pod got back the request that it had before it lent."""
    return _sized(EventReason.TAKEN_BACK, from_bytes, to_bytes, why)


def rescued(from_bytes: int, to_bytes: int, why: str) -> Happening:
    """A running pod that neared its limit got more, in place."""
    return _sized(EventReason.RESCUED, from_bytes, to_bytes, why)


def not_rescued(reason: str, why: str) -> Happening:
    """A running pod nears its limit and gets no more. reason: why, in a word."""
    note = f"it nears its memory limit and is not given more: {why}"
    return Happening(EventReason.NOT_RESCUED, note, reason)


def smaller_chunks(at_bytes: int, next_attempt: int, cause: Cause | None) -> Happening:
    """A pod that leases its items was OOM-killed; its next attempt leases fewer at once."""
    note = (
        f"{_killed(at_bytes, cause)}; attempt {next_attempt} of this run gets as much, and leases"
        " half of the items at once, or fewer"
    )
    return Happening(EventReason.SMALLER_CHUNKS, note, str(next_attempt))


def smaller_partitions(step: int, most: int) -> Happening:
    """A pod of Spark ran out of memory; its application's next driver splits into more parts."""
    note = (
        f"its application's next driver is given smaller partitions, step {step} of {most}, where"
        " its user set none"
        if step <= most
        else f"after {most} steps smaller partitions do not help: executors are given more memory"
    )
    return Happening(EventReason.SMALLER_PARTITIONS, note, str(step))


def _sized(reason: EventReason, from_bytes: int | None, to_bytes: int, why: str) -> Happening:
    before = "no request" if from_bytes is None else words_for_bytes(from_bytes)
    note = f"memory {before} → {words_for_bytes(to_bytes)}: {why}"
    return Happening(reason, note, str(to_bytes))


def crowded(most: int) -> Happening:
    """A pod's task is ignored: its namespace already has the most tasks allowed."""
    note = (
        f"nothing is learned of this task: its namespace has {most} others already; give runs of"
        " one task the same plimsoll.dev/task, without a date or a number of the run in it"
    )
    return Happening(EventReason.CROWDED, note, "crowded")


def running_long(words: str, run: str) -> Happening:
    """A run passed its own P99; the Event is on its pod, once."""
    return Happening(EventReason.RUNNING_LONG, words, run)


def drifting(words: str, shift: int) -> Happening:
    """A task's needs moved to another level; the Event is on its profile, once per shift."""
    return Happening(EventReason.DRIFTING, words, str(shift))


def held() -> Happening:
    """A new pod waits for its turn."""
    note = (
        "waits for its turn: tasks of this policy start in the order in which they slow each other"
        " least, as nodes have room"
    )
    return Happening(EventReason.HELD, note, "held")


def released(why: str, hosts: Sequence[str], waited_s: float) -> Happening:
    """A pod that waited for its turn may start. hosts: those that it prefers; may be empty."""
    where = f"; it prefers node {hosts[0]}" if hosts else ""
    note = f"may start after waiting {waited_s:.0f} s: {_WHY_RELEASED[why]}{where}"
    return Happening(EventReason.RELEASED, note, "released")


def not_released(error: str) -> Happening:
    """The API server does not let Plimsoll start a pod or a Job that waits. error: its words."""
    note = (
        f"it cannot be started: the API server refuses to let it go ({error}); it is tried again"
        " every minute; remove the rule that forbids it, give the controller its rights back, or"
        " run `plimsoll release`"
    )
    return Happening(EventReason.NOT_RELEASED, note, "not-released")


def leased(words: str) -> Happening:
    """A Job whose pods leased its items has ended."""
    return Happening(EventReason.LEASED, words, "leased")
