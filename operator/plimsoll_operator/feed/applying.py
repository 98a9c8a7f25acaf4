"""Applies feed messages to admission's state, entry by entry: a bad entry harms only itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from plimsoll_operator.feed.item_keys import ItemKey
from plimsoll_operator.feed.wire import ChangeKind, FeedMessage
from plimsoll_operator.names.labels import MAX_LABEL_CHARS
from plimsoll_operator.pods.autoscalers import (
    MOST_IN_NAMESPACE,
    Autoscaler,
    Autoscalers,
    by_target,
)
from plimsoll_operator.pods.spec import mapping, sequence
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds, read_namespace
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, Nodes
from plimsoll_operator.sizing.bounds.quotas import CPU
from plimsoll_operator.sizing.state import UNBOUNDED_NAMESPACE, AdmissionState, NamespaceState
from plimsoll_predictor.core.documents import Count, from_document
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.placing.costs import MOST_PLACES, Costs
from plimsoll_predictor.placing.loads import NodeLoad
from plimsoll_predictor.splitting.chunk_runs import Learned

_Data: TypeAlias = Mapping[str, Any] | None

OF_THE_MOMENT: Final = (ChangeKind.PAIRS, ChangeKind.HOST, ChangeKind.LOAD)
"""These change each second, and say nothing about any task."""
_MAKE_ROOM: Final = (ChangeKind.HOST, ChangeKind.LOAD)
UNREAD_DEFAULTS: Final = "the controller's defaults cannot be read here: upgrade admission"
"""Why sizes are not lowered: the cluster's policy may forbid it by now."""
_WORDS_CHARS: Final = 200
"""The most characters: the words become part of each pod's annotation."""


class BadEntry(ValueError):
    """One entry of a message that makes no sense; the state before it stays."""


class _Defaults(msgspec.Struct):
    policy: dict[str, Any]
    # An older controller or snapshot has none of these: then there are no classes, and no pause.
    nodes: dict[str, Any] | None = None
    paused: bool = False
    unhealed: str | None = None


class _Order(msgspec.Struct):
    tasks: Annotated[list[str], msgspec.Meta(max_length=MOST_PLACES)]
    jobs: bool = False  # an older controller would not resume any Job


class _Smaller(msgspec.Struct):
    steps: Count


class _Crowded(msgspec.Struct):
    namespaces: list[str]


class _Host(msgspec.Struct):
    residents: list[tuple[Count, Count]]


def steps(message: FeedMessage) -> Iterator[tuple[ChangeKind, str, Mapping[str, Any] | None]]:
    """The message's changes one by one: kind, name, and data or None for a removal."""
    if message.defaults is not None:
        yield ChangeKind.DEFAULTS, "", message.defaults
    # Removed before new ones come: there is room for so many and no more.
    yield from _removals(message, _MAKE_ROOM)
    for kind in _IN_TURN:
        for name, data in message.given(kind).items():
            yield kind, name, data
    yield from _removals(message, (kind for kind in reversed(_IN_TURN) if kind not in _MAKE_ROOM))


def _removals(
    message: FeedMessage, kinds: Iterable[ChangeKind]
) -> Iterator[tuple[ChangeKind, str, None]]:
    for kind in kinds:
        for name in message.removed.names(kind):
            yield kind, name, None


def apply(
    state: AdmissionState, kind: ChangeKind, name: str, data: Mapping[str, Any] | None
) -> None:
    """Apply one change.

    Raises:
        BadEntry: if it makes no sense; the state is as before.
    """
    try:
        _APPLY[kind](state, name, data)
    # Whatever error a foreign entry causes, the other entries must be applied.
    except _FOREIGN as error:
        _forget(state, kind, name, data)
        raise BadEntry(
            f"{kind} {name[:253]!r} in the feed makes no sense: {error!r:.300}"
        ) from error


def _forget(state: AdmissionState, kind: ChangeKind, name: str, data: object) -> None:
    """Forget an entry whose news cannot be read: what was known is out of date.

    Old knowledge of a task may lower runs that were killed, and so may none: a first size.
    """
    if kind is ChangeKind.DEFAULTS:
        _leave_defaults(state, data)
    elif kind is ChangeKind.NAMESPACE:
        _leave_namespace(state, name, mapping(data))
    elif kind is ChangeKind.TASK:
        with contextlib.suppress(ValueError):
            task = TaskId.parse(name)
            state.tasks.pop(task, None)
            state.unread.add(task)
    elif kind in (ChangeKind.CHUNKS, ChangeKind.LEASED, ChangeKind.SMALLER):
        with contextlib.suppress(ValueError):
            _APPLY[kind](state, name, None)
    elif kind in OF_THE_MOMENT or kind is ChangeKind.ORDER:
        _APPLY[kind](state, name, None)


def _leave_namespace(state: AdmissionState, name: str, data: Mapping[str, Any]) -> None:
    """Take what can be read of a namespace, and lower nothing there: it may be off by now."""
    read = replace(
        state.namespaces.get(name, UNBOUNDED_NAMESPACE), policy=_UNREAD_POLICY, document=data
    )
    with contextlib.suppress(*_FOREIGN):
        policy = Policy.from_dict(data["policy"])
        read = replace(read, policy=policy if policy.mode is Mode.OFF else _UNREAD_POLICY)
    with contextlib.suppress(*_FOREIGN):
        bounds, cpu = _bounds(data)
        read = replace(read, bounds=bounds, cpu=cpu)
    with contextlib.suppress(*_FOREIGN):
        read = replace(read, autoscalers=_autoscalers(data))
    state.namespaces[name] = read


_FOREIGN: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a foreign entry may cause while it is read."""
_UNREAD_POLICY: Final = Policy(mode=Mode.RECOMMEND)
"""Of a namespace whose own cannot be read: it may be off by now."""


def _leave_defaults(state: AdmissionState, data: object) -> None:
    """Keep the cluster's policy as it was known, and lower nothing by it.

    Whether the cluster is paused can be read without the policy beside it.
    """
    paused = mapping(data).get("paused")
    state.paused = paused if isinstance(paused, bool) else state.paused
    state.unhealed = UNREAD_DEFAULTS


def _apply_defaults(state: AdmissionState, _name: str, data: _Data) -> None:
    data = data or {}
    defaults = from_document(_Defaults, data, "the defaults")
    nodes = NO_NODES if defaults.nodes is None else Nodes.from_document(defaults.nodes)
    state.default_policy, state.paused = Policy.from_dict(defaults.policy), defaults.paused
    state.nodes = nodes
    state.unhealed = defaults.unhealed[:_WORDS_CHARS] if defaults.unhealed else None


def _apply_namespace(state: AdmissionState, name: str, data: _Data) -> None:
    if data is None:
        state.namespaces.pop(name, None)
        return
    policy = data["policy"]
    bounds, cpu = _bounds(data)
    state.namespaces[name] = NamespaceState(
        policy=None if policy is None else Policy.from_dict(policy),
        bounds=bounds,
        document=data,
        cpu=cpu,
        autoscalers=_autoscalers(data),
    )


def _bounds(data: Mapping[str, Any]) -> tuple[NamespaceBounds, NamespaceBounds]:
    """Return those of memory, and those of CPU."""
    limit_ranges, quotas = sequence(data["limit_ranges"]), sequence(data["quotas"])
    return read_namespace(limit_ranges, quotas), read_namespace(limit_ranges, quotas, CPU)


def _autoscalers(data: Mapping[str, Any]) -> Autoscalers:
    # An older controller sends none.
    told = sequence(data.get("autoscalers"))[:MOST_IN_NAMESPACE]
    return by_target(map(Autoscaler.from_document, told))


def _apply_model(state: AdmissionState, name: str, data: _Data) -> None:
    task = TaskId.parse(name)
    model = None if data is None else Model.from_dict(data)
    _keep_model(state, task, model)
    if (knowledge := state.tasks.get(task)) is not None:
        state.tasks[task] = replace(knowledge, model=model)


def _apply_item(state: AdmissionState, name: str, data: _Data) -> None:
    ItemKey.parse(name).put(state.siblings, data or {})


def _apply_pairs(state: AdmissionState, _name: str, data: _Data) -> None:
    state.placing.costs = None if data is None else Costs.from_document(data)


def _apply_host(state: AdmissionState, name: str, data: _Data) -> None:
    if data is None:
        state.placing.remove(name)
    elif len(name) > MAX_LABEL_CHARS:
        raise ValueError("no host has so long a name")
    else:
        state.placing.put(name, from_document(_Host, data, "a host").residents)


def _apply_load(state: AdmissionState, name: str, data: _Data) -> None:
    if data is None:
        state.placing.forget_load(name)
    elif len(name) > MAX_LABEL_CHARS:
        raise ValueError("no host has so long a name")
    else:
        state.placing.put_load(name, NodeLoad.from_document(data))


def _apply_order(state: AdmissionState, _name: str, data: _Data) -> None:
    order = _Order([]) if data is None else from_document(_Order, data, "the order")
    state.ordered, state.orders_jobs = frozenset(order.tasks), order.jobs


def _apply_chunks(state: AdmissionState, name: str, data: _Data) -> None:
    _apply_learned(state.chunks, name, data)


def _apply_leased(state: AdmissionState, name: str, data: _Data) -> None:
    _apply_learned(state.leased, name, data)


def _apply_learned(known: dict[TaskId, Learned], name: str, data: _Data) -> None:
    task = TaskId.parse(name)
    if data is None:
        known.pop(task, None)
    else:
        known[task] = Learned.from_document(data)


def _apply_smaller(state: AdmissionState, name: str, data: _Data) -> None:
    task = TaskId.parse(name)
    if data is None:
        state.smaller.pop(task, None)
    else:
        state.smaller[task] = from_document(_Smaller, data, "the steps of partitions").steps


def _apply_crowded(state: AdmissionState, _name: str, data: _Data) -> None:
    crowded = _Crowded([]) if data is None else from_document(_Crowded, data, "the crowded")
    state.crowded = frozenset(crowded.namespaces)


def _apply_task(state: AdmissionState, name: str, data: _Data) -> None:
    task = TaskId.parse(name)
    if data is None:
        state.unread.discard(task)
        state.tasks.pop(task, None)
        state.models.pop(task, None)
        return
    knowledge = Knowledge.from_dict({"model": None, **data})
    if knowledge.task != task:
        raise ValueError(f"it holds {knowledge.task}")
    if "model" in data:  # from a snapshot, or an older controller
        _keep_model(state, task, knowledge.model)
    state.tasks[task] = replace(knowledge, model=state.models.get(task))
    state.unread.discard(task)


def _keep_model(state: AdmissionState, task: TaskId, model: Model | None) -> None:
    if model is None:
        state.models.pop(task, None)
    else:
        state.models[task] = model


_APPLY: Final[Mapping[ChangeKind, Callable[[AdmissionState, str, _Data], None]]] = {
    ChangeKind.DEFAULTS: _apply_defaults,
    ChangeKind.NAMESPACE: _apply_namespace,
    ChangeKind.MODEL: _apply_model,
    ChangeKind.TASK: _apply_task,
    ChangeKind.ITEM: _apply_item,
    ChangeKind.PAIRS: _apply_pairs,
    ChangeKind.HOST: _apply_host,
    ChangeKind.LOAD: _apply_load,
    ChangeKind.ORDER: _apply_order,
    ChangeKind.CHUNKS: _apply_chunks,
    ChangeKind.LEASED: _apply_leased,
    ChangeKind.SMALLER: _apply_smaller,
    ChangeKind.CROWDED: _apply_crowded,
}
_IN_TURN: Final = tuple(kind for kind in _APPLY if kind is not ChangeKind.DEFAULTS)
"""The order of a message's news. Models come before tasks, and go after them, so that no task lacks
the model that it uses."""
