"""`plimsoll spark`: which settings cost a Spark application time or memory, by its event log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import LOOK, Output, examples
from plimsoll_operator.commands.printing.output_forms import OutputForm

app = typer.Typer()


@app.command(
    rich_help_panel=LOOK,
    epilog=examples(
        ("an application's log", "plimsoll spark eventlog_v2_spark-4f1c"),
        ("one that zstd unpacks", "zstd -dc spark-4f1c.zstd | plimsoll spark -"),
    ),
)
def spark(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="Event logs: files, plain, .gz or .zstd, folders eventlog_v2_..., or - for"
            " standard input.",
        ),
    ],
    output: Output = OutputForm.TABLE,
) -> None:
    """Tell which settings cost a Spark application time or memory, by its event log."""
    from plimsoll_operator.commands.splitting.spark import spark_command

    raise typer.Exit(spark_command(logs, output))
