"""Keeps the records of leased Jobs in the store, where they outlive the pod and its node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from plimsoll_operator.chunks.lease_keeper import NotWritten
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, StoreError, Writer


class JobShelf:
    """Writes and reads the records of leased Jobs. NotWritten: if the store cannot."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._records, self._writer = store.leased_jobs, writer

    async def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        """Replace a Job's record; once this returns, the record outlives a crash."""
        if self._writer.trouble:
            raise NotWritten(self._writer.trouble)
        try:
            await self._writer.call(self._records.put, str(job), document)
        except StoreError as error:
            raise NotWritten(str(error)) from error

    async def read(self, job: JobName, task: TaskId) -> tuple[object | None, object | None]:
        """Return a Job's record, and what its task's last Job taught; each None if missing.

        Raises:
            NotWritten: if the store cannot be read, so that no answer is known.
        """
        try:
            record = await self._writer.read(self._records.get, str(job))
            return record, await self._writer.read(self._records.taught, task)
        except StoreError as error:
            raise NotWritten(str(error)) from error

    async def open(self) -> list[str]:
        """Return the Jobs that have a record."""
        return await self._writer.read(self._records.open)

    async def close(
        self, job: JobName, task: TaskId, taught: Callable[[object | None], Mapping[str, Any]]
    ) -> object | None:
        """Forget a Job's record, and add what it taught to what is kept; return that.

        taught: gets what is kept until then. It is called beside the event loop.
        """
        return await self._writer.call(self._records.close_with, str(job), task, taught)

    async def drop(self, job: JobName, task: TaskId) -> None:
        """Forget the record of a Job that taught nothing."""
        await self._writer.call(self._records.close, str(job), task, None)
