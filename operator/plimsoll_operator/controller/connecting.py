"""Lets a controller's parts hear of each other's events: the table of which part hears what."""

from __future__ import annotations

from functools import partial

from plimsoll_operator.controller.building import ControllerParts
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    FinalPeakReported,
    LeasedJobEnded,
    ObservationAmended,
    PeaksReported,
    PolicyChanged,
    ProfileOutdated,
    RanLong,
    RunEnded,
    RunStarted,
    RuntimeForecast,
    TaskChanged,
    TaskForgotten,
    TaskPublished,
    TrainingDue,
    TrainingEnded,
)
from plimsoll_operator.controller.tasks.book import spent_budgets
from plimsoll_operator.controller.tasks.publishing import connect_book
from plimsoll_operator.controller.training_rounds.trainers import Trainers
from plimsoll_operator.metrics.attempts import sizes_of
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.metrics.live import Live


def connect(parts: ControllerParts) -> None:
    """Subscribe the parts to events, in the order in which they are called."""
    hub = parts.hub
    profiles = parts.profiles
    trainers = Trainers(parts.queue, parts.rounds)
    hub.subscribe(
        AttemptEnded,
        parts.leaking.observed,
        profiles.observed,
        parts.book.observed,
        parts.trainings.observed,
        parts.standings.news,
        parts.runtimes.news,
        parts.late_peaks.attempt_ended,
        parts.live_needs.attempt_ended,
        parts.items.attempt_ended,
        parts.encounters.attempt_ended,
        parts.campaigns.attempt_ended,
        parts.chunks.attempt_ended,
        parts.smaller.attempt_ended,
        partial(_count_end, parts.metrics),
    )
    hub.subscribe(
        ObservationAmended,
        parts.leaking.observed,
        profiles.observed,
        parts.book.observed,
        parts.trainings.observed,
        parts.standings.news,
        parts.live_needs.observation_amended,
        parts.campaigns.observation_amended,
        parts.chunks.attempt_ended,
        lambda event: parts.items.learn(event.observation),
        lambda event: parts.metrics.attempts.measured(event.observation),
    )
    hub.subscribe(PeaksReported, lambda event: parts.live_needs.reported(event.pod_uids))
    hub.subscribe(FinalPeakReported, parts.late_peaks.final_peak_reported)
    hub.subscribe(LeasedJobEnded, parts.lease_lessons.leased_job_ended)

    connect_book(hub, parts.book, parts.publications)
    hub.subscribe(TaskChanged, parts.live_needs.task_changed)
    hub.subscribe(TaskPublished, lambda event: parts.late_binding.learned(event.task))
    hub.subscribe(
        TaskForgotten,
        parts.trainings.task_forgotten,
        parts.leaking.task_forgotten,
        parts.live_needs.task_forgotten,
        parts.chunks.task_forgotten,
        parts.lease_lessons.task_forgotten,
        parts.smaller.task_forgotten,
        lambda event: parts.board.remove(event.task),
        lambda event: parts.metrics.by_task.forget(event.task),
    )

    hub.subscribe(
        PolicyChanged,
        parts.bounds.policy_changed,
        parts.late_binding.policy_changed,
        profiles.namespace_policy_changed,
    )
    hub.subscribe(ProfileOutdated, profiles.profile_outdated)

    hub.subscribe(TrainingDue, trainers.training_due, lambda event: profiles.mark(event.task))
    hub.subscribe(TrainingEnded, partial(_count_training, parts.metrics), parts.standings.news)

    hub.subscribe(RuntimeForecast, parts.long_runs.runtime_forecast)
    hub.subscribe(RunStarted, parts.long_runs.run_started)
    hub.subscribe(RunEnded, parts.long_runs.run_ended, parts.encounters.run_ended)
    hub.subscribe(RanLong, parts.announcer.running_long, parts.runtimes.ran_long)

    _show(parts, trainers)


def _show(parts: ControllerParts, trainers: Trainers) -> None:
    """Let a scrape read the parts' figures as they are then."""
    parts.metrics.leases.watch(lambda: len(parts.leased.keeper.jobs))
    parts.metrics.watch(
        Live(
            tasks=lambda: len(parts.book),
            store_healthy=lambda: parts.writer.trouble is None,
            queued_writes=lambda: parts.writer.queued,
            leaking=lambda: len(parts.leaking),
            spent_budgets=lambda: spent_budgets(parts.book),
            held_ratios=parts.book.fleet.ratios,
            models_trained_s=parts.trainings.models_trained_s.values,
            trainings_waiting=lambda: trainers.waiting,
            trainings_running=lambda: trainers.running,
            training_waits_s=lambda: trainers.longest_wait_s,
            feed_readers=lambda: parts.board.readers,
            feed_untold=lambda: parts.board.untold,
            retries=lambda: parts.retries.results,
            events=lambda: parts.announcer.results,
        )
    )


def _count_end(metrics: ControllerMetrics, event: AttemptEnded) -> None:
    if not (event.novelty.new or event.novelty.revised):
        return
    sizes = sizes_of(event.observation, event.watched.mode, event.watched.note)
    if event.novelty.new:
        metrics.attempts.ended(event.observation, sizes)
    else:
        metrics.attempts.killed(event.observation, sizes)


def _count_training(metrics: ControllerMetrics, event: TrainingEnded) -> None:
    result = "failed" if event.result.failure else "succeeded"
    metrics.trainings.labels(result).inc()
    metrics.training_seconds.observe(event.result.duration_s)
