"""Folds the events of one log into an application, in bounded memory however long the log is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, log
from typing import Any, Final

from plimsoll_predictor.splitting.spark import events as spark
from plimsoll_predictor.splitting.spark.application import (
    Application,
    Lost,
    Peaks,
    Reading,
    Stage,
    heap_was_full,
    killed_for_memory,
)
from plimsoll_predictor.splitting.spark.settings import (
    QUERY,
    STREAM,
    Settings,
    kept,
    version_of,
)

MOST_STAGES: Final = 10_000
"""Stages that are kept, at half a kB each; further stages of a longer log are only counted."""
MOST_OPEN: Final = 1_000
"""The most stages at a time that have begun and not ended."""
MOST_EXECUTORS: Final = 10_000
"""The most executors at a time."""
_MOST_CHARS: Final = 200
_STEP: Final = log(1.05)
"""Times are counted in classes of 5%."""


class NoApplication(ValueError):
    """No line is an event of Spark."""


@dataclass(slots=True)
class _OpenStage:
    """A stage that still receives tasks."""

    settings: Settings
    submitted_ms: int | None = None
    name: str = ""
    query: bool = False
    streaming: bool = False
    tasks: int = 0
    busy_ms: int = 0
    times: Counter[int] = field(default_factory=Counter)
    sums: Counter[str] = field(default_factory=Counter)
    peak_bytes: int = 0
    last_ms: int = 0

    def add(self, took_ms: int, ended_ms: int, metrics: spark.TaskMetrics) -> None:
        """Count a task that succeeded."""
        self.tasks += 1
        self.busy_ms += took_ms
        self.last_ms = max(self.last_ms, ended_ms)
        self.times[round(log(max(took_ms, 1)) / _STEP)] += 1
        read = metrics.shuffle_read_metrics
        self.sums["shuffle"] += read.remote_bytes_read + read.local_bytes_read
        self.sums["input"] += metrics.input_metrics.bytes_read
        self.sums["spilled"] += metrics.memory_bytes_spilled
        self.sums["disk"] += metrics.disk_bytes_spilled
        self.peak_bytes = max(self.peak_bytes, metrics.peak_execution_memory)

    def quantile_s(self, part: float) -> float:
        """The seconds that this part of the tasks took at most, to 5%."""
        left = part * self.tasks
        for step in sorted(self.times):
            left -= self.times[step]
            if left <= 0:
                return exp(step * _STEP) / 1000
        return 0.0

    def closed(self, number: int, info: spark.StageInfo | None) -> Stage:
        """The record of the stage. info: from its end; None if the log has none."""
        submitted = self.submitted_ms
        ended = self.last_ms
        if info is not None:
            submitted = info.submitted_ms or submitted
            ended = info.completed_ms or ended
        timed = submitted is not None and ended >= submitted
        return Stage(
            number=number,
            name=self.name,
            tasks=self.tasks,
            busy_s=self.busy_ms / 1000,
            quick_s=self.quantile_s(0.1),
            median_s=self.quantile_s(0.5),
            began_s=submitted / 1000 if timed and submitted is not None else None,
            wall_s=(ended - submitted) / 1000 if timed and submitted is not None else None,
            input_bytes=self.sums["input"],
            shuffle_bytes=self.sums["shuffle"],
            spilled_bytes=self.sums["spilled"],
            disk_bytes=self.sums["disk"],
            peak_bytes=self.peak_bytes,
            query=self.query,
            settings=self.settings,
            streaming=self.streaming,
        )


class _Fold:
    """What is known so far; one method for each kind of event."""

    def __init__(self) -> None:
        self.name, self.app_id, self.version = "", "", ""
        self.began_ms: int | None = None
        self.ended_ms: int | None = None
        self.last_ms = 0
        self.settings = Settings({})
        self.adapted = False
        self.alive: dict[str, spark.ExecutorAdded] = {}
        self.cores = self.most_cores = self.executors = self.executor_ms = 0
        self.open: dict[tuple[int, int], _OpenStage] = {}
        self.stages: list[Stage] = []
        self.left_out = 0
        self.peaks: Counter[str] = Counter()
        self.samples = 0
        self.busy_ms: Counter[str] = Counter()
        self.lost = Counter[str]()
        self.killed: dict[str, None] = {}
        self.full_heaps = 0

    def learn(self, event: spark.Event) -> None:
        """Take up one event."""
        match event:
            case spark.TaskEnd():
                self._task(event)
            case spark.StageSubmitted():
                self._begin(event)
            case spark.StageCompleted(info):
                self._end(info)
            case spark.ExecutorAdded() | spark.ExecutorRemoved():
                self._executor(event)
            case spark.StageExecutorMetrics(executor, peaks):
                if executor != "driver" or self.settings.local:
                    self._measure(peaks)
            case spark.AdaptiveUpdate():
                self.adapted = True
            case _:
                self._application(event)

    def _application(self, event: spark.Event) -> None:
        match event:
            case spark.LogStart(version):
                self.version = version[:_MOST_CHARS]
                self.settings = Settings(self.settings.given, version_of(version))
            case spark.ApplicationStart(name, app_id, at_ms):
                self.name, self.app_id = name[:_MOST_CHARS], (app_id or "")[:_MOST_CHARS]
                self.began_ms = at_ms
            case spark.ApplicationEnd(at_ms):
                self.ended_ms = at_ms
            case spark.EnvironmentUpdate(properties):
                self.settings = Settings(kept(properties), self.settings.version)

    def _begin(self, event: spark.StageSubmitted) -> None:
        stage = self._stage((event.info.stage, event.info.attempt))
        if stage is None:
            return
        stage.name = event.info.name[:_MOST_CHARS]
        stage.submitted_ms = event.info.submitted_ms
        given: dict[str, Any] = event.properties or {}
        stage.query = QUERY in given
        stage.streaming = STREAM in given
        stage.settings = self.settings.over(given) if stage.query else self.settings

    def _stage(self, key: tuple[int, int]) -> _OpenStage | None:
        """The stage with that number; None if there are too many."""
        if key not in self.open and len(self.open) >= MOST_OPEN:
            return None
        return self.open.setdefault(key, _OpenStage(self.settings))

    def _end(self, info: spark.StageInfo) -> None:
        self.last_ms = max(self.last_ms, info.completed_ms or 0)
        stage = self.open.pop((info.stage, info.attempt), None)
        if stage is None or len(self.stages) >= MOST_STAGES:
            self.left_out += 1
            return
        stage.name = stage.name or info.name[:_MOST_CHARS]
        self.stages.append(stage.closed(info.stage, info))

    def _task(self, event: spark.TaskEnd) -> None:
        if event.peaks is not None:
            self._measure(event.peaks)
        task = event.task
        if task is None:
            return
        took_ms = max(0, task.finished_ms - task.launched_ms)
        self.last_ms = max(self.last_ms, task.finished_ms)
        if task.failed or task.killed:
            # Spark reports the tasks before or after it reports that the executor is gone.
            if len(self.busy_ms) < MOST_EXECUTORS:
                self.busy_ms[task.executor[:_MOST_CHARS]] += took_ms
                self.lost[task.executor[:_MOST_CHARS]] += 1
            return
        stage = self._stage((event.stage, event.attempt))
        if stage is not None:
            stage.add(took_ms, task.finished_ms, event.metrics or spark.TaskMetrics())

    def _executor(self, event: spark.ExecutorAdded | spark.ExecutorRemoved) -> None:
        executor = event.executor[:_MOST_CHARS]
        self.last_ms = max(self.last_ms, event.at_ms)
        if isinstance(event, spark.ExecutorAdded):
            if executor not in self.alive and len(self.alive) < MOST_EXECUTORS:
                self.alive[executor] = event
                self.cores += event.info.total_cores
            self.executors = max(self.executors, len(self.alive))
            self.most_cores = max(self.most_cores, self.cores)
            return
        added = self.alive.pop(executor, None)
        if added is not None:
            self.cores -= added.info.total_cores
            self.executor_ms += max(0, event.at_ms - added.at_ms)
        if not killed_for_memory(event.reason):
            self.full_heaps += heap_was_full(event.reason)
        elif len(self.killed) < MOST_EXECUTORS:
            self.killed[executor] = None

    def _measure(self, peaks: spark.ExecutorMetrics) -> None:
        self.samples += peaks.heap > 0
        each = {
            "heap": peaks.heap,
            "beside_heap": peaks.beside_heap + max(0, peaks.direct),
            "unified": peaks.on_heap_unified,
            "python": peaks.python_rss,
            "other": peaks.other_rss,
        }
        for name, found in each.items():
            self.peaks[name] = max(self.peaks[name], found)

    def application(self, lines: int, bad: int, long: int) -> Application:
        """The result at the end; a stage without an end in the log counts as far as it came."""
        cut = [stage.closed(number, None) for (number, _), stage in self.open.items()]
        stages = (*self.stages, *cut[: MOST_STAGES - len(self.stages)])
        ended_ms = self.ended_ms or self.last_ms
        still_ms = (max(0, ended_ms - each.at_ms) for each in self.alive.values())
        began_ms = self.began_ms
        known = began_ms is not None and ended_ms >= began_ms
        return Application(
            name=self.name,
            app_id=self.app_id,
            version=self.version,
            span_s=(ended_ms - began_ms) / 1000 if known and began_ms is not None else None,
            # If no executor was announced, the tasks at a time tell.
            slots=self.most_cores or max((round(each.at_once) for each in stages), default=1),
            executors=self.executors,
            executor_s=(self.executor_ms + sum(still_ms)) / 1000,
            settings=self.settings,
            adapted=self.adapted,
            stages=stages,
            peaks=Peaks(
                **{name: found or None for name, found in self.peaks.items()},
                samples=self.samples,
            ),
            lost=Lost(
                executors=len(self.killed),
                tasks=sum(self.lost[each] for each in self.killed),
                busy_s=sum(self.busy_ms[each] for each in self.killed) / 1000,
                full_heaps=self.full_heaps,
            ),
            reading=Reading(
                lines=lines,
                bad=bad,
                long=long,
                stages_left_out=self.left_out + len(self.stages) + len(cut) - len(stages),
                ended=self.ended_ms is not None,
            ),
        )


def read_application(lines: Iterable[bytes | None]) -> Application:
    """Read a log. lines: each an event; None for one that was too long.

    Raises:
        NoApplication: if no line is an event of Spark.
    """
    fold = _Fold()
    count = bad = long = 0
    for line in lines:
        if line is None:
            long += 1
        elif line.strip():
            count += 1
            try:
                event = spark.read_event(line)
            except spark.BadEvent:
                bad += 1
                continue
            if event is not None:
                fold.learn(event)
    if count == bad:
        raise NoApplication("it has no event of Spark")
    return fold.application(count, bad, long)
