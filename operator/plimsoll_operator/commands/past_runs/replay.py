"""``plimsoll replay``: past runs through policies, in a table, as JSON and as a page."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress

from plimsoll_operator.commands.past_runs.replay_output import (
    check_files,
    exit_status_of,
    reading,
    replay_progress,
    step,
    write_figures,
    write_named,
)
from plimsoll_operator.commands.past_runs.replay_tables import replay_table
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.reaching.task_names import nearest
from plimsoll_operator.web.replay.page import render
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.replay.sizes.engine import SizerBroken
from plimsoll_predictor.replay.sizes.playing import Played, Setting, frontier, play
from plimsoll_predictor.replay.sizes.policies import NoSuchPolicy, ReplayPolicy, policies_named
from plimsoll_predictor.replay.sizes.traces import Trace, TraceError, read_trace, stored_trace
from plimsoll_predictor.store import StoreError
from plimsoll_predictor.tables.history import read_history

OBSERVATIONS: Final = 200_000
"""The most attempts of a task that are replayed, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """The traces to replay, how to replay them, and where the figures go.

    policies: names; ``all`` for all.
    from_store: ``namespace/name`` of a task whose observations are replayed too.
    store_url: if None, the controller gives them, at ``installation``.
    json_file, html_file: None to write none; the page has the frontier of each policy.
    """

    traces: Sequence[Path] = ()
    policies: tuple[str, ...] = ("all",)
    setting: Setting = field(default_factory=Setting)
    from_store: str | None = None
    store_url: str | None = None
    installation: Installation = field(default_factory=Installation)
    json_file: Path | None = None
    html_file: Path | None = None


def replay_command(request: ReplayRequest, now_s: float, console: Console | None = None) -> int:
    """Replay, print, write; the exit status of the process. now_s: Unix seconds, on the page."""

    def replay(out: Console) -> None:
        check_request(request)
        check_files(request.traces, (request.json_file, request.html_file))
        played = _play_all(request, out)
        write_figures(request.json_file, (each.to_dict() for each in played), out)
        if request.html_file is not None:
            write_named("page", request.html_file, render(played, now_s), out)

    refusals = (TraceError, NoSuchPolicy, StoreError, SizerBroken, LookupError, ValueError)
    return exit_status_of(replay, console, refusals)


def check_request(request: ReplayRequest) -> None:
    """Refuse a request before a replay, which may take hours.

    Raises ValueError if it names nothing to replay, no such policy, or a size that is no share.
    """
    policies_named(request.policies)
    if not request.traces and request.from_store is None:
        raise ValueError("name a trace to replay, or a task with --from-store namespace/name")
    if not 0 < request.setting.first_size <= 1:
        raise ValueError(
            f"--first-size is a share of the request, above 0 and at most 1;"
            f" got {request.setting.first_size:g} instead"
        )


def _play_all(request: ReplayRequest, console: Console) -> list[Played]:
    policies = policies_named(request.policies)
    played: list[Played] = []
    with replay_progress(console) as progress:
        for trace in _traces(request, progress):
            replays = [_play(trace, policy, request, progress) for policy in policies]
            progress.console.print(replay_table(replays))
            # From now on only the rows' figures are needed; the next trace needs the memory.
            bare = replace(trace, rows=())
            played += [replace(each, trace=bare) for each in replays]
    return played


def _traces(request: ReplayRequest, progress: Progress) -> Iterator[Trace]:
    """Each trace may be as large as memory has room for, so they come one after the other."""
    if request.from_store is not None:
        yield _stored(request.from_store, request)
    for path in request.traces:
        with reading(progress, path) as advance:
            trace = read_trace(path, advance)
        yield trace


def _stored(name: str, request: ReplayRequest) -> Trace:
    task = TaskId.parse(name)
    if request.store_url is None:
        return stored_trace(str(task), _fetched_history(task, request.installation))
    with existing_store(request.store_url) as store:
        tasks = store.totals.tasks()
        if task not in tasks:
            raise LookupError(f"{task}: {store.where} knows no such task; {nearest(task, tasks)}")
        return stored_trace(str(task), store.observations.of_task(task, limit=OBSERVATIONS))


def _fetched_history(task: TaskId, installation: Installation) -> list[Observation]:
    """The attempts that `plimsoll export` writes in the controller's pod, oldest first."""
    # Imported here because a cluster's client takes a second to load.
    from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller

    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        file = Path(folder) / "history.csv"
        words = ["export", str(task), "--out", "-"]
        errand = Errand(words=words, installation=installation, out=file, tells=False)
        if run_in_controller(errand):
            raise LookupError(f"{task}: its history could not be fetched from the controller")
        return [row for row in read_history(file) if isinstance(row, Observation)]


def _play(trace: Trace, policy: ReplayPolicy, request: ReplayRequest, progress: Progress) -> Played:
    with step(progress, f"{trace.name}: {policy.name}", len(trace.rows)) as advance:
        played = play(trace, policy, request.setting, advance)
    if request.html_file is None:
        return played
    with step(progress, f"{trace.name}: {policy.name}, its frontier", len(trace.rows)) as advance:
        return replace(played, frontier=frontier(trace, policy, request.setting, advance))
