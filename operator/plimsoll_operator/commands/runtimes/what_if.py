"""``plimsoll what-if NAMESPACE/TASK``: how other conditions would change a task's runtimes."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import plain, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.reaching.task_names import NothingToExplain, nearest
from plimsoll_operator.views.runtimes.task_runtimes import ask_what_if
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.what_if.change import Direction
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.runtimes.what_if.what_if import WhatIf
from plimsoll_predictor.store import StoreError

_STYLES: Final = {Direction.LESS: "green", Direction.MORE: "red"}


def what_if_command(named: str, scenario: Scenario, store_url: str, output: OutputForm) -> int:
    """Print what would change of ``namespace/task``, as far as past runs show; the exit status."""
    try:
        task = TaskId.parse(named)
        with existing_store(store_url) as store:
            tasks = store.totals.tasks()
            if task not in tasks:
                unknown = f"{task}: {store.where} knows no such task"
                raise NothingToExplain(f"{unknown}; {nearest(task, tasks)}")
            answer = ask_what_if(store, task, scenario)
    except (StoreError, NothingToExplain, ValueError) as error:
        complain(f"plimsoll what-if: {error}")
        return 1
    print_output({"task": str(task), **answer.to_dict()}, what_if_table(task, answer), output)
    return 0


def what_if_table(task: TaskId, answer: WhatIf) -> RenderableType:
    """The answer in sentences; those with figures are in a table."""
    column = "what past runs say"
    table = titled_table(f"{task} {answer.scenario.words}", (column,), folding=(column,))
    for sentence, change in answer.lines():
        style = _STYLES.get(change.direction, "dim") if change else ""
        table.add_row(plain(sentence, style=style))
    return Group(table)
