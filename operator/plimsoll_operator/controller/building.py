"""Puts the controller's parts together, and subscribes them to each other's events."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.late_peaks import LatePeaks
from plimsoll_operator.controller.attempts.ledger import AttemptLedger
from plimsoll_operator.controller.attempts.lifts import Lifts
from plimsoll_operator.controller.attempts.live_needs import LiveNeeds
from plimsoll_operator.controller.attempts.living import LivingAttempts, Placement
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.attempts.retries import Retries
from plimsoll_operator.controller.attempts.sparing import Sparing
from plimsoll_operator.controller.campaigns.campaign_jobs import CampaignJobs
from plimsoll_operator.controller.campaigns.campaigns import Campaigns
from plimsoll_operator.controller.campaigns.refusals import Refusals
from plimsoll_operator.controller.hub.hub import (
    AttemptEnded,
    FinalPeakReported,
    Hub,
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
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.lending.lending import Lending
from plimsoll_operator.controller.lending.request_resizer import RequestResizer
from plimsoll_operator.controller.lending.running_pods import RunningPods
from plimsoll_operator.controller.making_trainers import make_trainers
from plimsoll_operator.controller.ordering.ordered_tasks import OrderedTasks
from plimsoll_operator.controller.ordering.releases import Releases
from plimsoll_operator.controller.placing.encounters import Encounters
from plimsoll_operator.controller.placing.node_loads import NodeLoads
from plimsoll_operator.controller.placing.publishing import PlacingNews
from plimsoll_operator.controller.placing.starts import Starts
from plimsoll_operator.controller.placing.told import ToldNodes
from plimsoll_operator.controller.profiles.gathering import ProfileGatherer
from plimsoll_operator.controller.profiles.policy_statuses import PolicyStatuses
from plimsoll_operator.controller.profiles.profiles import MetTasks, TaskProfiles
from plimsoll_operator.controller.profiles.splitting_known import SplittingKnown
from plimsoll_operator.controller.profiles.troubles import Troubles
from plimsoll_operator.controller.rescue.limit_raiser import LimitRaiser
from plimsoll_operator.controller.rescue.rescuable_pods import RescuablePods
from plimsoll_operator.controller.rescue.rescues import Rescues
from plimsoll_operator.controller.runtimes.living_runs import LongRuns, RunSightings
from plimsoll_operator.controller.runtimes.runtimes import Runtimes
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.controller.splitting.chunk_lessons import ChunkLessons
from plimsoll_operator.controller.splitting.lease_lessons import LeaseLessons
from plimsoll_operator.controller.splitting.leased_jobs import LeasedJobs
from plimsoll_operator.controller.splitting.smaller_partitions import SmallerPartitions
from plimsoll_operator.controller.tasks.book import TaskBook, spent_budgets
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.due_trainings import DueTrainings
from plimsoll_operator.controller.tasks.healing import is_stuck
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.publishing import Publications, SizingState, connect_book
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.controller.training_rounds.trainers import Trainers
from plimsoll_operator.controller.trainings import Trainings
from plimsoll_operator.controller.waiting.late_binding import LateBinding
from plimsoll_operator.controller.waiting.pod_resizer import PodResizer
from plimsoll_operator.controller.watching import ClusterWatch
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_operator.metrics.attempts import sizes_of
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.metrics.live import Live
from plimsoll_operator.training.queue import Spawns
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.node_steps import Patience
from plimsoll_predictor.store import Store, Writer


class ControllerParts:
    """The parts of one controller, for production and tests alike.

    Each part is made after those that it needs, and publishes what later parts have to hear.
    """

    def __init__(
        self,
        settings: ControllerSettings,
        kube: Kube,
        store: Store,
        spawn: Spawns,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Make them on the running event loop.

        spawn: starts a trainer. now_s: Unix seconds.
        """
        self.kube, self.store, self.now_s = kube, store, now_s
        hub = self.hub = Hub()
        writer = self.writer = Writer(store)
        board = self.board = FeedBoard(
            uuid.uuid4().hex, max_models_bytes=settings.feed_models_mib * MIB
        )
        metrics = self.metrics = ControllerMetrics(settings.task_metrics)
        announcer = self.announcer = Announcer(kube, writer, now_s, settings.instance)

        # These parts know policies, tasks and nodes.
        policies = TaskPolicies(
            Policy(mode=settings.mode), hub, settings.namespace, settings.left_alone
        )
        book = self.book = TaskBook(policies, hub)
        self.standings = Standings(store, writer, book, metrics.restart_seconds)
        self.items, self.peaks = ItemNeeds(board), PeakBook(hub=hub)
        self.live_needs = LiveNeeds(
            book=book,
            peaks=self.peaks,
            experts=self.standings.standing,
            hub=hub,
            raised=metrics.live_bounds_raised,
            now_s=now_s,
            on=settings.live_bounds,
        )
        self.publications = Publications(
            book, self.standings.fold, board, hub, self.live_needs.show
        )
        self.runtimes, self.leaking, self.chunks, self.smaller = (
            Runtimes(store, writer, hub),
            LeakingTasks(hub),
            ChunkLessons(store, writer, board),
            SmallerPartitions(
                *(store, writer, board, announcer), lambda task: policies.of_task(task).policy
            ),
        )
        self.encounters, self.loads, nodes = (
            Encounters(store, writer, metrics.placing, now_s),
            NodeLoads(now_s),
            ClusterNodes(),
        )
        self.bounds, self.placing_news = (
            ClusterBounds(board, policies, nodes),
            PlacingNews(self.encounters, nodes, policies, told := ToldNodes(board), self.loads),
        )

        # These parts show it.
        self.troubles = Troubles(kube, writer, board, book, hub)
        self.profiles = TaskProfiles(
            kube,
            ProfileGatherer(
                store=store,
                writer=writer,
                book=book,
                leaking=self.leaking,
                standings=self.standings,
                runtimes=self.runtimes,
                encounters=self.encounters,
                splitting=SplittingKnown(store),
                troubles=self.troubles,
                due=DueTrainings(hub, now_s),
                metrics=metrics.runs,
                now_s=now_s,
            ),
            announcer,
            now_s,
        )
        self.long_runs, self.lease_lessons, self.leased = (
            LongRuns(hub, metrics.runs, now_s),
            lessons := LeaseLessons(store, writer, board, hub),
            LeasedJobs.made(kube, (store, writer), announcer, metrics.leases, lessons.job_ended),
        )

        # These parts act on it.
        self.retries = Retries(
            kube=kube,
            store=store,
            writer=writer,
            announcer=announcer,
            policies=policies,
            now_s=now_s,
        )
        self.trainings = Trainings(book, self.profiles, store, writer, hub)
        self.queue, self.rounds = make_trainers(
            settings,
            (store, writer),
            (self.trainings, self.runtimes),
            (kube, spawn, metrics.training_rounds),
            now_s,
        )
        sizing, heard = (
            SizingState(self.publications, policies, self.bounds, self.items),
            AgentsHeard(),
        )
        self.late_binding = LateBinding(
            PodResizer(kube, sizing, announcer, metrics.late_binding, now_s=now_s),
            settings.late_bindings_per_s,
            lambda uid: self.rescues.may_have_raised(uid),
        )
        self.lending = Lending(
            RunningPods(book=book, bounds=self.bounds, peaks=self.peaks, nodes=nodes, heard=heard),
            RequestResizer(kube, announcer, metrics.lending),
            Patience(flat_s=settings.lending_flat_s),
        )
        self.rescues = Rescues(
            RescuablePods(
                book=book, bounds=self.bounds, nodes=nodes, peaks=self.peaks, heard=heard
            ),
            LimitRaiser(PodWriter(kube.api), announcer, metrics.rescue),
            self.standings.standing,
        )
        self.met_tasks, placement = (
            MetTasks(book, self.troubles, self.profiles, announcer),
            Placement(nodes),
        )
        self.watch = ClusterWatch(
            ledger=AttemptLedger(
                store=store,
                writer=writer,
                hub=hub,
                book=book,
                met_tasks=self.met_tasks,
                living=LivingAttempts(
                    placement=placement,
                    encounters=self.encounters,
                    loads=self.loads,
                    starts=Starts(told.here, nodes, metrics.placing, now_s, time.monotonic),
                    needs=self.live_needs,
                    sightings=RunSightings(writer, self.runtimes, self.long_runs),
                    standings=self.standings,
                    announcer=announcer,
                    profiles=self.profiles,
                    now_s=now_s,
                ),
                peaks=self.peaks,
                placement=placement,
                encounters=self.encounters,
                loads=self.loads,
                nodes=nodes,
                lifts=Lifts(
                    store=store,
                    writer=writer,
                    book=book,
                    bounds=self.bounds,
                    leaking=self.leaking,
                    retries=self.retries,
                    announcer=announcer,
                    spares=self.leased.spares,
                    made=metrics.lifts,
                    now_s=now_s,
                ),
            ),
            book=book,
            bounds=self.bounds,
            profiles=self.profiles,
            policy_statuses=PolicyStatuses(kube, policies, now_s),
            late_binding=self.late_binding,
            lending=self.lending,
            rescues=self.rescues,
            leased=self.leased,
            sparing=Sparing(PodWriter(kube.api), book.look),
            releases=Releases(
                api=kube.api,
                ordered=OrderedTasks(
                    *(self.encounters, self.runtimes, policies),
                    least_runtimes=settings.order_least_runtimes,
                    most_excess=settings.order_most_excess,
                ),
                board=board,
                announcer=announcer,
                metrics=metrics.ordering,
                store_is_stuck=lambda: is_stuck(writer),
                now_s=now_s,
            ),
        )
        self.late_peaks, self.campaigns = (
            LatePeaks(writer, self.peaks, hub, self.watch.ledger.look_again),
            Campaigns(
                store=store,
                writer=writer,
                hub=hub,
                book=book,
                refusals=Refusals(CampaignJobs(kube), policies, self.bounds),
                agents=self.lending.heard,
                now_s=now_s,
            ),
        )
        self._connect()

    def _connect(self) -> None:
        """Subscribe the parts to events, in the order in which they are called."""
        hub, board, metrics, profiles = self.hub, self.board, self.metrics, self.profiles
        hub.subscribe(
            AttemptEnded,
            self.leaking.observed,
            profiles.observed,
            self.book.observed,
            self.trainings.observed,
            self.standings.news,
            self.runtimes.news,
            self.late_peaks.attempt_ended,
            self.live_needs.attempt_ended,
            self.items.attempt_ended,
            self.encounters.attempt_ended,
            self.campaigns.attempt_ended,
            self.chunks.attempt_ended,
            self.smaller.attempt_ended,
            self._count_end,
        )
        hub.subscribe(
            ObservationAmended,
            self.leaking.observed,
            profiles.observed,
            self.book.observed,
            self.trainings.observed,
            self.standings.news,
            self.live_needs.observation_amended,
            self.campaigns.observation_amended,
            self.chunks.attempt_ended,
            lambda event: self.items.learn(event.observation),
            lambda event: metrics.attempts.measured(event.observation),
        )
        hub.subscribe(PeaksReported, lambda event: self.live_needs.reported(event.pod_uids))
        hub.subscribe(FinalPeakReported, self.late_peaks.final_peak_reported)

        connect_book(hub, self.book, self.publications)
        hub.subscribe(TaskChanged, self.live_needs.task_changed)
        hub.subscribe(TaskPublished, lambda event: self.late_binding.learned(event.task))
        hub.subscribe(
            TaskForgotten,
            self.trainings.task_forgotten,
            self.leaking.task_forgotten,
            self.live_needs.task_forgotten,
            self.chunks.task_forgotten,
            self.lease_lessons.task_forgotten,
            self.smaller.task_forgotten,
            lambda event: board.remove(event.task),
            lambda event: metrics.by_task.forget(event.task),
        )

        hub.subscribe(
            PolicyChanged,
            self.bounds.policy_changed,
            self.late_binding.policy_changed,
            profiles.namespace_policy_changed,
        )
        hub.subscribe(ProfileOutdated, profiles.profile_outdated)

        trainers = Trainers(self.queue, self.rounds)
        hub.subscribe(TrainingDue, trainers.training_due, lambda event: profiles.mark(event.task))
        hub.subscribe(TrainingEnded, self._count_training, self.standings.news)

        hub.subscribe(RuntimeForecast, self.long_runs.runtime_forecast)
        hub.subscribe(RunStarted, self.long_runs.run_started)
        hub.subscribe(RunEnded, self.long_runs.run_ended, self.encounters.run_ended)
        hub.subscribe(RanLong, self.announcer.running_long, self.runtimes.ran_long)

        metrics.watch(
            Live(
                tasks=lambda: len(self.book),
                store_healthy=lambda: self.writer.trouble is None,
                queued_writes=lambda: self.writer.queued,
                leaking=lambda: len(self.leaking),
                spent_budgets=lambda: spent_budgets(self.book),
                held_ratios=self.book.fleet.ratios,
                models_trained_s=self.trainings.models_trained_s.values,
                trainings_waiting=lambda: trainers.waiting,
                trainings_running=lambda: trainers.running,
                training_waits_s=lambda: trainers.longest_wait_s,
                feed_readers=lambda: board.readers,
                feed_untold=lambda: board.untold,
                retries=lambda: self.retries.results,
                events=lambda: self.announcer.results,
            )
        )

    def _count_end(self, event: AttemptEnded) -> None:
        if not (event.novelty.new or event.novelty.revised):
            return
        sizes = sizes_of(event.observation, event.watched.mode, event.watched.note)
        if event.novelty.new:
            self.metrics.attempts.ended(event.observation, sizes)
        else:
            self.metrics.attempts.killed(event.observation, sizes)

    def _count_training(self, event: TrainingEnded) -> None:
        result = "failed" if event.result.failure else "succeeded"
        self.metrics.trainings.labels(result).inc()
        self.metrics.training_seconds.observe(event.result.duration_s)
