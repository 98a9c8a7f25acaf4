"""Narrows a statement to the observations of given runs, each of which an index finds.

SQLite uses the index of task and run for ``(task, run) IN (...)`` only in part: for one run it
reads all rows of the task, for more it reads the whole index. Joined to the runs as rows, it looks
each of them up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.store.database.schema import observations as table

Run = tuple[str, str]
"""Task, as text, and run key."""

_GIVEN: Final = "given_runs"


def of_given_runs(observed: sa.Select[Any], dialect: str) -> sa.Select[Any]:
    """The same statement for the runs that ``given`` names when it is executed."""
    if dialect != "sqlite":
        of_them = sa.tuple_(table.c.task, table.c.run).in_(sa.bindparam(_GIVEN, expanding=True))
        return observed.where(of_them)
    listed = sa.func.json_each(sa.bindparam(_GIVEN, type_=sa.Text))
    run = listed.table_valued("value", name="given").c.value
    return observed.where(
        (table.c.task == sa.func.json_extract(run, "$[0]"))
        & (table.c.run == sa.func.json_extract(run, "$[1]"))
    )


def given(runs: Iterable[Run], dialect: str) -> dict[str, Any]:
    """The parameters of a statement of ``of_given_runs``. runs: each only once."""
    named = list(runs)
    return {_GIVEN: orjson.dumps(named).decode() if dialect == "sqlite" else named}
