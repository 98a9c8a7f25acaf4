"""``plimsoll replay --runtime``: how well a log's runtimes would have been forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from plimsoll_operator.commands.past_runs.replay_output import (
    ReplayProgress,
    check_folders,
    exit_status_of,
    write_figures,
)
from plimsoll_operator.commands.past_runs.replay_tables import runtime_table
from plimsoll_predictor.replay.runtimes.judging import (
    Judged,
    MethodKind,
    NoSuchMethod,
    judge,
    methods_named,
)
from plimsoll_predictor.replay.runtimes.log_reading import LogError, read_log
from plimsoll_predictor.replay.runtimes.protocol import MethodBroken
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeReplayRequest:
    """Which logs to replay, with which methods, and where the figures go.

    methods: names; ``all`` for all. json_file: None to write none.
    """

    logs: Sequence[Path]
    methods: tuple[str, ...] = ("all",)
    json_file: Path | None = None


def runtime_replay_command(request: RuntimeReplayRequest, console: Console | None = None) -> int:
    """Replay, print, write; the exit status of the process."""

    def replay(out: Console) -> None:
        check_folders(request.json_file)
        judged = _judge_all(request, out)
        write_figures(request.json_file, (each.to_dict() for each in judged), out)

    return exit_status_of(replay, console, (LogError, NoSuchMethod, MethodBroken, ValueError))


def _judge_all(request: RuntimeReplayRequest, console: Console) -> list[Judged]:
    kinds = methods_named(request.methods)
    judged: list[Judged] = []
    with ReplayProgress(console) as progress:
        for path in request.logs:
            log = _read(path, progress)
            found = [_judge(log, kind, progress) for kind in kinds]
            progress.print(runtime_table(log, found))
            judged += found
    return judged


def _read(path: Path, progress: ReplayProgress) -> RuntimeLog:
    size = path.stat().st_size if path.exists() else 1
    with progress.step(f"reading {path.name}", size) as advance:
        return read_log(path, advance)


def _judge(log: RuntimeLog, kind: MethodKind, progress: ReplayProgress) -> Judged:
    with progress.step(f"{log.name}: {kind.name}", len(log.runs)) as advance:
        return judge(log, kind, advance)
