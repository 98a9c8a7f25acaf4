"""Defines a row of the engines' table, and makes names of tasks.

A task's name is its engine's name and the names that people wrote, joined by dots. A dot within a
name is doubled, so two tasks never have the same name, within an engine or between two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names.objects import Pod

Labels = Mapping[str, Any]
_LONGEST_COUNT: Final = 6


class Executions(StrEnum):
    """How many executions of a task may have the key that their engine's names make."""

    ONE = "one"
    IN_TURN = "in-turn"
    """Several, as a rule one after the other: nothing on a pod tells a later one apart."""
    AT_ONCE = "at-once"
    """Several, also at the same time: nothing on a pod tells one from its siblings."""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One run as its engine names it.

    task: the recurring name; None if the engine has only generated ones.
    run: the run's own name within the engine, the same for every retry; None if the pod shows none.
    outlives_pod: whether a later pod of the run surely has the same name for it.
    workflow, item: the workflow's run and the item, uncut, if the engine names them; a mere
    counter is no item. attempts: how many in all the engine makes of the run; None if the pod does
    not say it. attempt: which of them the pod is; 1 if the pod does not say it.
    shares_work: whether the work of a lost pod goes to other pods of its run, which run already at
    the sizes that they have.
    executions: how many may have the name in ``run``.
    """

    engine: str
    task: str | None
    run: str | None
    workflow: str | None = None
    item: str | None = None
    attempts: int | None = None
    attempt: int = 1
    outlives_pod: bool = True
    shares_work: bool = False
    executions: Executions = Executions.ONE


@dataclass(frozen=True, slots=True)
class Engine:
    """A workflow engine, as live pods and pods in a Prometheus' past show it.

    name: the beginning of its tasks' names, and a value of a metric.
    read: the run; None if the pod is not this engine's.
    marks: labels that only its pods have. labels, annotations: all others that ``read`` reads.
    note_marks: annotations that only its pods have, for an engine that may write no labels.
    naming_notes: annotations without which its task has another name; live pods always have them.
    shared_marks: labels so plain that others' pods may have them: ``read`` looks for more.
    main_containers: its names for the container that does the work, if a pod has several.
    limits_start: whether it fails a pod that is Pending for some minutes, by its defaults.
    missing: what its pods may lack for a recurring name, and what to write; for people.
    """

    name: str
    read: Callable[[Pod, Labels], EngineRun | None]
    marks: tuple[str, ...]
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    note_marks: tuple[str, ...] = ()
    naming_notes: tuple[str, ...] = ()
    shared_marks: tuple[str, ...] = ()
    main_containers: tuple[str, ...] = ()
    limits_start: bool = False
    missing: str = ""


def text(source: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first text that is not empty; None if there is none."""
    for key in keys:
        value = source.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def count(written: object) -> int | None:
    """Read a count that an engine wrote; None if it is not a count."""
    if isinstance(written, int) and not isinstance(written, bool):
        return written if 0 <= written < 10**_LONGEST_COUNT else None
    if not isinstance(written, str) or not written.isdecimal() or len(written) > _LONGEST_COUNT:
        return None
    return int(written)


def joined(engine: str, *parts: str | None) -> str | None:
    """Return a task's name; None if a part is missing, or could be read as two.

    >>> joined("tekton", "build", "test"), joined("tekton", "build.v2", "test")
    ('tekton.build.test', 'tekton.build..v2.test')
    """
    written = [part for part in parts if part and part[0] != "." and part[-1] != "."]
    if len(written) < len(parts):
        return None
    return ".".join([engine, *(part.replace(".", "..") for part in written)])
