"""The controller put together: its parts, and who of them hears of what happened.

Each part is made after those that it needs. What it would tell a part that is made later, it
publishes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.late_peaks import LatePeaks
from plimsoll_operator.controller.attempts.ledger import AttemptLedger
from plimsoll_operator.controller.attempts.lifts import Lifts
from plimsoll_operator.controller.attempts.living import LivingAttempts, Placement
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.attempts.retries import Retries
from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.housekeeping import Housekeeping
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    FinalPeakReported,
    Hub,
    ObservationAmended,
    PolicyChanged,
    ProfileOutdated,
    ProfileSpecChanged,
    RanLong,
    RunEnded,
    RunStarted,
    RuntimeForecast,
    TaskChanged,
    TaskForgotten,
    TaskLearned,
    TaskPublished,
    TrainingDue,
    TrainingEnded,
)
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.profiles.gathering import ProfileGatherer
from plimsoll_operator.controller.profiles.policy_statuses import PolicyStatuses
from plimsoll_operator.controller.profiles.profiles import MetTasks, ProfileKeeper
from plimsoll_operator.controller.profiles.troubles import Crowding, Definitions, Troubles
from plimsoll_operator.controller.runtimes.living_runs import LongRuns, RunSightings
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.publishing import Publications, SizingState
from plimsoll_operator.controller.tasks.surroundings import ClusterBounds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.controller.trainings import Learning
from plimsoll_operator.controller.waiting.late_binding import LateBinding
from plimsoll_operator.controller.watching import ClusterWatch
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.metrics.attempts import sizes_of
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.metrics.live import Live
from plimsoll_operator.training.queue import Spawns, TrainingQueue
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.store import Store, Writer


def build(
    settings: ControllerSettings,
    kube: Kube,
    store: Store,
    spawn: Spawns,
    now_s: Callable[[], float] = time.time,
) -> Controller:
    """Make a controller on the running event loop. It does nothing before its ``start``.

    spawn: starts a trainer. now_s: Unix seconds.
    """
    hub, writer, board = Hub(), Writer(store), FeedBoard(uuid.uuid4().hex)
    metrics = ControllerMetrics(settings.task_metrics)
    announcer = Announcer(kube, writer, now_s, settings.instance)

    # What is known: of policies, tasks and nodes.
    policies = TaskPolicies(Policy(mode=settings.mode), hub, settings.namespace)
    book = TaskBook(policies, hub)
    publications = Publications(book, hub)
    crowding, leaking = Crowding(book), LeakingTasks(hub)
    nodes = ClusterNodes()
    bounds = ClusterBounds(board, policies, nodes)
    items, peaks = ItemNeeds(board), PeakBook(hub=hub)
    standings = Standings(store, writer, book)
    runtimes = Runtimes(store, writer, hub)

    # What is shown of it.
    troubles, definitions = Troubles(kube, writer, board, hub), Definitions()
    gatherer = ProfileGatherer(
        store=store,
        writer=writer,
        book=book,
        crowding=crowding,
        leaking=leaking,
        standings=standings,
        runtimes=runtimes,
        troubles=troubles,
        definitions=definitions,
        metrics=metrics.runs,
        now_s=now_s,
    )
    profiles = ProfileKeeper(kube, gatherer, definitions, announcer, now_s)
    policy_statuses = PolicyStatuses(kube, policies, now_s)
    long_runs = LongRuns(hub, metrics.runs, now_s)

    # What is done.
    retries = Retries(
        kube=kube, store=store, writer=writer, announcer=announcer, policies=policies, now_s=now_s
    )
    learning = Learning(book, profiles, store, writer, hub)
    queue = TrainingQueue(spawn, store, learning.training_ended)
    late_binding = LateBinding(
        kube,
        SizingState(publications, policies, bounds, items),
        announcer,
        metrics.late_binding,
        settings.late_bindings_per_s,
    )
    met_tasks = MetTasks(book, crowding, profiles, announcer)
    placement, late_peaks = Placement(nodes), LatePeaks(writer, peaks, hub)
    ledger = AttemptLedger(
        store=store,
        writer=writer,
        hub=hub,
        book=book,
        met_tasks=met_tasks,
        living=LivingAttempts(
            placement=placement,
            sightings=RunSightings(writer, runtimes, long_runs),
            standings=standings,
            announcer=announcer,
            profiles=profiles,
            now_s=now_s,
        ),
        peaks=peaks,
        placement=placement,
        nodes=nodes,
        lifts=Lifts(
            store=store,
            writer=writer,
            book=book,
            bounds=bounds,
            leaking=leaking,
            retries=retries,
            announcer=announcer,
            made=metrics.lifts,
        ),
    )
    return _connected(
        hub,
        Controller(
            kube=kube,
            writer=writer,
            board=board,
            metrics=metrics,
            announcer=announcer,
            book=book,
            publications=publications,
            leaking=leaking,
            items=items,
            peaks=peaks,
            standings=standings,
            runtimes=runtimes,
            troubles=troubles,
            profiles=profiles,
            long_runs=long_runs,
            retries=retries,
            learning=learning,
            queue=queue,
            late_peaks=late_peaks,
            housekeeping=Housekeeping(
                store=store,
                writer=writer,
                book=book,
                items=items,
                standings=standings,
                runtimes=runtimes,
                learning=learning,
                met_tasks=met_tasks,
                profiles=profiles,
                now_s=now_s,
            ),
            watch=ClusterWatch(
                ledger=ledger,
                book=book,
                bounds=bounds,
                profiles=profiles,
                policy_statuses=policy_statuses,
                late_binding=late_binding,
            ),
        ),
    )


def _connected(hub: Hub, made: Controller) -> Controller:
    """Say who hears of what, in the order in which they hear it."""
    board, metrics, profiles, watch = made.board, made.metrics, made.profiles, made.watch

    hub.subscribe(
        AttemptEnded,
        made.leaking.observed,
        profiles.observed,
        made.learning.observed,
        lambda _: made.standings.news(),
        lambda _: made.runtimes.news(),
        made.late_peaks.attempt_ended,
        made.items.attempt_ended,
        _counting_ends(metrics),
    )
    hub.subscribe(
        ObservationAmended,
        made.leaking.observed,
        profiles.observed,
        made.learning.observed,
        lambda _: made.standings.news(),
        made.items.observation_amended,
        lambda event: metrics.attempts.measured(event.observation),
    )
    hub.subscribe(FinalPeakReported, made.late_peaks.final_peak_reported)

    connect_book(hub, made.book, made.publications)
    hub.subscribe(
        TaskPublished,
        lambda event: board.publish(event.knowledge),
        lambda event: watch.late_binding.learned(event.knowledge.task),
    )
    hub.subscribe(
        TaskForgotten,
        made.learning.task_forgotten,
        made.leaking.task_forgotten,
        lambda event: board.remove(event.task),
    )

    hub.subscribe(
        PolicyChanged,
        watch.bounds.policy_changed,
        watch.late_binding.policy_changed,
        profiles.namespace_policy_changed,
    )
    hub.subscribe(ProfileOutdated, profiles.profile_outdated)

    hub.subscribe(TrainingDue, lambda due: made.queue.request(due.task, due.policy, due.why))
    hub.subscribe(TrainingEnded, _counting_trainings(metrics), lambda _: made.standings.news())

    hub.subscribe(RuntimeForecast, made.long_runs.runtime_forecast)
    hub.subscribe(RunStarted, made.long_runs.run_started)
    hub.subscribe(RunEnded, made.long_runs.run_ended)
    hub.subscribe(RanLong, made.announcer.running_long, made.runtimes.ran_long)

    metrics.watch(_live(made))
    return made


def connect_book(hub: Hub, book: TaskBook, publications: Publications) -> None:
    """Have the book hear of policies, and the publications of the book."""
    hub.subscribe(PolicyChanged, book.namespace_policy_changed)
    hub.subscribe(ProfileSpecChanged, book.profile_spec_changed)
    hub.subscribe(TaskLearned, publications.task_learned)
    hub.subscribe(TaskChanged, publications.task_changed)
    hub.subscribe(TaskForgotten, publications.task_forgotten)


def _counting_ends(metrics: ControllerMetrics) -> Callable[[AttemptEnded], None]:
    def count(event: AttemptEnded) -> None:
        if event.novelty.new:
            sizes = sizes_of(event.observation, event.watched.mode, event.watched.note)
            metrics.attempts.ended(event.observation, sizes)

    return count


def _counting_trainings(metrics: ControllerMetrics) -> Callable[[TrainingEnded], None]:
    def count(event: TrainingEnded) -> None:
        metrics.trainings.labels("failed" if event.result.failure else "succeeded").inc()
        metrics.training_seconds.observe(event.result.duration_s)

    return count


def _live(made: Controller) -> Live:
    return Live(
        leaking=lambda: len(made.leaking),
        models_trained_s=made.learning.models_trained_s.values,
        trainings_waiting=lambda: len(made.queue.waiting),
        trainings_running=lambda: len(made.queue.running),
        feed_readers=lambda: made.board.readers,
        retries=lambda: made.retries.results,
        events=lambda: made.announcer.results,
    )
