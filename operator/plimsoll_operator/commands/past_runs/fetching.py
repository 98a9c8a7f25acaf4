"""A task's observations from the controller's store, for what is worked out here."""

from __future__ import annotations

import tempfile
from pathlib import Path

from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller
from plimsoll_operator.commands.reaching.places import Place
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.tables.history import read_history


class NotFetched(LookupError):
    """They could not be had; what is wrong was said already."""


def fetched_history(task: TaskId, place: Place) -> list[Observation]:
    """What `plimsoll export` would write of a task there, oldest first.

    Raises:
        NotFetched: if there is nothing to be had.
    """
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        file = Path(folder) / "history.csv"
        words = ["export", str(task), "--out", "-"]
        if run_in_controller(Errand(words=words, place=place, out=file)):
            raise NotFetched(f"{task}: its history could not be fetched from the controller")
        return [row for row in read_history(file) if isinstance(row, Observation)]
