"""Reads a Job over items: whether it can be cut, and how its author cut it.

Such a Job is complete without Plimsoll: it is Indexed, and two variables of its container give its
program the number of items and the number of pods that share them. A pod does the items from
ITEMS × INDEX ÷ SHARES up to those of the next index. To cut it otherwise, the number of pods is
changed in both places at once. A third variable may be present but empty: then its program can read
there where each pod's items begin, so Plimsoll may list chunks that become smaller toward the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.chunk_starts import STARTS, most_listed, sizes_in
from plimsoll_operator.pods.job_attempts import bears_a_kill, is_kept_elsewhere
from plimsoll_operator.pods.polled import HOOKS
from plimsoll_operator.pods.queue_managers import DEADLINE, KUEUE
from plimsoll_operator.pods.spec import (
    NotSizable,
    annotations_of,
    count_of,
    labels_of,
    mapping,
    metadata_of,
    sequence,
    sized_container,
    spec_of,
    template_of,
    whole_number,
)
from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.cutting import MOST_PODS, CuttableJob

ITEMS: Final = "PLIMSOLL_ITEMS"
SHARES: Final = "PLIMSOLL_SHARES"
_BY_ITS_AUTHOR: Final = (
    f"its {STARTS} says where each pod's items begin; write it empty to have it cut"
)
SHOWN_CHARS: Final = 40
_GENERATED_CHARS: Final = 5
_NO_LIMIT: Final = 10**6
"""The API server writes a ``backoffLimit`` above this if there is a limit for each index."""
_OF_ITS_QUEUE: Final = frozenset({f"{KUEUE}queue-name", f"{KUEUE}priority-class"})


class NotOverItems(ValueError):
    """The Job says that it has items, but cannot be read; the message says what to write."""


@dataclass(frozen=True, slots=True)
class ItemsJob:
    """A Job over items as its author wrote it.

    shares, starts: JSON Pointer paths of the variables with the number of pods, and of the
    variables that may list their first items. kept: why it is not cut otherwise, in words; None if
    it may be.
    """

    cuttable: CuttableJob
    shares: tuple[str, ...]
    kept: str | None
    starts: tuple[str, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Whether its author lists where each pod's items begin."""
        return bool(self.cuttable.sizes)


@dataclass(frozen=True, slots=True)
class _Variable:
    """One variable of a template. container: its kind and place. value: None if it has none."""

    container: tuple[str, int]
    path: str
    name: str
    value: object
    is_taken: bool
    """Whether its value comes from elsewhere."""


def read_items_job(job: Mapping[str, Any]) -> ItemsJob:
    """Read a Job that is annotated with its items.

    Raises:
        NotOverItems: if it lacks something that is needed to cut it.
    """
    text = annotations_of(job).get(labels.ITEMS)
    items = whole_number(text, MOST_ITEMS)
    if items is None:
        shown = str(text)[:SHOWN_CHARS]
        raise NotOverItems(f"{labels.ITEMS} is {shown!r}; write a whole number from 1 on")
    spec = mapping(job.get("spec"))
    pods, workers = count_of(spec.get("completions")), count_of(spec.get("parallelism", 1))
    if spec.get("completionMode") != "Indexed" or not pods:
        raise NotOverItems(f"{labels.ITEMS} needs an Indexed Job with completions")
    if not workers:
        raise NotOverItems(f"{labels.ITEMS} needs a Job with parallelism from 1 on")
    template = template_of(job)
    container = sized_container(template)
    if isinstance(container, NotSizable):
        raise NotOverItems(f"{labels.ITEMS}: {container.why}")
    variables = list(_variables(template))
    shares = _shares(variables, container.index, (str(items), str(pods)))
    cuttable = CuttableJob(
        items=items,
        workers=min(workers, pods),
        pods=pods,
        limit_bytes=container.limit_bytes,
        most_pods=min(_nameable(job), MOST_PODS if _bears_more(spec) else pods),
        may_grow=bears_a_kill(job) and not _has_bounded_disk(template),
    )
    kept = _why_kept(job, spec, pods)
    starts = [each for each in variables if each.name == STARTS]
    if any(each.value or each.is_taken for each in starts):
        cuttable = replace(cuttable, sizes=_listed(starts, items, pods))
        return ItemsJob(cuttable, shares, kept or _BY_ITS_AUTHOR)
    if not _is_read(starts, [each for each in variables if each.path in shares], container.index):
        return ItemsJob(cuttable, shares, kept)
    cuttable = replace(cuttable, most_listed=most_listed(items, len(starts)))
    return ItemsJob(cuttable, shares, kept, tuple(each.path for each in starts))


def _listed(starts: Sequence[_Variable], items: int, pods: int) -> tuple[int, ...]:
    """Return the listed chunks, which must be the same in all variables."""
    texts = {each.value if isinstance(each.value, str) else "" for each in starts}
    sizes = sizes_in(texts.pop(), items, pods)
    if sizes is None or texts:
        raise NotOverItems(
            f'{labels.ITEMS} needs the variable {STARTS} to be empty (value: ""), so that Plimsoll'
            f" may write it, or to list where the items of its pods begin: {pods + 1:,} whole"
            f" numbers, from 0 to {items}, none below the one before, alike in all containers"
        )
    return sizes


def _is_read(starts: Sequence[_Variable], shares: Sequence[_Variable], sized: int) -> bool:
    """Say whether all containers that read the number of pods also read a list."""
    readers = {each.container for each in starts}
    return ("containers", sized) in readers and {each.container for each in shares} <= readers


def _nameable(job: Mapping[str, Any]) -> int:
    """Return how many pods the Job may have: its name and an index together are a host's name."""
    metadata = metadata_of(job)
    name = metadata.get("name")
    generated = len(str(metadata.get("generateName") or "")) + _GENERATED_CHARS
    digits = labels.MAX_LABEL_CHARS - 1 - (len(str(name)) if name else generated)
    return int(10 ** max(0, min(digits, len(str(MOST_PODS)))))


def _bears_more(spec: Mapping[str, Any]) -> bool:
    """Say whether a Job with more pods also allows more failures.

    All pods share ``backoffLimit``, and some may fail as soon as they start: with many times more
    pods, the Job would fail. With a limit for each index there is no shared limit.
    """
    of_all = spec.get("backoffLimit")
    shared = isinstance(of_all, int) and of_all < _NO_LIMIT
    return spec.get("backoffLimitPerIndex") is not None and not shared


def _has_bounded_disk(template: Mapping[str, Any]) -> bool:
    """Say whether a pod that writes too much is evicted: nobody measures how much it writes."""
    spec = mapping(template.get("spec"))
    containers = (*sequence(spec.get("containers")), *sequence(spec.get("initContainers")))
    limits = (mapping(mapping(mapping(each).get("resources")).get("limits")) for each in containers)
    volumes = (mapping(mapping(each).get("emptyDir")) for each in sequence(spec.get("volumes")))
    return any("ephemeral-storage" in each for each in limits) or any(
        "sizeLimit" in each for each in volumes
    )


def _shares(variables: Sequence[_Variable], index: int, wanted: tuple[str, str]) -> tuple[str, ...]:
    """Return the paths of the number of pods. wanted: the values that the variables must have."""
    found = {(*each.container, each.name): each.value for each in variables}
    for name, value in zip((ITEMS, SHARES), wanted, strict=True):
        if found.get(("containers", index, name)) != value:
            raise NotOverItems(
                f"{labels.ITEMS} needs the variable {name} with the value {value!r} in the sized"
                " container, so that the Job does all its items without Plimsoll, too"
            )
    return tuple(each.path for each in variables if each.name == SHARES and each.value == wanted[1])


def _variables(template: Mapping[str, Any]) -> Iterator[_Variable]:
    spec = mapping(template.get("spec"))
    for kind in ("containers", "initContainers"):
        for at, container in enumerate(map(mapping, sequence(spec.get(kind)))):
            for place, each in enumerate(map(mapping, sequence(container.get("env")))):
                yield _Variable(
                    container=(kind, at),
                    path=f"/spec/template/spec/{kind}/{at}/env/{place}/value",
                    name=str(each.get("name")),
                    value=each.get("value"),
                    is_taken=each.get("valueFrom") is not None,
                )


def has_deadline(job: Mapping[str, Any]) -> bool:
    """Say whether the Job, or each of its pods, is ended after some time, also by Kueue."""
    return any(
        spec_of(each).get("activeDeadlineSeconds") is not None or DEADLINE in labels_of(each)
        for each in (job, template_of(job))
    )


def _why_kept(job: Mapping[str, Any], spec: Mapping[str, Any], pods: int) -> str | None:
    """Return why the number of pods stays as it is; None if it may change."""
    if is_kept_elsewhere(job):
        return (
            "it was made by apply, or is kept by another object; a Job's completions cannot be"
            " changed back, so create it (kubectl create) or have a CronJob make it"
        )
    if not HOOKS.isdisjoint(annotations_of(job)):
        return "an installer waits for it"
    if has_deadline(job):
        return f"it, or each of its pods, has a deadline (activeDeadlineSeconds or {DEADLINE})"
    if any(
        str(key).startswith(KUEUE) and key not in _OF_ITS_QUEUE
        for key in (*annotations_of(job), *labels_of(job))
    ):
        return "Kueue counts on how many pods it has, or how long it may take"
    if spec.get("successPolicy") is not None:
        return "its successPolicy counts the pods that were written"
    if spec.get("maxFailedIndexes") is not None:
        return "its maxFailedIndexes counts the pods that were written"
    if pods > MOST_PODS:
        return f"it has more than {MOST_PODS} pods"
    return None
