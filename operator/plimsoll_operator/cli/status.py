"""`plimsoll status`: whether Plimsoll is healthy, and what it does."""

from __future__ import annotations

from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, examples, needs_installation
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("is all well, and what is saved", "plimsoll status"),
        ("the tasks of one namespace", "plimsoll status -n shop"),
        ("for a script", "plimsoll status --output json | jq .healthy"),
        ("which pods would need a label", "plimsoll status --unrecognised -n shop"),
    ),
)
@needs_installation
def status(
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Tasks of this namespace; all that you may see otherwise.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="COUNT", help="Most tasks that the table shows.")
    ] = 40,
    output: Output = OutputForm.TABLE,
    unrecognised: Annotated[
        bool,
        typer.Option(
            "--unrecognised",
            help="List unlabelled pods whose task Plimsoll cannot tell, and what each needs.",
        ),
    ] = False,
    *,
    installation: Installation,
) -> None:
    """Tell whether Plimsoll is healthy, what it does for each task, and what to do next.

    It reads the Kubernetes API only, and says what you may not see.
    The exit status is 0 if Plimsoll is healthy; otherwise it is 1, also if you lack the rights to
    see it.
    """
    if unrecognised:
        from plimsoll_operator.commands.status.unrecognised import unrecognised_command

        raise typer.Exit(unrecognised_command(installation, namespace, limit, output))
    from plimsoll_operator.commands.status.status import status_command

    raise typer.Exit(status_command(installation, namespace, limit, output))
