"""`plimsoll spark`: which settings cost a Spark application time or memory, from its event log."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, complete_task, examples, needs_installation
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("an application's log", "plimsoll spark eventlog_v2_spark-4f1c"),
        ("one that zstd unpacks", "zstd -dc spark-4f1c.zstd | plimsoll spark -"),
        (
            "have the next drivers start by it",
            "plimsoll spark eventlog_v2_spark-4f1c --teach shop/spark.sales.driver",
        ),
    ),
)
@needs_installation
def spark(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="Event logs: files, plain, .gz or .zstd, folders eventlog_v2_..., or - for"
            " standard input.",
        ),
    ],
    teach: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE/TASK",
            autocompletion=complete_task,
            help="The task of the application's drivers: write what the log teaches in its"
            " TaskProfile, as spec.spark.partitions.",
        ),
    ] = None,
    output: Output = OutputForm.TABLE,
    *,
    installation: Installation,
) -> None:
    """Tell which settings cost a Spark application time or memory, by its event log."""
    from plimsoll_operator.commands.splitting.spark import spark_command

    if teach is None:
        raise typer.Exit(spark_command(logs, output))
    from plimsoll_operator.commands.splitting.spark_teaching import teach as teach_task

    raise typer.Exit(spark_command(logs, output, partial(teach_task, teach, installation)))
