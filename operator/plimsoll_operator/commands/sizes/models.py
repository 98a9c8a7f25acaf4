"""``plimsoll models NAMESPACE/NAME``: a task's trainings, as they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.sizes.models_tables import one_training, training_list
from plimsoll_operator.views.training_facts import PastTraining, past_trainings
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import StoreError
from plimsoll_predictor.store.learned.trainings import KEPT_FAILURES, KEPT_TRAININGS


class NoSuchTraining(LookupError):
    """The task was never trained, or has no training of that version."""


def models_command(task: str, store_url: str, output: OutputForm, version: str | None) -> int:
    """Print a task's trainings, or the one of a version; the exit status.

    task: ``namespace/name``. version: its first characters do; None lists all.
    """
    try:
        past = _past_trainings(TaskId.parse(task), store_url)
        chosen = past if version is None else [_of_version(task, past, version)]
    except (StoreError, ValueError, LookupError) as error:
        complain(str(error))
        return 1
    documents = [_document(each) for each in chosen]
    table = training_list(task, chosen) if version is None else one_training(chosen[0])
    print_output(documents if version is None else documents[0], table, output)
    return 0


def _past_trainings(task: TaskId, store_url: str) -> Sequence[PastTraining]:
    with existing_store(store_url) as store:
        found = store.trainings.newest(task, limit=KEPT_TRAININGS + KEPT_FAILURES)
    if not found:
        raise NoSuchTraining(
            f"{task}: never trained; is the name right? `plimsoll train {task}` trains it now"
        )
    return past_trainings(found)


def _of_version(task: str, past: Sequence[PastTraining], version: str) -> PastTraining:
    """The newest training whose version begins so.

    Raises:
        NoSuchTraining: if there is none, or several versions begin so.
    """
    named = [each for each in past if version and each.training.version]
    matching = [each for each in named if str(each.training.version).startswith(version)]
    versions = {each.training.version for each in matching}
    if len(versions) != 1:
        words = "no version kept begins" if not matching else f"{len(versions)} versions begin"
        raise NoSuchTraining(f"{task}: {words} with '{version}'; see `plimsoll models {task}`")
    return matching[0]


def _document(past: PastTraining) -> dict[str, Any]:
    training = past.training
    return {
        "task": str(training.task),
        "at_s": training.at_s,
        "version": training.version,
        "serves": past.serves,
        "failure": training.failure,
        "damage": training.damage,
        "tracked": training.tracked,
        "observations": training.observations,
        "known_runs": training.runs,
        "oom_kills": training.oom_kills,
        "u_score": past.facts.u_score,
        "accuracy": past.facts.accuracy,
        "report": dict(training.report),
    }
