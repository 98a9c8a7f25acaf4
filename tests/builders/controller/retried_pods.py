"""Pods that ended or are being deleted, and the retries that follow."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from plimsoll_operator.attempts.retry_pod import planned_manifest
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.sizing.decision_note import DecisionNote, note_to_json
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import TRAIN, Inside, a_train, ended
from tests.builders.pods import APod

AS_WRITTEN = {"requests": {"memory": "128Mi"}, "limits": {"memory": "128Mi"}}


def lowered(
    name: str = "train-1",
    to_mib: int = 64,
    *,
    attempt: int = 1,
    written: tuple[int | None, int | None] = (128, 128),
    mode: Mode = Mode.ENFORCE,
) -> APod:
    """A pod as admission leaves it. written: its author's request and limit, in Mi."""
    request_bytes, limit_bytes = (None if mib is None else mib * MIB for mib in written)
    note = DecisionNote(
        task=str(TRAIN),
        run=None,
        attempt=attempt,
        allocation_bytes=to_mib * MIB,
        was_request_bytes=request_bytes,
        was_limit_bytes=limit_bytes,
        bin=None,
        probability=None,
        model=None,
        reason=Reason.MAX_SEEN,
        why="a test says so",
        mode=mode,
        container="main",
    )
    return a_train(name, f"{to_mib}Mi").annotated({DECISION: note_to_json(note)})


def failed(pod: APod, exit_code: int = 1, **how: Any) -> APod:
    return ended(pod, "Error", exit_code, **how)


def retries(inside: Inside, after: APod | None = None) -> list[dict[str, Any]]:
    """The pods that Plimsoll intends to make after that one."""
    plans = [json.loads(intent.manifest) for intent in inside.store.retries.waiting()]
    return [planned_manifest(plan, (after or lowered()).built()) for plan in plans]


async def closed(inside: Inside, **results: int) -> None:
    """Wait until no retry is open and the results are these; a missing result counts as none."""

    def counted() -> dict[str, int]:
        counts = inside.controller.retries.results
        return {key.replace("-", "_"): count for key, count in counts.items() if count}

    async with asyncio.timeout(120):
        while inside.store.retries.waiting() or counted() != results:
            await asyncio.sleep(0.01)


def deleting(pod: APod) -> APod:
    built = pod.built()
    built["metadata"].update(
        deletionTimestamp="2026-01-01T00:02:00Z", deletionGracePeriodSeconds=30
    )
    return APod(built)
