"""``plimsoll campaign airflow``: DAG runs with configurations, to learn their tasks."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn

from plimsoll_operator.airflow_api.client import AirflowClient, AirflowError, AirflowServer
from plimsoll_operator.campaigns.configurations import (
    MOST_FILE_BYTES,
    BadConfigurations,
    Configurations,
    read_configurations,
)
from plimsoll_operator.campaigns.dag_runs import (
    AirflowCampaign,
    PlannedRun,
    RunState,
    counts_of,
    words_for,
)
from plimsoll_operator.commands.campaigns.airflow_following import (
    COMMAND,
    SHOWN_CHARS,
    Display,
    Going,
    tell,
)
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import (
    complain,
    document_text,
    people_console,
    printable,
    progress_bars,
)
from plimsoll_operator.credentials.token_file import MOST_BYTES
from plimsoll_predictor.core.units import counted

PASSWORD: Final = "PLIMSOLL_AIRFLOW_PASSWORD"
TOKEN: Final = "PLIMSOLL_AIRFLOW_TOKEN"
_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Credentials for Airflow. A token comes before a user; secrets may be in the environment."""

    user: str | None = None
    password_file: Path | None = None
    token_file: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def server(self, address: str, ca_file: Path | None) -> AirflowServer:
        """Airflow's address with these credentials.

        Raises:
            AirflowError: if the address or the credentials cannot be used.
            OSError: if a file cannot be read.
        """
        token = self.environment.get(TOKEN, "").strip()
        if self.token_file is not None or token:
            if not (token.isascii() and token.isprintable()):
                raise AirflowError(f"{TOKEN} holds no token; write one of printable characters")
            login = None if self.token_file is not None else f"Bearer {token}"
            server = AirflowServer.at(address, token_file=self.token_file, ca_file=ca_file)
            server.authorization()
            return replace(server, login=login)
        password = None if self.user is None else self._password()
        return AirflowServer.at(address, ca_file=ca_file, user=self.user, password=password)

    def _password(self) -> str:
        if self.password_file is not None:
            with self.password_file.open("rb") as file:
                content = file.read(MOST_BYTES)
            password = content.decode(errors="replace").rstrip("\r\n")
        else:
            password = self.environment.get(PASSWORD, "")
        if not password:
            raise AirflowError(
                f"there is no password of the user {self.user!r}; write it into {PASSWORD} or a"
                " file for --password-file"
            )
        return password


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowAddress:
    """Airflow's address, and credentials. ca_file: certificates to trust; None for the system's."""

    address: str
    ca_file: Path | None
    credentials: Credentials

    def words(self) -> list[str]:
        """The command-line options for this address, without secrets."""
        given = {
            "--airflow": self.address,
            "--user": self.credentials.user,
            "--password-file": self.credentials.password_file,
            "--token-file": self.credentials.token_file,
            "--ca-file": self.ca_file,
        }
        return [word for name, value in given.items() if value for word in (name, str(value))]


def airflow_command(
    campaign: AirflowCampaign, file: Path, where: AirflowAddress, output: OutputForm
) -> int:
    """Trigger a DAG with each configuration of a file, and wait; the exit status.

    It is 0 if each configuration has a run that succeeded, and 130 after Ctrl-C.
    """
    try:
        found = _configurations(file)
        server = where.credentials.server(where.address, where.ca_file)
    except OSError as error:
        complain(f"{COMMAND}: {error.filename} cannot be read: {error.strerror or error}")
        return 1
    except (BadConfigurations, AirflowError) as error:
        complain(f"{COMMAND}: {error}")
        return 1
    runs = [PlannedRun(each) for each in found.rows]
    stopped = _followed(campaign, runs, server, found)
    if output is not OutputForm.TABLE:
        print(document_text(document_of(campaign, runs), output), end="")
    elif stopped is None:
        _sum_up(campaign, runs)
    if stopped is not None:
        _say_how_to_continue(campaign, file, where, runs)
        return stopped
    return 0 if all(run.state is RunState.SUCCEEDED for run in runs) else 1


def _followed(
    campaign: AirflowCampaign, runs: list[PlannedRun], server: AirflowServer, found: Configurations
) -> int | None:
    """Follow the runs to their end; the exit status if the end does not come."""
    try:
        asyncio.run(_run(campaign, runs, server, found))
    except AirflowError as error:
        complain(f"{COMMAND}: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return None


def document_of(campaign: AirflowCampaign, runs: Sequence[PlannedRun]) -> dict[str, Any]:
    """How far the campaign is, in plain JSON types. A run that was not looked up is "unseen"."""
    return {
        "dag": campaign.dag,
        "name": campaign.name,
        "counts": {state.name.lower(): count for state, count in counts_of(runs).items()},
        "runs": [
            {
                "line": run.configuration.line,
                "conf": run.configuration.conf,
                "run_id": campaign.run_id(run),
                "attempt": run.attempt,
                "state": run.state.name.lower(),
                "note": run.note,
            }
            for run in runs
        ],
    }


def _configurations(file: Path) -> Configurations:
    with file.open("rb") as content:
        return read_configurations(content.read(MOST_FILE_BYTES + 1), file.name)


async def _run(
    campaign: AirflowCampaign, runs: list[PlannedRun], server: AirflowServer, found: Configurations
) -> None:
    console = people_console(stderr=True)
    columns = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[words]}"))
    with progress_bars(console, *columns) as progress:
        async with AirflowClient(server, lambda words: tell(console, words)) as client:
            await client.check(campaign.dag)
            tell(console, _words_for_file(campaign, found))
            bar = progress.add_task(campaign.dag, total=len(runs), words="")
            await Going(campaign, runs, Display(console, progress, bar)).follow(client)


def _words_for_file(campaign: AirflowCampaign, found: Configurations) -> str:
    words = f"{campaign.dag}: {counted(len(found.rows), 'configuration')}"
    if found.duplicates:
        words += f", and {counted(found.duplicates, 'row')} left out as others are the same"
    return f"{words}; {campaign.parallelism:,} at a time, as campaign {campaign.name!r}"


def _say_how_to_continue(
    campaign: AirflowCampaign, file: Path, where: AirflowAddress, runs: Sequence[PlannedRun]
) -> None:
    """Say on stderr what goes on without us, if anything was triggered or looked up."""
    if all(run.state is RunState.UNSEEN for run in runs):
        return
    words = ["plimsoll", "campaign", "airflow", campaign.dag, "--configurations", str(file)]
    words += ["--name", campaign.name, "--parallelism", str(campaign.parallelism)]
    words += [*(["--again"] if campaign.again else []), *where.words()]
    complain(
        f"{words_for(runs)}. No more runs are triggered; those that go on are Airflow's, and run to"
        f" their end. The same command continues: {shlex.join(words)}"
    )


def _sum_up(campaign: AirflowCampaign, runs: Sequence[PlannedRun]) -> None:
    """Print how it ended."""
    bad = [run for run in runs if run.state is not RunState.SUCCEEDED]
    print(printable(f"{campaign.dag}: {words_for(runs)}"))
    named = [run for run in bad if run.state is not RunState.DUE]
    for run in named[:_MOST_NAMED]:
        why = f": {run.note}" if run.note else ""
        conf = run.configuration.text[:SHOWN_CHARS]
        line = f"line {run.configuration.line}, {conf}"
        print(printable(f"  {run.state.value}: {line}, run {campaign.run_id(run)}{why}"))
    if len(named) > _MOST_NAMED:
        print(f"  and {len(named) - _MOST_NAMED:,} more")
    if any(run.state is RunState.DUE for run in runs):
        print("the DAG refused the first configurations and took none, so no others were tried")
    if any(run.state is RunState.FAILED for run in runs):
        print("--again triggers once more what failed")
