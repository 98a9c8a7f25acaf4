"""``plimsoll replay --runtime``: how well a log's runtimes would have been forecast."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from plimsoll_operator.commands.replay_progress import ReplayProgress
from plimsoll_operator.commands.replay_tables import runtime_table
from plimsoll_operator.report.writing import write_whole
from plimsoll_predictor.runtime_log.judging import Judged, judge
from plimsoll_predictor.runtime_log.log_reading import LogError, read_log
from plimsoll_predictor.runtime_log.log_run import RuntimeLog
from plimsoll_predictor.runtime_log.methods import MethodKind, NoSuchMethod, methods_named
from plimsoll_predictor.runtime_log.protocol import MethodBroken


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeReplayRequest:
    """Which logs to replay, with which methods, and where the figures go.

    methods: names; ``all`` for all. json_file: None to write none.
    """

    logs: Sequence[Path]
    methods: tuple[str, ...] = ("all",)
    json_file: Path | None = None


def runtime_replay_command(request: RuntimeReplayRequest, console: Console | None = None) -> int:
    """Replay, print, write; the exit status of the process.

    1: a log cannot be read, or a file cannot be written; what to do was said.
    """
    errors = console or Console(stderr=True)
    console = console or Console()
    try:
        _check(request)
        judged = _judge_all(request, console)
        _write(request, judged, console)
    except (LogError, NoSuchMethod, MethodBroken, ValueError) as error:
        errors.print(f"[red]plimsoll replay:[/red] {escape(str(error))}", soft_wrap=True)
        return 1
    except OSError as error:
        words = f"{error.filename} cannot be written: {error.strerror}"
        errors.print(f"[red]plimsoll replay:[/red] {escape(words)}", soft_wrap=True)
        return 1
    return 0


def _check(request: RuntimeReplayRequest) -> None:
    """Refuse before minutes of replay what could be refused after them."""
    file = request.json_file
    if file is not None and not file.parent.is_dir():
        raise ValueError(f"{file} cannot be written: there is no folder {file.parent}")


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
    with progress.step(f"reading {path.name}", size) as told:
        return read_log(path, told)


def _judge(log: RuntimeLog, kind: MethodKind, progress: ReplayProgress) -> Judged:
    with progress.step(f"{log.name}: {kind.name}", len(log.runs)) as told:
        return judge(log, kind, told)


def _write(request: RuntimeReplayRequest, judged: Sequence[Judged], console: Console) -> None:
    if request.json_file is not None:
        figures = json.dumps([each.to_dict() for each in judged], indent=2)
        write_whole(request.json_file, figures + "\n")
        console.print(f"figures: {request.json_file}", markup=False, soft_wrap=True)
