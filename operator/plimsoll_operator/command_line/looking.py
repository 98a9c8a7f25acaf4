"""Commands that look: status, explain, models, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.command_line.options import (
    LOOK,
    Context,
    InstalledIn,
    Kubeconfig,
    Output,
    StoreUrl,
    Task,
    TaskOrPod,
    complete_task,
    examples,
    in_controller,
    place_of,
    words_of,
)
from plimsoll_operator.output_forms import OutputForm

REPORT_FILE = Path("plimsoll.html")


def status(
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Tasks of this one; all you may see otherwise.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="COUNT", help="Most tasks in the table.")
    ] = 40,
    output: Output = OutputForm.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell whether Plimsoll is healthy, what it does for each task, and what to do next.

    Reads the Kubernetes API only, and says what you may not see.
    The exit status is 0 if Plimsoll is healthy, 1 if not.
    """
    from plimsoll_operator.commands.status.command import StatusRequest, status_command

    request = StatusRequest(
        place=place_of(kubeconfig, context, installed_in), namespace=namespace, limit=limit
    )
    raise typer.Exit(status_command(request, output))


def explain(
    named: TaskOrPod,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Tell why a task or pod gets its size, what else was considered, what would change it."""
    place = place_of(kubeconfig, context, installed_in)
    if store is None:
        raise in_controller(["explain", named, "--output", output.value], place)
    from plimsoll_operator.commands.explaining import ExplainRequest, explain_command

    request = ExplainRequest(named=named, store_url=store, place=place)
    raise typer.Exit(explain_command(request, output))


def models(
    task: Task,
    version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="One training in full; first characters do."),
    ] = None,
    output: Output = OutputForm.TABLE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """List a task's trainings: parameters, scores, out-of-time costs, failures."""
    if store is None:
        words = ["models", task, "--output", output.value, *words_of(("--version", version))]
        raise in_controller(words, place_of(kubeconfig, context, installed_in))
    from plimsoll_operator.commands.models import models_command

    raise typer.Exit(models_command(task, store, output, version))


def report(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAMESPACE/TASK]", autocompletion=complete_task, help="All tasks otherwise."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The HTML file to write; - prints it.")
    ] = REPORT_FILE,
    store: StoreUrl = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    installed_in: InstalledIn = None,
) -> None:
    """Write the report page as one self-contained file."""
    if store is None:
        words = ["report", *([] if task is None else [task]), "--out", "-"]
        place = place_of(kubeconfig, context, installed_in)
        raise in_controller(words, place, out=None if str(out) == "-" else out)
    import time

    from plimsoll_operator.commands.reporting import report_command

    raise typer.Exit(report_command(task, store, out, now_s=time.time()))


def add_to(app: typer.Typer) -> None:
    """Put the commands of this file into the command line."""
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("is all well, and what is saved", "plimsoll status"),
            ("the tasks of one namespace", "plimsoll status -n shop"),
            ("for a script", "plimsoll status --output json | jq .healthy"),
        ),
    )(status)
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("a task: who decides its sizes, and why", "plimsoll explain shop/train-demand"),
            ("a pod: what was decided of it", "plimsoll explain shop/train-demand-x7k2p"),
        ),
    )(explain)
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("all that are kept, newest first", "plimsoll models shop/train-demand"),
            ("one in full", "plimsoll models shop/train-demand --version 3fa9"),
        ),
    )(models)
    app.command(
        rich_help_panel=LOOK,
        epilog=examples(
            ("all tasks", "plimsoll report --out plimsoll.html"),
            ("one task", "plimsoll report shop/train-demand"),
        ),
    )(report)
