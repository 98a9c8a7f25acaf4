"""What outlives a restart: observations, models, lifts, retries, peaks and decisions.

SQLite by default, PostgreSQL by its URL. ``Store`` is synchronous; ``Writer`` brings it to an event
loop.
"""

from plimsoll_predictor.store.decisions import DecisionRecord
from plimsoll_predictor.store.errors import (
    BadRecordError,
    StoreDamagedError,
    StoreError,
    StoreForeignError,
    StoreFullError,
    StoreLockedError,
)
from plimsoll_predictor.store.imports import Imported
from plimsoll_predictor.store.lessons import Lesson, LessonKind
from plimsoll_predictor.store.models import SavedModel
from plimsoll_predictor.store.observation_rows import Recorded
from plimsoll_predictor.store.observations import ItemNeed
from plimsoll_predictor.store.past_runtimes import PastRuntime
from plimsoll_predictor.store.queued import Kept
from plimsoll_predictor.store.retries import RetryIntent
from plimsoll_predictor.store.runtimes import KeptForecast, RuntimeChanges, RuntimeRecords
from plimsoll_predictor.store.sightings import NewSighting, Sighting, SightingKind
from plimsoll_predictor.store.standings import SharedState, StandingRecords
from plimsoll_predictor.store.store import Store
from plimsoll_predictor.store.summaries import TaskSummary
from plimsoll_predictor.store.trainings import Training
from plimsoll_predictor.store.writer import Writer

__all__ = [
    "BadRecordError",
    "DecisionRecord",
    "Imported",
    "ItemNeed",
    "Kept",
    "KeptForecast",
    "Lesson",
    "LessonKind",
    "NewSighting",
    "PastRuntime",
    "Recorded",
    "RetryIntent",
    "RuntimeChanges",
    "RuntimeRecords",
    "SavedModel",
    "SharedState",
    "Sighting",
    "SightingKind",
    "StandingRecords",
    "Store",
    "StoreDamagedError",
    "StoreError",
    "StoreForeignError",
    "StoreFullError",
    "StoreLockedError",
    "TaskSummary",
    "Training",
    "Writer",
]
