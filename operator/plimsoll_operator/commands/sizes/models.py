"""``plimsoll models NAMESPACE/NAME``: a task's stored trainings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import panel, plain, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.views.training_facts import (
    PastTraining,
    ReportFacts,
    best_so_far,
    past_trainings,
)
from plimsoll_operator.wording.figure_words import (
    number_words,
    words_for_gb_h,
    words_for_minute,
    words_for_size,
)
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.store import StoreError
from plimsoll_predictor.store.learned.trainings import KEPT_FAILURES, KEPT_TRAININGS

LISTED_TRIALS: Final = 10
_LISTED: Final = (
    *("when (UTC)", "version", "runs", "bins", "recipe"),
    *("u-score", "accuracy", "took", "note"),
)
_RIGHT: Final = {"runs", "u-score", "accuracy", "u-rate", "took", "trained on", "judged on", "cost"}
_STYLES: Final = {"right": "on blue", "over": "on dark_goldenrod", "under": "on red", "": "dim"}


class NoSuchTraining(LookupError):
    """The task was never trained, or has no training of that version."""


def models_command(task: str, store_url: str, output: OutputForm, version: str | None) -> int:
    """Print a task's trainings, or the one of a version; the exit status.

    task: ``namespace/name``. version: its first characters suffice; None lists all.
    """
    try:
        past = _past_trainings(TaskId.parse(task), store_url)
        chosen = past if version is None else [_of_version(task, past, version)]
    except (StoreError, ValueError, LookupError) as error:
        complain(f"plimsoll models: {error}")
        return 1
    documents = [_document(each) for each in chosen]
    table = training_list(task, chosen) if version is None else one_training(chosen[0])
    print_output(documents if version is None else documents[0], table, output)
    return 0


def _past_trainings(task: TaskId, store_url: str) -> Sequence[PastTraining]:
    with existing_store(store_url) as store:
        trainings = store.trainings.newest(task, limit=KEPT_TRAININGS + KEPT_FAILURES)
    if not trainings:
        raise NoSuchTraining(
            f"{task}: never trained; is the name right? `plimsoll train {task}` trains it now"
        )
    return past_trainings(trainings)


def _of_version(task: str, past: Sequence[PastTraining], version: str) -> PastTraining:
    """The newest training whose version begins with ``version``.

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


def training_list(task: str, past: Sequence[PastTraining]) -> RenderableType:
    """All trainings of a task, newest first."""
    table = _table(f"{task}: {counted(len(past), 'training')} kept, newest first", _LISTED)
    for each in past:
        facts, training = each.facts, each.training
        table.add_row(
            words_for_minute(training.at_s),
            plain(training.version or "-", style="bold green" if each.serves else ""),
            _count(each.runs),
            " ".join(words_for_size(ceiling) for ceiling in facts.ceilings_bytes) or "-",
            plain(facts.recipe_words or "-"),
            _number(facts.u_score),
            _share(facts.accuracy),
            _seconds(facts.duration_s),
            _note(each),
        )
    return table


def one_training(past: PastTraining) -> RenderableType:
    """One training with its confusion matrix, folds and trials."""
    facts = past.facts
    parts: list[RenderableType] = [_head(past)]
    if facts.confusion and len(facts.confusion) > 1:
        parts.append(_confusion(facts))
    if facts.fold_scores:
        parts.append(_folds(facts))
    if facts.trials:
        parts.append(_trials(facts))
    if facts.out_of_time_costs:
        parts.append(_out_of_time_costs(facts))
    return Group(*parts)


def _head(past: PastTraining) -> RenderableType:
    training, facts = past.training, past.facts
    parameters = facts.recipe.parameters if facts.recipe else {}
    data_range = f"{words_for_minute(facts.first_s)} to {words_for_minute(facts.last_s)}"
    censored = f", {facts.censored_runs} of them only exceeded" if facts.censored_runs else ""
    budget = "" if facts.budget_s is None else f" of {number_words(facts.budget_s)} s"
    rows: dict[str, str | Text] = {
        "trained": f"{words_for_minute(training.at_s)} UTC in {_seconds(facts.duration_s)}{budget}",
        "note": _note(past),
        "runs": f"{_count(past.runs)}{censored}",
        "data range": data_range,
        "features": ", ".join(facts.features) or "none",
        "bins": _bins(facts),
        "recipe": facts.recipe_words or "-",
        "parameters": ", ".join(f"{k}={number_words(v)}" for k, v in parameters.items()) or "-",
        "u-score": f"{_number(facts.u_score)}, accuracy {_share(facts.accuracy)}",
        "seed": "-" if facts.seed is None else str(facts.seed),
        "tracked": training.tracked or "not logged to a tracking server",
        "made by": f"Plimsoll {facts.plimsoll_version or '-'}",
    }
    return panel(f"{training.task} {training.version or ''}", rows)


def _bins(facts: ReportFacts) -> str:
    if len(facts.bin_runs) != len(facts.ceilings_bytes):
        return " ".join(map(words_for_size, facts.ceilings_bytes)) or "-"
    pairs = zip(facts.ceilings_bytes, facts.bin_runs, strict=True)
    return ", ".join(f"{words_for_size(ceiling)} ({_count(runs)})" for ceiling, runs in pairs)


def _confusion(facts: ReportFacts) -> Table:
    names = [words_for_size(ceiling) for ceiling in facts.ceilings_bytes]
    table = Table(title="runs by the bin needed and the bin predicted", box=box.SIMPLE_HEAD)
    table.add_column("needed ↓ predicted →", style="bold")
    for place in range(len(facts.confusion[0])):
        table.add_column(names[place] if place < len(names) else "-", justify="right")
    for place, row in enumerate(facts.confusion):
        cells = [
            plain(f" {count:,} ", style=_STYLES[_kind(place, column) if count else ""])
            for column, count in enumerate(row)
        ]
        table.add_row(names[place] if place < len(names) else "-", *cells)
    return table


def _kind(needed: int, predicted: int) -> str:
    if needed == predicted:
        return "right"
    return "over" if predicted > needed else "under"


def _folds(facts: ReportFacts) -> Table:
    columns = ("fold", "trained on", "judged on", "u-score", "accuracy", "u-rate")
    table = _table("the chosen recipe, fold by fold", columns)
    for place, fold in enumerate(facts.fold_scores, start=1):
        table.add_row(
            str(place),
            _count(fold.training_runs),
            _count(fold.validation_runs),
            _number(fold.u_score),
            _share(fold.accuracy),
            _share(fold.u_rate),
        )
    return table


def _trials(facts: ReportFacts) -> Table:
    shown = sorted(enumerate(facts.trials, start=1), key=lambda trial: trial[1].u_score)
    best_at = best_so_far(facts).index(shown[0][1].u_score) + 1
    table = _table(
        f"{len(facts.trials)} trials, the best {min(LISTED_TRIALS, len(shown))}; "
        f"none better after trial {best_at}",
        ("trial", "recipe", "u-score", "accuracy", "u-rate", "parameters"),
    )
    for place, trial in shown[:LISTED_TRIALS]:
        table.add_row(
            str(place),
            plain(trial.words),
            _number(trial.u_score),
            _share(trial.accuracy),
            _share(trial.u_rate),
            plain(", ".join(f"{k}={number_words(v)}" for k, v in trial.parameters.items())),
        )
    return table


def _out_of_time_costs(facts: ReportFacts) -> Table:
    over = "" if facts.compared_runs is None else f" over {facts.compared_runs:,} runs"
    table = _table(f"out-of-time costs{over}", ("expert", "cost", "failed attempts"))
    cheapest_first = sorted(facts.out_of_time_costs.items(), key=lambda pair: pair[1].cost_gb_h)
    for name, cost in cheapest_first:
        table.add_row(plain(name), words_for_gb_h(cost.cost_gb_h), _count(cost.failed_attempts))
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    folding = set(columns) - {"when (UTC)", "version", *_RIGHT}
    return titled_table(title, columns, right=_RIGHT, folding=folding)


def _note(past: PastTraining) -> Text:
    training = past.training
    if training.failure is not None:
        return plain(f"failed: {training.failure}", style="red")
    if training.damage is not None:
        return plain(f"its model cannot be read: {training.damage}", style="red")
    note = plain("serves" if past.serves else "", style="green")
    if past.facts.cut_by_budget:
        note.append(", " if note.plain else "").append("cut by its budget", style="yellow")
    return note


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _number(value: float | None) -> str:
    return "-" if value is None else number_words(value)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
