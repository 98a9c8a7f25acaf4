"""``plimsoll replay --runtime``: how good forecasts of a log's runtimes would have been."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from plimsoll_operator.commands.past_runs.replay_output import (
    check_files,
    exit_status_of,
    reading,
    replay_progress,
    step,
    write_figures,
)
from plimsoll_operator.commands.past_runs.replay_tables import runtime_table
from plimsoll_predictor.replay.runtimes.judging import Judged, NoSuchMethod, judge, methods_named
from plimsoll_predictor.replay.runtimes.log_reading import LogError, read_log
from plimsoll_predictor.replay.runtimes.protocol import MethodBroken


def runtime_replay_command(
    logs: Sequence[Path],
    methods: Sequence[str],
    json_file: Path | None = None,
    console: Console | None = None,
) -> int:
    """Replay, print, write; the exit status of the process.

    methods: names; ``all`` for all. json_file: for the figures; None to write none.
    """

    def replay(out: Console) -> None:
        check_files(logs, (json_file,))
        judged = _judge_all(logs, methods, out)
        write_figures(json_file, (each.to_dict() for each in judged), out)

    return exit_status_of(replay, console, (LogError, NoSuchMethod, MethodBroken, ValueError))


def _judge_all(logs: Sequence[Path], methods: Sequence[str], console: Console) -> list[Judged]:
    kinds = methods_named(methods)
    judged: list[Judged] = []
    with replay_progress(console) as progress:
        for path in logs:
            with reading(progress, path) as advance:
                log = read_log(path, advance)
            of_log = []
            for kind in kinds:
                with step(progress, f"{log.name}: {kind.name}", len(log.runs)) as advance:
                    of_log.append(judge(log, kind, advance))
            progress.console.print(runtime_table(log, of_log))
            judged += of_log
    return judged
