"""The content of the dashboard: rows of panels, each with its queries to Prometheus."""

from __future__ import annotations

from typing import Final

from deploy.grafana.panel_kinds import (
    RATE,
    WHERE,
    Kind,
    Panel,
    Query,
    quantiles,
    raised,
    rate_of,
    stat,
)
from deploy.grafana.placing_panels import PLACING


def _of_process(metric: str, *, rate: bool) -> str:
    """By component: a process's own metric, and which process it is."""
    value = f"rate({metric}[{RATE}])" if rate else metric
    info = f"plimsoll_build_info{{{WHERE}}}"
    return f"max by (component) ({value} * on (job, instance) group_left (component) {info})"


_SAVED: Final = (
    f"({raised('plimsoll_memory_saved_byte_seconds_total', '1d')}"
    f" - {raised('plimsoll_memory_added_byte_seconds_total', '1d')})"
    f" / {raised('plimsoll_memory_requested_byte_seconds_total', '1d')}"
)

_GLANCE: Final = (
    stat(
        "Saved, of what was asked for",
        "Memory-time of a day: reserved less than asked for, less what lifts and kills cost.",
        _SAVED,
        unit="percentunit",
        bad_below=0.0,
    ),
    stat(
        "OOM kills, a day",
        "Attempts killed within a day at any size.",
        raised("plimsoll_oom_kills_total", "1d"),
        unit="none",
    ),
    stat(
        "Leaking tasks",
        "OOM-killed at the most that they may get.",
        f"sum(plimsoll_leaking_tasks{{{WHERE}}})",
        unit="none",
        bad_from=1.0,
    ),
    stat("Tasks known", "Tasks known.", f"sum(plimsoll_tasks{{{WHERE}}})", unit="none"),
    stat(
        "Admission replicas",
        "That were scraped.",
        f'count(plimsoll_build_info{{{WHERE}, component="admission"}})',
        unit="none",
        bad_below=1.0,
    ),
    stat(
        "Controllers that lead",
        "One, at all times.",
        f"sum(plimsoll_leader{{{WHERE}}})",
        unit="none",
        bad_below=1.0,
    ),
)

_MEMORY: Final = (
    Panel(
        title="Memory of ended attempts",
        words="Memory-time by second: what was asked for, and what was reserved instead.",
        queries=(
            Query(rate_of("plimsoll_memory_requested_byte_seconds_total"), "asked for"),
            Query(rate_of("plimsoll_memory_reserved_byte_seconds_total"), "reserved"),
        ),
        unit="bytes",
    ),
    Panel(
        title="Saved and added",
        words="Reserved less than was asked for; and beyond it, or by attempts killed below it.",
        queries=(
            Query(rate_of("plimsoll_memory_saved_byte_seconds_total"), "saved"),
            Query(rate_of("plimsoll_memory_added_byte_seconds_total"), "added"),
        ),
        unit="bytes",
    ),
    Panel(
        title="Reserved and not used",
        words="Above the peak of those that succeeded; all of those that failed.",
        queries=(
            Query(rate_of("plimsoll_memory_wasted_byte_seconds_total", "outcome"), "{{outcome}}"),
        ),
        unit="bytes",
        stacked=True,
    ),
)

_ATTEMPTS: Final = (
    Panel(
        title="Attempts ended",
        words="By outcome, a second.",
        queries=(Query(rate_of("plimsoll_attempts_total", "outcome"), "{{outcome}}"),),
        unit="ops",
        stacked=True,
    ),
    Panel(
        title="OOM kills",
        words="By the size they happened at: the request, a first size by Plimsoll, a lift.",
        queries=(Query(rate_of("plimsoll_oom_kills_total", "at"), "{{at}}"),),
        unit="ops",
        stacked=True,
    ),
    Panel(
        title="Lifts and retries",
        words="Sizes raised after a kill; pods that Plimsoll made anew, by result.",
        queries=(
            Query(rate_of("plimsoll_lifts_total"), "lifts"),
            Query(rate_of("plimsoll_retries_total", "result"), "retry {{result}}"),
        ),
        unit="ops",
    ),
)

_ADMISSION: Final = (
    Panel(
        title="Pods decided",
        words="By what became of them and why, a second.",
        queries=(
            Query(
                rate_of("plimsoll_admission_pods_total", "outcome, reason"),
                "{{outcome}} {{reason}}",
            ),
        ),
        unit="ops",
        stacked=True,
    ),
    Panel(
        title="Time to answer",
        words="From a request's last byte to its answer.",
        queries=quantiles("plimsoll_admission_seconds"),
        unit="s",
    ),
    Panel(
        title="Let through unsized",
        words="Because something was wrong, by reason, a second.",
        queries=(
            Query(rate_of("plimsoll_admission_failed_open_total", "reason"), "{{reason}}"),
            Query(rate_of("plimsoll_admission_feed_errors_total", "reason"), "feed {{reason}}"),
        ),
        unit="ops",
    ),
    Panel(
        title="Since the controller was heard",
        words="By replica; beyond a day it leaves pods alone.",
        queries=(Query(f"plimsoll_admission_feed_age_seconds{{{WHERE}}}", "{{instance}}"),),
        unit="s",
    ),
    Panel(
        title="Who reads the feed",
        words="Admission replicas that wait for news.",
        queries=(Query(f"sum(plimsoll_feed_readers{{{WHERE}}})", "readers"),),
    ),
    Panel(
        title="Until the certificate expires",
        words="Of the certificate that a replica serves.",
        queries=(
            Query(
                f"plimsoll_admission_certificate_expires_timestamp_seconds{{{WHERE}}} - time()",
                "{{instance}}",
            ),
        ),
        unit="s",
    ),
)

_LEARNING: Final = (
    Panel(
        title="Trainings",
        words="Ended within the last ten minutes, by result; and those that wait.",
        queries=(
            Query(
                f"sum by (result) (increase(plimsoll_trainings_total{{{WHERE}}}[10m]))",
                "{{result}}",
            ),
            Query(f"sum(plimsoll_trainings_waiting{{{WHERE}}})", "waiting"),
        ),
    ),
    Panel(
        title="How long trainings take",
        words="Start of the process to its end.",
        queries=quantiles("plimsoll_training_seconds"),
        unit="s",
    ),
    Panel(
        title="Age of models",
        words="Of the oldest and the newest in use.",
        queries=(
            Query(
                f"time() - max by (model) (plimsoll_model_trained_timestamp_seconds{{{WHERE}}})",
                "{{model}}",
            ),
        ),
        unit="s",
    ),
    Panel(
        title="Pods that wait for a node",
        words="And those of them that are about to be resized.",
        queries=(
            Query(f"sum(plimsoll_late_binding_waiting_pods{{{WHERE}}})", "waiting"),
            Query(f"sum(plimsoll_late_binding_backlog_pods{{{WHERE}}})", "to be resized"),
        ),
    ),
    Panel(
        title="Resizes of waiting pods",
        words="By result, a second.",
        queries=(Query(rate_of("plimsoll_late_binding_resizes_total", "result"), "{{result}}"),),
        unit="ops",
    ),
    Panel(
        title="Freed by resizes",
        words="Bytes a second that waiting pods ask less than before.",
        queries=(Query(rate_of("plimsoll_late_binding_freed_bytes_total"), "freed"),),
        unit="Bps",
    ),
)

_PROCESSES: Final = (
    Panel(
        title="Writes that wait for the store",
        words="At 10,000 the controller waits with them.",
        queries=(Query(f"sum(plimsoll_store_queued_writes{{{WHERE}}})", "queued"),),
    ),
    Panel(
        title="Resident memory",
        words="Of the largest process of each component.",
        queries=(Query(_of_process("process_resident_memory_bytes", rate=False), "{{component}}"),),
        unit="bytes",
    ),
    Panel(
        title="CPU",
        words="Cores, of the busiest process of each component.",
        queries=(Query(_of_process("process_cpu_seconds_total", rate=True), "{{component}}"),),
    ),
    Panel(
        title="Events",
        words="By what became of them, a second.",
        queries=(Query(rate_of("plimsoll_events_total", "result"), "{{result}}"),),
        unit="ops",
    ),
    Panel(
        title="Agents: time to read all cgroups",
        words="Each second, of each node's agent.",
        queries=quantiles("plimsoll_agent_tick_seconds"),
        unit="s",
    ),
    Panel(
        title="Agents: reports that wait, or were dropped",
        words="Peaks that the controller has not taken; and an hour's that were given up.",
        queries=(
            Query(f"sum(plimsoll_agent_reports_waiting{{{WHERE}}})", "waiting"),
            Query(raised("plimsoll_agent_reports_dropped_total", "1h"), "dropped"),
        ),
    ),
)

_TASKS: Final = (
    Panel(
        title="Tasks that waste most",
        words=(
            "Memory that ended attempts held and did not use, on average over a day. Empty unless"
            " PLIMSOLL_TASK_METRICS says how many tasks have series of their own."
        ),
        queries=(
            Query(
                "topk(20, sum by (task_namespace, task)"
                f" (rate(plimsoll_task_memory_wasted_byte_seconds_total{{{WHERE}}}[1d])))",
                "{{task_namespace}}/{{task}}",
            ),
        ),
        kind=Kind.TABLE,
        unit="bytes",
    ),
)

_RUNTIMES: Final = (
    Panel(
        title="Runs that run long",
        words="Under way for longer than 99 of 100 like them take, and all that are under way.",
        queries=(
            Query(f"sum(plimsoll_run_running_long{{{WHERE}}})", "running long"),
            Query(f"sum(plimsoll_run_running{{{WHERE}}})", "under way"),
        ),
    ),
    Panel(
        title="Forecasts",
        words="Runs a second: forecast when they were submitted, and held against it at their end.",
        queries=(
            Query(rate_of("plimsoll_run_forecasts_total"), "forecast"),
            Query(rate_of("plimsoll_run_forecasts_scored_total"), "ended"),
        ),
        unit="ops",
    ),
    Panel(
        title="Longer than their forecast's P95",
        words="Of the runs that ended within an hour; a twentieth is right.",
        queries=(
            Query(
                f"{raised('plimsoll_run_beyond_p95_total', '1h')}"
                f" / {raised('plimsoll_run_forecasts_scored_total', '1h')}",
                "beyond P95",
            ),
        ),
        unit="percentunit",
    ),
)

ROWS: Final[tuple[tuple[str, tuple[Panel, ...]], ...]] = (
    ("At a glance", _GLANCE),
    ("What it saves", _MEMORY),
    ("Attempts", _ATTEMPTS),
    ("Admission", _ADMISSION),
    ("Placing", PLACING),
    ("Learning and late binding", _LEARNING),
    ("How long runs take", _RUNTIMES),
    ("Processes", _PROCESSES),
    ("Tasks", _TASKS),
)
"""Title and panels of each row, from the top."""
