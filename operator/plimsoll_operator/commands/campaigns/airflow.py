"""``plimsoll campaign airflow``: DAG runs with configurations, so that their tasks are learned."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from plimsoll_operator.airflow_api.client import (
    AirflowClient,
    AirflowError,
    AirflowServer,
    ConfigurationRefused,
)
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
    due_now,
    is_over,
    words_for,
)
from plimsoll_operator.commands.printing.printing import (
    complain,
    people_console,
    printable,
    progress_bars,
)
from plimsoll_operator.credentials.token_file import MOST_BYTES
from plimsoll_predictor.core.units import counted

LOOK_EVERY_S: Final = 2.0
LOOKED_UP_AT_ONCE: Final = 8
PASSWORD: Final = "PLIMSOLL_AIRFLOW_PASSWORD"
TOKEN: Final = "PLIMSOLL_AIRFLOW_TOKEN"
_MOST_NAMED: Final = 10
_SHOWN_CHARS: Final = 120
_COMMAND: Final = "plimsoll campaign airflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who asks Airflow. A token comes before a user; the environment has secrets, too."""

    user: str | None = None
    password_file: Path | None = None
    token_file: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def server(self, address: str, ca_file: Path | None) -> AirflowServer:
        """Airflow's address with these.

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


@dataclass(slots=True)
class _Display:
    """A bar in a terminal, and lines where there is none. told: the last of them."""

    console: Console
    progress: Progress
    bar: TaskID
    told: str = ""

    def show(self, runs: Sequence[PlannedRun]) -> None:
        words = words_for(runs)
        completed = sum(run.over for run in runs)
        self.progress.update(self.bar, completed=completed, words=words)
        looking = any(run.state is RunState.UNSEEN for run in runs)
        if words != self.told and not self.console.is_terminal and not looking:
            _tell(self.console, words)
            self.told = words


@dataclass(slots=True)
class _Going:
    """The runs as they go on. left: the places of those that nobody has begun to look up."""

    campaign: AirflowCampaign
    runs: list[PlannedRun]
    display: _Display
    left: list[int] = field(default_factory=list)

    async def follow(self, client: AirflowClient) -> None:
        """Trigger and wait until all is over."""
        self.left = list(range(len(self.runs)))
        await asyncio.gather(*(self._look_up(client) for _ in range(LOOKED_UP_AT_ONCE)))
        while True:
            while due := due_now(self.runs, self.campaign.parallelism):
                await self._trigger(client, due[0])
                self.display.show(self.runs)
            self.display.show(self.runs)
            if is_over(self.runs):
                return
            await asyncio.sleep(LOOK_EVERY_S)
            for place, run in enumerate(self.runs):
                if run.state is RunState.GOING:
                    self.runs[place] = run.seen(await self._state_of(client, run))

    async def _look_up(self, client: AirflowClient) -> None:
        """Look up what earlier commands triggered, until nothing is left to look up."""
        while self.left:
            place = self.left.pop(0)
            while self.runs[place].state is RunState.UNSEEN:
                run = self.runs[place]
                state = await self._state_of(client, run)
                self.runs[place] = run.looked_up(state, again=self.campaign.again)
            self.display.show(self.runs)

    async def _state_of(self, client: AirflowClient, run: PlannedRun) -> str | None:
        return await client.state_of(self.campaign.dag, self.campaign.run_id(run))

    async def _trigger(self, client: AirflowClient, place: int) -> None:
        run, campaign = self.runs[place], self.campaign
        note = f"{_COMMAND}: {campaign.name[:_SHOWN_CHARS]}, line {run.configuration.line}"
        conf = run.configuration.conf
        try:
            # Whether it is new or was there already: its state is read like that of the others.
            await client.trigger(campaign.dag, campaign.run_id(run), conf, note)
        except ConfigurationRefused as error:
            self.runs[place] = run.refused(str(error))
        else:
            self.runs[place] = run.triggered()


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowAddress:
    """Where Airflow is, and who asks it. ca_file: certificates to trust; None for the system's."""

    address: str
    ca_file: Path | None
    credentials: Credentials

    def words(self) -> list[str]:
        """The options that say so, without what is secret."""
        given = {
            "--airflow": self.address,
            "--user": self.credentials.user,
            "--password-file": self.credentials.password_file,
            "--token-file": self.credentials.token_file,
            "--ca-file": self.ca_file,
        }
        return [word for name, value in given.items() if value for word in (name, str(value))]


def airflow_command(campaign: AirflowCampaign, file: Path, where: AirflowAddress) -> int:
    """Trigger a DAG with each configuration of a file, and wait; the exit status.

    It is 0 if each configuration has a run that succeeded, and 130 after Ctrl-C.
    """
    try:
        found = _configurations(file)
        server = where.credentials.server(where.address, where.ca_file)
    except (BadConfigurations, AirflowError, OSError) as error:
        complain(f"{_COMMAND}: {error}")
        return 1
    runs = [PlannedRun(each) for each in found.rows]
    try:
        asyncio.run(_run(campaign, runs, server, found))
    except AirflowError as error:
        complain(f"{_COMMAND}: {error}")
        _say_how_to_continue(campaign, file, where, runs)
        return 1
    except KeyboardInterrupt:
        _say_how_to_continue(campaign, file, where, runs)
        return 130
    return _summed_up(campaign, runs)


def _configurations(file: Path) -> Configurations:
    with file.open("rb") as content:
        return read_configurations(content.read(MOST_FILE_BYTES + 1), file.name)


async def _run(
    campaign: AirflowCampaign, runs: list[PlannedRun], server: AirflowServer, found: Configurations
) -> None:
    console = people_console(stderr=True)
    columns = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[words]}"))
    with progress_bars(console, *columns) as progress:
        async with AirflowClient(server, lambda words: _tell(console, words)) as client:
            await client.check(campaign.dag)
            _tell(console, _words_for_file(campaign, found))
            bar = progress.add_task(campaign.dag, total=len(runs), words="")
            await _Going(campaign, runs, _Display(console, progress, bar)).follow(client)


def _tell(console: Console, words: str) -> None:
    console.print(printable(words), markup=False, highlight=False, soft_wrap=True)


def _words_for_file(campaign: AirflowCampaign, found: Configurations) -> str:
    words = f"{campaign.dag}: {counted(len(found.rows), 'configuration')}"
    if found.duplicates:
        words += f", and {counted(found.duplicates, 'row')} left out as others are the same"
    return f"{words}; {campaign.parallelism:,} at a time, as campaign {campaign.name!r}"


def _say_how_to_continue(
    campaign: AirflowCampaign, file: Path, where: AirflowAddress, runs: Sequence[PlannedRun]
) -> None:
    """Tell on stderr what goes on without us, if anything was triggered or looked up."""
    if all(run.state is RunState.UNSEEN for run in runs):
        return
    words = ["plimsoll", "campaign", "airflow", campaign.dag, "--configurations", str(file)]
    words += ["--name", campaign.name, "--parallelism", str(campaign.parallelism)]
    words += [*(["--again"] if campaign.again else []), *where.words()]
    complain(
        f"{words_for(runs)}. No more runs are triggered; those that go on are Airflow's, and run to"
        f" their end. The same command continues: {shlex.join(words)}"
    )


def _summed_up(campaign: AirflowCampaign, runs: list[PlannedRun]) -> int:
    """Print how it ended; the exit status."""
    bad = [run for run in runs if run.state is not RunState.SUCCEEDED]
    print(printable(f"{campaign.dag}: {words_for(runs)}"))
    named = [run for run in bad if run.state is not RunState.DUE]
    for run in named[:_MOST_NAMED]:
        why = f": {run.note}" if run.note else ""
        conf = run.configuration.text[:_SHOWN_CHARS]
        line = f"line {run.configuration.line}, {conf}"
        print(printable(f"  {run.state.value}: {line}, run {campaign.run_id(run)}{why}"))
    if len(named) > _MOST_NAMED:
        print(f"  and {len(named) - _MOST_NAMED:,} more")
    if any(run.state is RunState.DUE for run in runs):
        print("the DAG refused the first configurations and took none, so no others were tried")
    if any(run.state is RunState.FAILED for run in runs):
        print("--again triggers once more what failed")
    return 1 if bad else 0
