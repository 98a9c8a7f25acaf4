"""Teaches the book what CPU a task's runs used, by which its pods' CPU is sized."""

from __future__ import annotations

from dataclasses import dataclass, replace

from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_predictor.core.cpu import use_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, Writer


@dataclass(frozen=True, slots=True)
class CpuUses:
    """Reads what runs used from the store. A start restores it without this."""

    store: Store
    writer: Writer
    book: TaskBook

    async def learn(self, task: TaskId) -> None:
        """Read the task's runs, if the book has the task. Raises StoreError if that fails."""
        if task in self.book:
            runs = await self.writer.read(self.store.observations.run_cpus, [task])
            self.book.learn(replace(self.book.get(task), cpu=use_of(runs[task])))
