"""`plimsoll campaign`: learns a task before production, by running scenarios of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from plimsoll_operator.cli.options import (
    SET,
    Output,
    examples,
    names_of,
    needs_installation,
    needs_store,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation

app = typer.Typer()

in_airflow = partial(typer.Option, rich_help_panel="Which Airflow")

PAGE_FILE = Path("campaign.html")

campaign_app = typer.Typer(
    help="Learn a task before production: run scenarios of it with generous memory.",
    no_args_is_help=True,
)

Named = Annotated[
    str,
    typer.Argument(metavar="NAMESPACE/NAME", help="A ProfilingCampaign.", callback=names_of),
]


@campaign_app.command(
    epilog=examples(
        ("begin one, and look on", "plimsoll campaign create campaign.yaml --watch"),
    ),
)
@needs_installation
def create(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A ProfilingCampaign as YAML; - reads standard input."),
    ],
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Namespace for a campaign without one.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show how far it is until it is over.")
    ] = False,
    *,
    installation: Installation,
) -> None:
    """Check a campaign, and create it."""
    from plimsoll_operator.commands.campaigns.create import create_command

    raise typer.Exit(create_command(file, namespace, installation, watch=watch))


@campaign_app.command(
    epilog=examples(("how far it is", "plimsoll campaign watch shop/learn-train-demand")),
)
@needs_installation
def watch(named: Named, *, installation: Installation) -> None:
    """Show how far a campaign is until it is over.

    The exit status is 0 if it finished, and 1 if it was refused or gave no need.
    """
    from plimsoll_operator.commands.campaigns.watch import watch_command

    raise typer.Exit(watch_command(named, installation))


@campaign_app.command(
    epilog=examples(("end it now", "plimsoll campaign stop shop/learn-train-demand")),
)
@needs_installation
def stop(named: Named, *, installation: Installation) -> None:
    """End a campaign: its Jobs are deleted, and what was learned stays."""
    from plimsoll_operator.commands.campaigns.create import stop_command

    raise typer.Exit(stop_command(named, installation))


@campaign_app.command(
    epilog=examples(
        ("what it found out", "plimsoll campaign report shop/learn-train-demand"),
        ("for a script", "plimsoll campaign report shop/learn-train-demand -o json"),
    ),
)
@needs_store()
def report(named: Named, output: Output = OutputForm.TABLE, *, store: str) -> None:
    """Tell how the need depends on each feature, which bins it makes, and what sizing would save.

    A campaign that was deleted still has its report.
    """
    import time

    from plimsoll_operator.commands.campaigns.report import report_command

    raise typer.Exit(report_command(named, store, output, now_s=time.time()))


@campaign_app.command(
    epilog=examples(
        ("to keep or to send", "plimsoll campaign page shop/learn-train-demand --out found.html"),
    ),
)
@needs_store(out="out")
def page(
    named: Named,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The HTML file to write; - prints it.")
    ] = PAGE_FILE,
    *,
    store: str,
) -> None:
    """Write the page of a campaign as one self-contained file: what `report` tells, with plots."""
    import time

    from plimsoll_operator.commands.campaigns.page import page_command

    raise typer.Exit(page_command(named, store, out, now_s=time.time()))


@campaign_app.command(
    epilog=examples(
        (
            "a run of the DAG for each row, four at a time",
            "plimsoll campaign airflow nightly --configurations sizes.csv"
            " --airflow http://localhost:8080 --user me",
        ),
        (
            "once more what failed",
            "plimsoll campaign airflow nightly --configurations sizes.csv --again",
        ),
        (
            "for a script",
            "plimsoll campaign airflow nightly --configurations sizes.csv -o json",
        ),
    ),
)
def airflow(
    dag: Annotated[str, typer.Argument(metavar="DAG", help="The id of a DAG that is not paused.")],
    configurations: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="CSV, or JSON or YAML with a list: each row is the conf of one run.",
        ),
    ],
    address: Annotated[
        str,
        in_airflow(
            "--airflow",
            metavar="URL",
            help="Address of an Airflow 3, as far as its /api/v2.",
            envvar="PLIMSOLL_AIRFLOW_URL",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the campaign; the file's otherwise. It is part of runs' ids."),
    ] = None,
    parallelism: Annotated[int, typer.Option(min=1, max=100, help="Most runs at a time.")] = 4,
    again: Annotated[bool, typer.Option("--again", help="Trigger once more what failed.")] = False,
    user: Annotated[
        str | None,
        in_airflow(
            help="Your name there; the password is read from PLIMSOLL_AIRFLOW_PASSWORD.",
            envvar="PLIMSOLL_AIRFLOW_USER",
        ),
    ] = None,
    password_file: Annotated[
        Path | None, in_airflow(help="File with the password.", metavar="FILE")
    ] = None,
    token_file: Annotated[
        Path | None,
        in_airflow(
            help="File with a token, in place of a user; PLIMSOLL_AIRFLOW_TOKEN may hold it, too.",
            metavar="FILE",
        ),
    ] = None,
    ca_file: Annotated[
        Path | None, in_airflow(help="Certificates to trust, PEM.", metavar="FILE")
    ] = None,
    output: Output = OutputForm.TABLE,
) -> None:
    """Trigger a DAG with each configuration of a file, and wait, so that its tasks are learned.

    The same command continues what was interrupted: no configuration is triggered twice. The exit
    status is 0 if each has a run that succeeded.
    """
    import os

    from plimsoll_operator.campaigns.dag_runs import AirflowCampaign
    from plimsoll_operator.commands.campaigns.airflow import (
        AirflowAddress,
        Credentials,
        airflow_command,
    )

    campaign = AirflowCampaign(
        dag=dag, name=name or configurations.stem, parallelism=parallelism, again=again
    )
    credentials = Credentials(
        user=user,
        password_file=password_file,
        token_file=token_file,
        environment=os.environ,
    )
    where = AirflowAddress(address=address, ca_file=ca_file, credentials=credentials)
    raise typer.Exit(airflow_command(campaign, configurations, where, output))


app.add_typer(campaign_app, name="campaign", rich_help_panel=SET)
