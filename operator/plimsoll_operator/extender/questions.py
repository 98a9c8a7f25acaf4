"""Reads a scheduler's question, and writes the answer: kube-scheduler's HTTP extender, version 1.

k8s.io/kube-scheduler/extender/v1/types.go has the types, without names for JSON: so a scheduler
writes ``Pod``, ``Nodes`` and ``NodeNames``, and reads names in any case. Older documents have
lower-case names, which are read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from plimsoll_operator.names.labels import MAX_NAME_CHARS
from plimsoll_operator.sizing.node_hint import HOST_NAME

MOST_NODES: Final = 5000
"""The most nodes of one question: the largest cluster that Kubernetes supports."""

EQUAL: Final = b"[]"
"""The answer if the nodes' names were not read: a scheduler adds nothing to any node."""


class BadQuestion(ValueError):
    """No question of a scheduler."""


class TooManyNodes(BadQuestion):
    """A question about more than MOST_NODES."""


@dataclass(frozen=True, slots=True)
class Question:
    """One pod, and the nodes that it may go to.

    names: the nodes' names, as the answer has them. hosts: their host names, in the same order.
    """

    pod: Mapping[str, Any]
    names: Sequence[str]
    hosts: Sequence[str]


_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_CHARS)]
_Names = list[_Name]


class _Metadata(msgspec.Struct):
    name: _Name
    labels: dict[str, str] | None = None


class _Node(msgspec.Struct):
    metadata: _Metadata


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


class _Args(msgspec.Struct):
    """``ExtenderArgs``. Of whole nodes, only the fields named here are kept: a small part."""

    pod: dict[str, Any] | None = msgspec.field(name="Pod", default=None)
    nodes: _NodeList | None = msgspec.field(name="Nodes", default=None)
    node_names: _Names | None = msgspec.field(name="NodeNames", default=None)
    lower_pod: dict[str, Any] | None = msgspec.field(name="pod", default=None)
    lower_nodes: _NodeList | None = msgspec.field(name="nodes", default=None)
    lower_node_names: _Names | None = msgspec.field(name="nodenames", default=None)


class _Score(msgspec.Struct):
    host: str = msgspec.field(name="Host")
    score: int = msgspec.field(name="Score")


_decoder: Final = msgspec.json.Decoder(_Args)
_encoder: Final = msgspec.json.Encoder()


def read_question(body: bytes) -> Question:
    """Read ``ExtenderArgs``.

    Raises:
        BadQuestion: for anything else.
        TooManyNodes: for more nodes than are scored.
    """
    try:
        args = _decoder.decode(body)
    except (ValueError, RecursionError) as error:
        raise BadQuestion("the body is not a scheduler's ExtenderArgs") from error
    pod = args.pod or args.lower_pod
    if pod is None:
        raise BadQuestion("the question names no pod")
    names, hosts = _nodes(args)
    if len(names) > MOST_NODES:
        raise TooManyNodes(f"{len(names)} nodes are more than {MOST_NODES}")
    return Question(pod, names, hosts)


def _nodes(args: _Args) -> tuple[Sequence[str], Sequence[str]]:
    """Return the nodes' names and host names; if only names are given, they serve as both."""
    names = args.lower_node_names if args.node_names is None else args.node_names
    if names is not None:
        return names, names
    whole = args.nodes or args.lower_nodes
    nodes = [each.metadata for each in (whole.items or ())] if whole is not None else []
    hosts = [(each.labels or {}).get(HOST_NAME) or each.name for each in nodes]
    return [each.name for each in nodes], hosts


def answer(names: Iterable[str], scores: Iterable[int]) -> bytes:
    """Write a ``HostPriorityList``, without nodes whose score is 0.

    A scheduler adds nothing to a node that is not in it, and a short answer is read sooner.
    """
    scored = zip(names, scores, strict=True)
    return _encoder.encode([_Score(name, score) for name, score in scored if score])
