"""Makes the parts of a controller, each after those that it needs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from plimsoll_operator.chunks.lease_keeper import Keeper
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
from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.lending.agents_heard import AgentsHeard
from plimsoll_operator.controller.lending.lending import Lending
from plimsoll_operator.controller.lending.request_resizer import RequestResizer
from plimsoll_operator.controller.lending.running_pods import RunningPods
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
from plimsoll_operator.controller.splitting.job_shelf import JobShelf
from plimsoll_operator.controller.splitting.lease_lessons import LeaseLessons
from plimsoll_operator.controller.splitting.leased_jobs import LeasedJobs
from plimsoll_operator.controller.splitting.smaller_partitions import SmallerPartitions
from plimsoll_operator.controller.store_sync import StoreSync
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.cpu_uses import CpuUses
from plimsoll_operator.controller.tasks.due_trainings import DueTrainings
from plimsoll_operator.controller.tasks.healing import is_stuck
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.publishing import Publications, SizingState
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.controller.training_rounds.round_jobs import RoundJobs
from plimsoll_operator.controller.training_rounds.rounds import RoundParts, TrainingRounds
from plimsoll_operator.controller.trainings import Trainings
from plimsoll_operator.controller.waiting.late_binding import LateBinding
from plimsoll_operator.controller.waiting.pod_resizer import PodResizer
from plimsoll_operator.controller.watching import ClusterWatch
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.training.queue import QueueRules, Spawns, TrainingQueue
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.lending.node_steps import Patience
from plimsoll_predictor.store import Store, Writer


class ControllerParts:
    """The parts of one controller, for production and tests alike.

    Each part is made after those that it needs. ``connect`` lets them hear of each other's events.
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
        self.kube = kube
        self.store = store
        self.now_s = now_s
        self.hub = Hub()
        self.writer = Writer(store)
        self.board = FeedBoard(uuid.uuid4().hex, max_models_bytes=settings.feed_models_mib * MIB)
        self.metrics = ControllerMetrics(settings.task_metrics)
        self.announcer = Announcer(kube, self.writer, now_s, settings.instance)
        self._make_what_knows_tasks(settings)
        self._make_what_knows_nodes()
        self._make_what_shows()
        self._make_what_learns(settings, spawn)
        self._make_what_resizes(settings)
        self._make_what_follows_ends()
        self._make_what_watches(settings)

    def _make_what_knows_tasks(self, settings: ControllerSettings) -> None:
        policy = Policy(mode=settings.mode)
        self.policies = TaskPolicies(policy, self.hub, settings.namespace, settings.left_alone)
        self.book = TaskBook(self.policies, self.hub)
        self.standings = Standings(self.store, self.writer, self.book, self.metrics.restart_seconds)
        self.items = ItemNeeds(self.board)
        self.peaks = PeakBook(hub=self.hub)
        self.live_needs = LiveNeeds(
            book=self.book,
            peaks=self.peaks,
            experts=self.standings.standing,
            hub=self.hub,
            raised=self.metrics.live_bounds_raised,
            now_s=self.now_s,
            on=settings.live_bounds,
        )
        self.publications = Publications(
            self.book, self.standings.fold, self.board, self.hub, self.live_needs.show
        )
        self.runtimes = Runtimes(self.store, self.writer, self.hub)
        self.leaking = LeakingTasks(self.hub)
        self.chunks = ChunkLessons(self.store, self.writer, self.board)
        self.smaller = SmallerPartitions(
            self.store, self.writer, self.board, self.announcer, self.policies
        )

    def _make_what_knows_nodes(self) -> None:
        self.nodes = ClusterNodes()
        self.bounds = ClusterBounds(self.board, self.policies, self.nodes)
        self.loads = NodeLoads(self.now_s)
        self.encounters = Encounters(self.store, self.writer, self.metrics.placing, self.now_s)
        self.told = ToldNodes(self.board)
        self.placing_news = PlacingNews(
            self.encounters, self.nodes, self.policies, self.told, self.loads
        )

    def _make_what_shows(self) -> None:
        self.troubles = Troubles(self.kube, self.writer, self.board, self.book, self.hub)
        gatherer = ProfileGatherer(
            store=self.store,
            writer=self.writer,
            book=self.book,
            leaking=self.leaking,
            standings=self.standings,
            runtimes=self.runtimes,
            encounters=self.encounters,
            splitting=SplittingKnown(self.store),
            troubles=self.troubles,
            due=DueTrainings(self.hub, self.now_s),
            metrics=self.metrics.runs,
            now_s=self.now_s,
        )
        cpu_uses = CpuUses(self.store, self.writer, self.book)
        self.profiles = TaskProfiles(self.kube, gatherer, cpu_uses, self.announcer, self.now_s)
        self.met_tasks = MetTasks(self.book, self.profiles, self.announcer)
        self.long_runs = LongRuns(self.hub, self.metrics.runs, self.now_s)

    def _make_what_learns(self, settings: ControllerSettings, spawn: Spawns) -> None:
        self.lease_lessons = LeaseLessons(self.store, self.writer, self.board, self.hub)
        shelf = JobShelf(self.store, self.writer)
        keeper = Keeper(shelf, time.monotonic, self.metrics.leases.count)
        self.leased = LeasedJobs(self.kube, keeper, shelf, self.announcer, self.hub)
        self.trainings = Trainings(self.book, self.profiles, self.store, self.writer, self.hub)
        rules = QueueRules(policy_of=self.trainings.policy_of)
        self.queue = TrainingQueue(spawn, self.store, self.trainings.training_ended, rules=rules)
        self.rounds: TrainingRounds | None = None
        if settings.training_job is not None:
            parts = RoundParts(
                jobs=RoundJobs(self.kube, settings.namespace, settings.training_job),
                store=self.store,
                writer=self.writer,
                queue=self.queue,
                on_result=self.trainings.training_ended,
                fitted=self.runtimes.expert_fitted,
                metrics=self.metrics.training_rounds,
                now_s=self.now_s,
            )
            self.rounds = TrainingRounds(parts)
        self.store_sync = StoreSync(
            store=self.store,
            writer=self.writer,
            book=self.book,
            items=self.items,
            profiles=self.profiles,
            met_tasks=self.met_tasks,
            trainings=self.trainings,
            standings=self.standings,
            runtimes=self.runtimes,
            now_s=self.now_s,
        )

    def _make_what_resizes(self, settings: ControllerSettings) -> None:
        heard = AgentsHeard()
        rescuable = RescuablePods(
            book=self.book,
            bounds=self.bounds,
            nodes=self.nodes,
            peaks=self.peaks,
            heard=heard,
        )
        raiser = LimitRaiser(PodWriter(self.kube.api), self.announcer, self.metrics.rescue)
        self.rescues = Rescues(rescuable, raiser, self.standings.standing)
        running = RunningPods(
            book=self.book,
            bounds=self.bounds,
            peaks=self.peaks,
            nodes=self.nodes,
            heard=heard,
        )
        self.lending = Lending(
            running,
            RequestResizer(self.kube, self.announcer, self.metrics.lending),
            Patience(flat_s=settings.lending_flat_s),
        )
        sizing = SizingState(self.publications, self.policies, self.bounds, self.items)
        self.late_binding = LateBinding(
            PodResizer(
                self.kube, sizing, self.announcer, self.metrics.late_binding, now_s=self.now_s
            ),
            settings.late_bindings_per_s,
            self.rescues.may_have_raised,
        )

    def _make_what_follows_ends(self) -> None:
        self.retries = Retries(
            kube=self.kube,
            store=self.store,
            writer=self.writer,
            announcer=self.announcer,
            policies=self.policies,
            now_s=self.now_s,
        )
        lifts = Lifts(
            store=self.store,
            writer=self.writer,
            book=self.book,
            bounds=self.bounds,
            leaking=self.leaking,
            retries=self.retries,
            announcer=self.announcer,
            spares=self.leased.spares,
            made=self.metrics.lifts,
            now_s=self.now_s,
        )
        placement = Placement(self.nodes)
        living = LivingAttempts(
            placement=placement,
            encounters=self.encounters,
            loads=self.loads,
            starts=Starts(
                self.told.here, self.nodes, self.metrics.placing, self.now_s, time.monotonic
            ),
            needs=self.live_needs,
            sightings=RunSightings(self.writer, self.runtimes, self.long_runs),
            standings=self.standings,
            announcer=self.announcer,
            profiles=self.profiles,
            now_s=self.now_s,
        )
        self.ledger = AttemptLedger(
            store=self.store,
            writer=self.writer,
            hub=self.hub,
            book=self.book,
            met_tasks=self.met_tasks,
            living=living,
            peaks=self.peaks,
            placement=placement,
            encounters=self.encounters,
            loads=self.loads,
            nodes=self.nodes,
            lifts=lifts,
        )
        self.late_peaks = LatePeaks(self.writer, self.peaks, self.hub, self.ledger.look_again)

    def _make_what_watches(self, settings: ControllerSettings) -> None:
        ordered = OrderedTasks(
            self.encounters,
            self.runtimes,
            self.policies,
            least_runtimes=settings.order_least_runtimes,
            most_excess=settings.order_most_excess,
        )
        releases = Releases(
            api=self.kube.api,
            ordered=ordered,
            board=self.board,
            announcer=self.announcer,
            metrics=self.metrics.ordering,
            store_is_stuck=lambda: is_stuck(self.writer),
            now_s=self.now_s,
        )
        self.watch = ClusterWatch(
            ledger=self.ledger,
            book=self.book,
            bounds=self.bounds,
            profiles=self.profiles,
            policy_statuses=PolicyStatuses(self.kube, self.policies, self.now_s),
            late_binding=self.late_binding,
            lending=self.lending,
            rescues=self.rescues,
            leased=self.leased,
            sparing=Sparing(PodWriter(self.kube.api), self.book.look),
            releases=releases,
        )
        self.campaigns = Campaigns(
            store=self.store,
            writer=self.writer,
            hub=self.hub,
            book=self.book,
            refusals=Refusals(CampaignJobs(self.kube), self.policies, self.bounds),
            agents=self.lending.heard,
            now_s=self.now_s,
        )
