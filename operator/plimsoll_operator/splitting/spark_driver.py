"""Gives a new driver of Spark the properties that its user did not set.

The channel is a variable of its container that ``spark-submit`` and Python's launcher both put in
front of the driver's JVM. All that the user set wins over it: in code, by ``--conf``, in a
properties file (as in cluster mode), or in ``spark-defaults.conf``. tests/spark shows it. If a
policy replaces configuration, the property is given a second time, where only code wins over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation, add, annotation_path
from plimsoll_operator.pods.attempts import attempts_of
from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    labels_of,
    mapping,
    sequence,
    spec_of,
)
from plimsoll_operator.sizing.node_hint import has_room_for_note
from plimsoll_operator.sizing.sized import Sized
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.spark_replaced import PYTHON_OPTIONS, replaced
from plimsoll_predictor.core.policy import Mode, Replaceable, SparkPolicy
from plimsoll_predictor.deciding.safeguards import why_not_lowered
from plimsoll_predictor.splitting.spark.given import Given, given_for
from plimsoll_predictor.splitting.spark.settings import GIVEN, PARTITIONS
from plimsoll_predictor.splitting.spark.steps import FEATURE, executors_of

ROLE: Final = "spark-role"
DRIVER: Final = "driver"
OPTIONS: Final = "SPARK_SUBMIT_OPTS"
STEP: Final = f"{labels.FEATURE_PREFIX}{FEATURE}"
_OF_EXECUTORS: Final = f"spark.kubernetes.executor.annotation.{STEP}"
_MOST_OPTIONS_CHARS: Final = 16_384
"""A longer variable is left as it is: all variables of a process share one space."""
_KEPT: Final = (
    "a number in configuration stays, as there is no sure place for an option: the container starts"
    f" neither as Spark's images do, nor by spark-submit, nor by Python with {PYTHON_OPTIONS}"
)


class DriverOutcome(StrEnum):
    """The result for one driver whose policy allows properties, for counting."""

    GIVEN = "given"
    REPLACED = "replaced"
    """Given, and it replaces what configuration says."""
    RECOMMENDED = "recommended"
    """The policy only recommends; the pod is as it was."""
    NOTHING = "nothing"
    """No property is known that would pay."""
    ONE_ATTEMPT = "one-attempt"
    """Fewer partitions would pay, but a second attempt is not sure."""
    OWN = "own"
    """The variable comes, or may come, from elsewhere: its value cannot be read here."""
    NO_ROOM = "no-room"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class GivenDriver:
    """The answer for one driver. patch: JSON Patch operations that follow those of its size."""

    outcome: DriverOutcome
    patch: Sequence[Operation] = ()


def give_driver(
    pod: Pod, sized: Sized, state: AdmissionState, unhealed: str | None
) -> GivenDriver | None:
    """Decide on a new pod; None if it is no driver, or its policy leaves it alone.

    sized: the answer about the pod's size. unhealed: why a kill may not be noticed at present.
    """
    identity, note = sized.identity, sized.note
    if identity is None or note is None or labels_of(pod).get(ROLE) != DRIVER:
        return None
    policy = state.knowledge_of(identity.task).policy
    # A pod that has the annotation is asked for again, or is a copy with the same properties.
    if policy.spark.mode is Mode.OFF or labels.SPARK in annotations_of(pod):
        return None
    steps = state.smaller.get(executors_of(identity.task), 0)
    given = given_for(policy.spark.partitions, steps)
    if given is None:
        return GivenDriver(DriverOutcome.NOTHING)
    if given.step == 0:
        attempts = attempts_of(pod, identity, policy, note.attempt)
        if why_not_lowered(attempts, unhealed) is not None:
            return GivenDriver(DriverOutcome.ONE_ATTEMPT)
    return _given(pod, note.container, given, policy.spark)


def _given(pod: Pod, name: str | None, given: Given, policy: SparkPolicy) -> GivenDriver:
    if not has_room_for_note(pod):
        return GivenDriver(DriverOutcome.NO_ROOM)
    container, path = _container(pod, name)
    options = _in_container(container, f"{path}/env", _options(given))
    replacing = _replacing(container, path, given, policy)
    note = _note(given, replacing, done=policy.mode is Mode.ENFORCE)
    if policy.mode is not Mode.ENFORCE:
        return GivenDriver(DriverOutcome.RECOMMENDED, note)
    if options is None:
        return GivenDriver(DriverOutcome.OWN)
    outcome = DriverOutcome.REPLACED if replacing else DriverOutcome.GIVEN
    step = add(annotation_path(STEP), str(given.step))
    return GivenDriver(outcome, [*options, *(replacing or ()), *note, step])


def _replacing(
    container: Mapping[str, Any], path: str, given: Given, policy: SparkPolicy
) -> Sequence[Operation] | None:
    """Return what lets the number win over configuration; None if it cannot, () if it may not.

    With smaller partitions it never may: a number in configuration may make them smaller still.
    """
    if given.step or Replaceable.PARTITIONS not in policy.replaces:
        return ()
    return replaced(container, path, f"{PARTITIONS}={given.properties[PARTITIONS]}")


def _options(given: Given) -> str:
    """Return options of a JVM: only our own names and values, without a space or a quote."""
    properties = {
        **given.properties,
        GIVEN: given.properties[PARTITIONS],
        _OF_EXECUTORS: str(given.step),
    }
    return " ".join(f"-D{name}={value}" for name, value in properties.items())


def _container(pod: Pod, name: str | None) -> tuple[Mapping[str, Any], str]:
    """Return the container of that name, and its path; an empty one if there is none."""
    for at, container in enumerate(map(mapping, sequence(spec_of(pod).get("containers")))):
        if container.get("name") == name:
            return container, f"/spec/containers/{at}"
    return {}, ""


def _in_container(container: Mapping[str, Any], path: str, options: str) -> list[Operation] | None:
    """Return what puts options before the container's own ones; None if that is not safe."""
    if not container or container.get("envFrom"):
        return None  # it may have the variable, and a value written here would hide it
    variables = [mapping(each) for each in sequence(container.get("env"))]
    places = [at for at, each in enumerate(variables) if each.get("name") == OPTIONS]
    if not places:
        new = {"name": OPTIONS, "value": options}
        return [add(f"{path}/-", new) if variables else add(path, [new])]
    own = variables[places[-1]]
    value = own.get("value", "" if "valueFrom" not in own else None)
    if not isinstance(value, str) or len(value) > _MOST_OPTIONS_CHARS:
        return None
    # The last option of a name counts, so the user's own still wins.
    return [add(f"{path}/{places[-1]}/value", f"{options} {value}".rstrip())]


def _note(given: Given, replacing: Sequence[Operation] | None, *, done: bool) -> list[Operation]:
    if given.step:
        why = f"executors were killed for memory; partitions are made smaller, step {given.step}"
    else:
        why = "an earlier run's log showed more partitions than it had work for"
    note = {"step": given.step, "properties": dict(given.properties), "done": done, "why": why}
    if replacing:
        note["replaces"] = [PARTITIONS]
    elif replacing is None:
        note["warning"] = _KEPT
    return [add(annotation_path(labels.SPARK), orjson.dumps(note).decode())]
