"""``plimsoll models NAMESPACE/NAME``: a task's trainings, as they are kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from plimsoll_operator.commands.training_tables import one_training, training_list
from plimsoll_operator.output_forms import OutputForm
from plimsoll_operator.training_facts import KeptTraining, kept_trainings
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.store.models import KEPT_FAILURES, KEPT_TRAININGS
from plimsoll_predictor.task import TaskId

PIPED_WIDTH = 200
"""Columns where nobody looks at a terminal: wide enough that no row breaks."""


class NoSuchTraining(LookupError):
    """The task was never trained, or has no training of that version."""


def models_command(task: str, store_url: str, output: OutputForm, version: str | None) -> int:
    """Print a task's trainings, or the one of a version; the exit status.

    task: ``namespace/name``. version: its first characters do; None lists all.
    """
    errors = Console(stderr=True)
    try:
        kept = _kept(TaskId.parse(task), store_url)
        chosen = kept if version is None else [_of_version(task, kept, version)]
    except (StoreError, ValueError, LookupError) as error:
        errors.print(str(error), markup=False, soft_wrap=True)
        return 1
    if output is OutputForm.JSON:
        documents = [_document(each) for each in chosen]
        print(json.dumps(documents if version is None else documents[0], indent=2))
        return 0
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(training_list(task, chosen) if version is None else one_training(chosen[0]))
    return 0


def _kept(task: TaskId, store_url: str) -> Sequence[KeptTraining]:
    store = Store.open(store_url)
    try:
        found = store.trainings(task, limit=KEPT_TRAININGS + KEPT_FAILURES)
    finally:
        store.close()
    if not found:
        raise NoSuchTraining(
            f"{task}: never trained; is the name right? `plimsoll train {task}` trains it now"
        )
    return kept_trainings(found)


def _of_version(task: str, kept: Sequence[KeptTraining], version: str) -> KeptTraining:
    """The newest training whose version begins so.

    Raises:
        NoSuchTraining: if there is none, or several versions begin so.
    """
    named = [each for each in kept if version and each.training.version]
    matching = [each for each in named if str(each.training.version).startswith(version)]
    versions = {each.training.version for each in matching}
    if len(versions) != 1:
        words = "no version kept begins" if not matching else f"{len(versions)} versions begin"
        raise NoSuchTraining(f"{task}: {words} with '{version}'; see `plimsoll models {task}`")
    return matching[0]


def _document(kept: KeptTraining) -> dict[str, Any]:
    training = kept.training
    return {
        "task": str(training.task),
        "at_s": training.at_s,
        "version": training.version,
        "serves": kept.serves,
        "champion": training.champion,
        "failure": training.failure,
        "damage": training.damage,
        "tracked": training.tracked,
        "observations": training.observations,
        "known_runs": training.runs,
        "oom_kills": training.oom_kills,
        "u_score": kept.facts.u_score,
        "accuracy": kept.facts.accuracy,
        "report": dict(training.report),
    }
