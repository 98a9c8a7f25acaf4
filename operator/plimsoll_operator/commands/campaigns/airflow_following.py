"""The DAG runs of a campaign while the command follows them: triggered, waited for, shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.progress import Progress, TaskID

from plimsoll_operator.airflow_api.client import AirflowClient, AirflowError, ConfigurationRefused
from plimsoll_operator.campaigns.dag_runs import (
    AirflowCampaign,
    PlannedRun,
    RunState,
    due_now,
    is_over,
    words_for,
)
from plimsoll_operator.commands.printing.printing import printable
from plimsoll_predictor.core.units import counted

LOOK_EVERY_S: Final = 2.0
LOOKED_UP_AT_ONCE: Final = 8
PAUSED_FOR_S: Final = 3600.0
"""How long to wait for a DAG that is paused."""
COMMAND: Final = "plimsoll campaign airflow"
SHOWN_CHARS: Final = 120


@dataclass(slots=True)
class Display:
    """A bar in a terminal, and lines elsewhere. told: the last line."""

    console: Console
    progress: Progress
    bar: TaskID
    told: str = ""

    def show(self, runs: Sequence[PlannedRun]) -> None:
        """Show the runs' progress."""
        words = words_for(runs)
        completed = sum(run.over for run in runs)
        self.progress.update(self.bar, completed=completed, words=words)
        looking = any(run.state is RunState.UNSEEN for run in runs)
        if words != self.told and not self.console.is_terminal and not looking:
            self.tell(words)
            self.told = words

    def tell(self, words: str) -> None:
        """Write a line."""
        tell(self.console, words)


def tell(console: Console, words: str) -> None:
    """Write a line on people's console."""
    console.print(printable(words), markup=False, highlight=False, soft_wrap=True)


@dataclass(slots=True)
class _Pause:
    """Whether the DAG is paused. since_s: when that was first seen; None while it is not."""

    dag: str
    tell: Callable[[str], None]
    since_s: float | None = None

    def seen(self, runs: Sequence[PlannedRun], now_s: float, *, paused: bool) -> None:
        """Note what Airflow says, and report a change.

        Raises:
            AirflowError: if it has been paused for PAUSED_FOR_S.
        """
        if not paused:
            if self.since_s is not None:
                self.tell(f"the DAG {self.dag!r} is unpaused, and goes on")
            self.since_s = None
            return
        minutes = counted(round(PAUSED_FOR_S / 60), "minute")
        unpause = f"`airflow dags unpause {self.dag}`"
        if self.since_s is None:
            self.since_s = now_s
            going = counted(sum(run.state is RunState.GOING for run in runs), "run")
            self.tell(
                f"the DAG {self.dag!r} was paused: {going} of this campaign may wait in it, and no"
                f" more are triggered; unpause it: {unpause}. This is waited for, {minutes} at most"
            )
        elif now_s - self.since_s >= PAUSED_FOR_S:
            raise AirflowError(
                f"the DAG {self.dag!r} has been paused for {minutes}; unpause it: {unpause}"
            )


@dataclass(slots=True)
class Going:
    """The runs as they go on. left: the places of those that are not looked up yet."""

    campaign: AirflowCampaign
    runs: list[PlannedRun]
    display: Display
    left: list[int] = field(default_factory=list)

    async def follow(self, client: AirflowClient) -> None:
        """Trigger and wait until all is over.

        Raises:
            AirflowError: if Airflow cannot be asked any more, or the DAG stays paused.
        """
        await self._look_up(client)
        pause = _Pause(self.campaign.dag, self.display.tell)
        while True:
            while pause.since_s is None and (due := due_now(self.runs, self.campaign.parallelism)):
                await self._trigger(client, due[0])
                self.display.show(self.runs)
            self.display.show(self.runs)
            if is_over(self.runs):
                return
            await asyncio.sleep(LOOK_EVERY_S)
            for place, run in enumerate(self.runs):
                if run.state is RunState.GOING:
                    self.runs[place] = run.seen(await self._state_of(client, run))
            if not is_over(self.runs):
                paused = await client.is_paused(self.campaign.dag)
                pause.seen(self.runs, time.monotonic(), paused=paused)

    async def _look_up(self, client: AirflowClient) -> None:
        """Look up what earlier commands triggered."""
        campaign = self.campaign
        states = await client.states_of(campaign.dag, campaign.run_id_prefix, len(self.runs))
        if states is None:
            self.left = list(range(len(self.runs)))
            await asyncio.gather(*(self._look_up_each(client) for _ in range(LOOKED_UP_AT_ONCE)))
            return
        for place, run in enumerate(self.runs):
            found = run
            while found.state is RunState.UNSEEN:
                found = found.looked_up(states.get(campaign.run_id(found)), again=campaign.again)
            self.runs[place] = found

    async def _look_up_each(self, client: AirflowClient) -> None:
        """Look up runs one by one, until nothing is left to look up."""
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
        note = f"{COMMAND}: {campaign.name[:SHOWN_CHARS]}, line {run.configuration.line}"
        conf = run.configuration.conf
        try:
            # A new run and an existing one are alike here: the state is read like the others'.
            await client.trigger(campaign.dag, campaign.run_id(run), conf, note)
        except ConfigurationRefused as error:
            self.runs[place] = run.refused(str(error))
        else:
            self.runs[place] = run.triggered()
