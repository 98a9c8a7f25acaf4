"""``plimsoll shapes``: the shapes that tasks' runtimes come in, and to learn them anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from plimsoll_operator.commands.plain_text import plain
from plimsoll_operator.commands.printing import complain, print_output
from plimsoll_operator.commands.stored import existing_store
from plimsoll_operator.output_forms import OutputForm
from plimsoll_predictor.record import Observation, Outcome
from plimsoll_predictor.runtime_log.log_run import LogRun
from plimsoll_predictor.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.shapes.normalising import Normalisation
from plimsoll_predictor.store import Store, StoreError

MOST_TASKS: Final = 2_000
"""Those with the most attempts."""
RUNS_OF_A_TASK: Final = 500
MOST_RUNS: Final = 100_000
SEED: Final = 20
_UNITS: Final = {Normalisation.RATIO: "×", Normalisation.DELTA: " s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapesRequest:
    """learn: anew from the store's runs, and keep them. now_s: Unix seconds."""

    store_url: str
    now_s: float
    learn: bool = False


def shapes_command(request: ShapesRequest, output: OutputForm) -> int:
    """Print the shapes, learned anew if that is asked for; the exit status."""
    try:
        with existing_store(request.store_url) as store:
            words = _learn(store, request.now_s) if request.learn else ()
            found = [store.runtimes.catalogue(kind) for kind in Normalisation]
    except (StoreError, ValueError) as error:
        complain(f"plimsoll shapes: {error}")
        return 1
    catalogues = [each for each in found if each is not None]
    for sentence in words:
        complain(sentence)
    if not catalogues:
        complain(
            "plimsoll shapes: none have been learned; --learn does, from some tasks of 20 runs"
        )
        return 1
    print_output(_document(catalogues), Group(*map(_table, catalogues)), output)
    return 0


def _learn(store: Store, now_s: float) -> tuple[str, ...]:
    """Learn shapes and why tasks have theirs, and keep both; what was done, in words."""
    # The trainer's libraries, which only this needs.
    from plimsoll_predictor.shapes.learning import learn_shapes
    from plimsoll_predictor.shapes.run_table import table_of

    previous = [store.runtimes.catalogue(kind) for kind in Normalisation]
    runs = runs_of(store)
    if not runs:
        raise ValueError("no run of any task has succeeded yet")
    learned = learn_shapes(table_of(runs), [each for each in previous if each], seed=SEED)
    for catalogue in learned.catalogues:
        store.runtimes.save_catalogue(catalogue, now_s)
    if learned.explanation is not None:
        store.runtimes.save_explanation(learned.explanation)
    return learned.words


def runs_of(store: Store) -> list[LogRun]:
    """The newest runs of the tasks with the most, in the order of submission."""
    summaries = store.summaries()
    most = sorted(summaries, key=lambda task: (-summaries[task].observations, task))[:MOST_TASKS]
    runs: list[LogRun] = []
    for task in most:
        observations = store.observations(task, limit=RUNS_OF_A_TASK)
        runs += [run for each in observations if (run := _run(each, len(runs))) is not None]
        if len(runs) >= MOST_RUNS:
            break
    return sorted(runs, key=lambda run: run.submitted_s)


def _run(each: Observation, line: int) -> LogRun | None:
    """None of an attempt that left no runtime. line: orders runs submitted at the same moment."""
    started_s, runtime_s = each.started_s, each.runtime_s
    if each.outcome is not Outcome.SUCCEEDED or runtime_s is None or started_s is None:
        return None
    submitted_s = started_s if each.submitted_s is None else each.submitted_s
    return LogRun(
        line=line,
        task=str(each.task),
        owner=each.task.namespace,
        submitted_s=submitted_s,
        started_s=started_s,
        runtime_s=runtime_s,
        finished_s=started_s + runtime_s,
        requested_s=each.requested_s,
        requested_bytes=each.request_bytes,
        busy=each.submitted_cpu_share,
        queued=each.submitted_waiting_pods,
    )


def _document(catalogues: list[ShapeCatalogue]) -> dict[str, Any]:
    return {
        each.normalisation.value: {
            key: value for key, value in each.to_dict().items() if key != "format"
        }
        for each in catalogues
    }


def _table(catalogue: ShapeCatalogue) -> RenderableType:
    """The paper's table 2."""
    table = Table(
        title=f"{catalogue.normalisation.value}, version {catalogue.version}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("shape")
    for name in ("tasks", "runs", "outliers", "middle half", "95th", "std"):
        table.add_column(name, justify="right", no_wrap=True)
    unit = _UNITS[catalogue.normalisation]
    for shape in catalogue.shapes:
        told = shape.statistics
        table.add_row(
            plain(shape.name),
            f"{shape.members:,}",
            f"{shape.runs:,}",
            f"{told.outlier_share:.2%}",
            *(f"{each:.3g}{unit}" for each in (told.interquartile, told.p95, told.std)),
        )
    return table
