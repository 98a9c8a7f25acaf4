"""The data that outlives a restart, in SQLite by default, in PostgreSQL by its URL.

``Store`` is synchronous; ``Writer`` brings it to an event loop.

In and out: records of ``core``. May import: ``experts``, ``runtimes``, ``campaigns``,
``placing``, ``model``, ``core``.
"""

from plimsoll_predictor.store.attempts.decisions import DecisionRecord
from plimsoll_predictor.store.attempts.lessons import Lesson, LessonKind
from plimsoll_predictor.store.attempts.observation_rows import Recorded
from plimsoll_predictor.store.attempts.observations import ItemNeed
from plimsoll_predictor.store.attempts.retries import RetryIntent
from plimsoll_predictor.store.attempts.sightings import NewSighting, Sighting, SightingKind
from plimsoll_predictor.store.attempts.summaries import TaskSummary
from plimsoll_predictor.store.database.errors import BadRecordError, StoreError
from plimsoll_predictor.store.learned.campaigns import CampaignRecord, CampaignTally
from plimsoll_predictor.store.learned.due_trainings import (
    AlreadyEndedError,
    Backlog,
    Claim,
    DueTraining,
    EndedTraining,
    Work,
    WorkKind,
)
from plimsoll_predictor.store.learned.feature_experts import LastTry
from plimsoll_predictor.store.learned.runtimes import ForecastScore, OpenForecast, UnsavedRuntimes
from plimsoll_predictor.store.learned.trainings import Begun, SavedModel, Training
from plimsoll_predictor.store.store import Store
from plimsoll_predictor.store.writer import Novelty, Writer

__all__ = [
    "AlreadyEndedError",
    "Backlog",
    "BadRecordError",
    "Begun",
    "CampaignRecord",
    "CampaignTally",
    "Claim",
    "DecisionRecord",
    "DueTraining",
    "EndedTraining",
    "ForecastScore",
    "ItemNeed",
    "LastTry",
    "Lesson",
    "LessonKind",
    "NewSighting",
    "Novelty",
    "OpenForecast",
    "Recorded",
    "RetryIntent",
    "SavedModel",
    "Sighting",
    "SightingKind",
    "Store",
    "StoreError",
    "TaskSummary",
    "Training",
    "UnsavedRuntimes",
    "Work",
    "WorkKind",
    "Writer",
]
