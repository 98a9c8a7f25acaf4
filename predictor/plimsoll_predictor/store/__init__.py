"""What outlives a restart: SQLite by default, PostgreSQL by its URL.

``Store`` is synchronous; ``Writer`` brings it to an event loop.

In and out: records of ``core``. May import: ``experts``, ``runtimes``, ``model``, ``core``.
"""

from plimsoll_predictor.store.attempts.decisions import DecisionRecord
from plimsoll_predictor.store.attempts.imports import Imported
from plimsoll_predictor.store.attempts.lessons import Lesson, LessonKind
from plimsoll_predictor.store.attempts.observation_rows import Recorded
from plimsoll_predictor.store.attempts.observations import ItemNeed
from plimsoll_predictor.store.attempts.queued import Novelty
from plimsoll_predictor.store.attempts.retries import RetryIntent
from plimsoll_predictor.store.attempts.sightings import NewSighting, Sighting, SightingKind
from plimsoll_predictor.store.attempts.summaries import TaskSummary
from plimsoll_predictor.store.database.errors import (
    BadRecordError,
    StoreDamagedError,
    StoreError,
    StoreForeignError,
    StoreFullError,
    StoreLockedError,
)
from plimsoll_predictor.store.learned.models import SavedModel
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime
from plimsoll_predictor.store.learned.runtimes import OpenForecast, RuntimeRecords, UnsavedRuntimes
from plimsoll_predictor.store.learned.standings import SharedState, StandingRecords
from plimsoll_predictor.store.learned.trainings import Training
from plimsoll_predictor.store.store import Store
from plimsoll_predictor.store.writer import Writer

__all__ = [
    "BadRecordError",
    "DecisionRecord",
    "Imported",
    "ItemNeed",
    "Lesson",
    "LessonKind",
    "NewSighting",
    "Novelty",
    "OpenForecast",
    "PastRuntime",
    "Recorded",
    "RetryIntent",
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
    "UnsavedRuntimes",
    "Writer",
]
