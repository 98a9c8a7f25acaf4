"""``plimsoll spark``: what settings cost Spark applications, from their event logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import panel, plain, titled_table
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.spark_history.event_logs import EventLog, LogError
from plimsoll_operator.wording.spark_words import words_for_application, words_for_finding
from plimsoll_predictor.splitting.spark.application import Application
from plimsoll_predictor.splitting.spark.findings import (
    Finding,
    Found,
    findings_of,
)
from plimsoll_predictor.splitting.spark.memory import HeapUnused, Killed, OverheadShort, Spilled
from plimsoll_predictor.splitting.spark.reading import NoApplication, read_application
from plimsoll_predictor.splitting.spark.small_tasks import SmallTasks

_NAMES: Final[dict[type[Finding], str]] = {
    SmallTasks: "small-tasks",
    Spilled: "spilled",
    OverheadShort: "overhead-short",
    Killed: "killed",
    HeapUnused: "heap-unused",
}


def spark_command(
    logs: Sequence[Path], output: OutputForm, taught: Callable[[Application], str] | None = None
) -> int:
    """Print the findings for each log; 1 if one of them could not be read or taught.

    taught: lets a task learn from an application, and returns in words what it learned.
    """
    documents: list[dict[str, Any]] = []
    shown: list[RenderableType] = []
    failed = False
    for named in logs:
        log = EventLog(named)
        try:
            read = read_application(log.lines())
        except (LogError, NoApplication) as error:
            words = str(error) if isinstance(error, LogError) else f"{named}: {error}"
            complain(f"plimsoll spark: {words}")
            failed = True
            continue
        reading = replace(read.reading, compacted=log.compacted)
        application = replace(read, reading=reading)
        if log.torn is not None:
            complain(f"plimsoll spark: {named} is damaged, and read as far as it goes: {log.torn}")
        found = findings_of(application)
        documents.append(_document(named, application, found))
        shown += _shown(application, found)
        if taught is not None:
            try:
                complain(taught(application))
            except (ApiError, ValueError) as error:
                complain(f"plimsoll spark: {error}")
                failed = True
    if documents:
        print_output({"applications": documents}, Group(*shown), output)
    return 1 if failed else 0


def _shown(application: Application, found: Found) -> Sequence[RenderableType]:
    title = f"{application.name or 'an application without a name'} · {application.app_id or '?'}"
    head = panel(title, words_for_application(application, found))
    if not found.findings:
        return [head]
    folding = ("found", "costs")
    table = titled_table("to set", ("property", *folding), folding=folding)
    for finding in found.findings:
        what, cost = words_for_finding(finding)
        table.add_row(plain(f"{finding.setting}={finding.value}", "bold"), plain(what), plain(cost))
    return [head, table]


def _document(named: Path, application: Application, found: Found) -> dict[str, Any]:
    settings = application.settings
    return {
        "log": str(named),
        "name": application.name,
        "id": application.app_id,
        "spark": application.version,
        "span_s": application.span_s,
        "stage_s": application.stage_s,
        "slots": application.slots,
        "executors": application.executors,
        "adaptive": settings.adaptive,
        "adapted": application.adapted,
        "heap_bytes": None if settings.local else settings.heap_bytes,
        "container_bytes": None if settings.local else settings.container_bytes,
        "peaks": asdict(application.peaks),
        "lost": asdict(application.lost),
        "reading": asdict(application.reading),
        "time": found.time.name.lower(),
        "findings": [
            {"kind": _NAMES[type(each)], **asdict(each), "words": words_for_finding(each)}
            for each in found.findings
        ],
    }
