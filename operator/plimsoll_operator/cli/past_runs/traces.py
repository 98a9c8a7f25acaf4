"""`plimsoll traces convert`: prepares traces from elsewhere for `plimsoll replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import PAST_RUNS, examples, understood

app = typer.Typer()

traces_app = typer.Typer(
    help="Convert past runs from elsewhere for `plimsoll replay`.", no_args_is_help=True
)


@traces_app.command(
    "convert",
    epilog=examples(
        (
            "a Nextflow run's trace",
            "plimsoll traces convert execution_trace.txt --out runs.parquet",
        ),
    ),
)
def traces_convert(
    files: Annotated[
        list[Path], typer.Argument(help="Nextflow traces, or what `plimsoll export` has written.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Trace to write: .csv, .csv.gz or .parquet.")
    ],
    run: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the run; each file's name otherwise."),
    ] = None,
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="Time zone for dates without one.")
    ] = "UTC",
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", metavar="NAMESPACE", help="Namespace for rows without one."
        ),
    ] = None,
) -> None:
    """Bring Nextflow's traces or exported history into the schema of a trace."""
    from plimsoll_operator.commands.past_runs.traces import tracing_command, zone_named
    from plimsoll_predictor.tables.table_writing import check_ending

    with understood():
        zone_named(timezone)
        check_ending(out)
    raise typer.Exit(tracing_command(files, out, run=run, timezone=timezone, namespace=namespace))


app.add_typer(traces_app, name="traces", rich_help_panel=PAST_RUNS)
