"""Reads a pod's features from annotations, and from the sources in its task's policy.

Strangers write them: names, lengths and counts are bounded. A feature outside the bounds is left
out and counted; it is never an error.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final

import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.pods.chunk_starts import STARTS, own_items
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    container_of,
    labels_of,
    mapping,
    sequence,
    sized_container,
)
from plimsoll_predictor.core.record import FeatureValue

MAX_FEATURES: Final = 64
MAX_VALUE_CHARS: Final = 256
MAX_TOTAL_BYTES: Final = 1024
"""The most bytes of names and values together, as JSON: each pod's are stored for months."""
MAX_WORDS: Final = 1024
"""The most words of a program, and the most of its variables, among which sources are found."""

_LARGEST_NUMBER_BYTES: Final = 28
"""A number as JSON, with the punctuation around it."""
_MOST_BYTES_A_CHAR: Final = 6
"""The length of a control character in JSON."""

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)

Sources = Mapping[str, Mapping[str, str]]
Reader = Callable[[str], object]
"""Returns the value of a name; None if there is none."""


@dataclass(frozen=True, slots=True)
class PodFeatures:
    """A pod's features.

    values: without features that are missing, not finite or empty.
    ignored: how many were left out because a name, length or count was out of bounds.
    """

    values: dict[str, FeatureValue]
    ignored: int


def read_features(pod: Pod, sources: Sources | None = None) -> PodFeatures:
    """Read the pod's features; a declared source wins over the annotation of the same name.

    For a pod whose chunk is listed, the number of its items comes from the list: the annotation is
    the template's and gives the number for the largest chunk.

    sources: feature name -> {a kind in SOURCES: the name to read}.
    """
    texts = _annotated(pod)
    if labels.CHUNK_ITEMS in texts:
        texts |= _own_chunk(pod)
    if sources:
        texts |= _declared(pod, sources)
    # The order must not decide which ones are left out; nearly always there are none.
    names = texts if len(texts) <= MAX_FEATURES else heapq.nsmallest(MAX_FEATURES, texts)
    fitting = {name: texts[name] for name in names if _fits(name, texts[name])}
    values = {
        name: value for name, text in fitting.items() if (value := feature_value(text)) is not None
    }
    kept = within_bounds(values)
    return PodFeatures(kept, len(texts) - len(fitting) + len(values) - len(kept))


def within_bounds(
    values: dict[str, FeatureValue], first: Mapping[str, FeatureValue] | None = None
) -> dict[str, FeatureValue]:
    """Return the features that fit into MAX_TOTAL_BYTES together, the first by name.

    first: features that come before all others, and replace those of the same name.
    """
    if not first:
        if len(values) * _LARGEST_NUMBER_BYTES + sum(map(_most_bytes, values.items())) <= (
            MAX_TOTAL_BYTES
        ):
            return values  # nearly always so; then nothing needs to be written
        return _shortened(sorted(values.items()))
    others = sorted(pair for pair in values.items() if pair[0] not in first)
    return _shortened([*first.items(), *others])


def _fits(name: str, text: str) -> bool:
    if len(text) > MAX_VALUE_CHARS or len(name) > labels.MAX_LABEL_CHARS or not _is_name(name):
        return False
    return text.isascii() or _is_unicode(text)


def _is_unicode(text: str) -> bool:
    """Say whether the text can be encoded: half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _most_bytes(feature: tuple[str, FeatureValue]) -> int:
    name, value = feature
    return len(name) + (_MOST_BYTES_A_CHAR * len(value) if isinstance(value, str) else 0)


def _shortened(features: list[tuple[str, FeatureValue]]) -> dict[str, FeatureValue]:
    total_bytes, kept = 2, dict[str, FeatureValue]()
    for name, value in features:
        total_bytes += len(orjson.dumps(name)) + len(orjson.dumps(value)) + 2
        if total_bytes > MAX_TOTAL_BYTES:
            break
        kept[name] = value
    return kept


def feature_value(text: str) -> FeatureValue | None:
    """Return a finite number, else the text; None for an empty text and for other numbers.

    >>> feature_value("18234"), feature_value("north"), feature_value("NaN")
    (18234.0, 'north', None)
    """
    text = text.strip()
    # Python also reads "1_000" and other scripts' digits as numbers; people mean them as texts.
    if text.isascii() and "_" not in text:
        try:
            number = float(text)
        except ValueError:
            return text or None
        return number if math.isfinite(number) else None
    return text or None


def _annotated(pod: Pod) -> dict[str, str]:
    prefix, start = labels.FEATURE_PREFIX, len(labels.FEATURE_PREFIX)
    return {
        key[start:]: str(value)
        for key, value in annotations_of(pod).items()
        if key.startswith(prefix)
    }


def _own_chunk(pod: Pod) -> dict[str, str]:
    """Return the items of the pod by its list; nothing if it has no list."""
    items = own_items(pod, _variables(pod)(STARTS))
    return {} if items is None else {labels.CHUNK_ITEMS: str(items)}


@lru_cache(maxsize=4096)  # the names are the same in every pod of a task
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _declared(pod: Pod, sources: Sources) -> dict[str, str]:
    """Return what the sources say. A pod is read once for all sources of a kind."""
    readers, texts = dict[str, Reader](), dict[str, str]()
    for name, source in sources.items():
        for kind, key in source.items():
            if kind not in SOURCES:
                continue
            if kind not in readers:
                readers[kind] = SOURCES[kind](pod)
            text = readers[kind](key)
            if isinstance(text, str):
                texts[name] = text
    return texts


def _container(pod: Pod) -> Mapping[str, Any]:
    sized = sized_container(pod)
    return container_of(pod, sized.index) if isinstance(sized, SizedContainer) else {}


def _variables(pod: Pod) -> Reader:
    # Only values in the pod itself are read: a Secret's value is no feature.
    values = dict[str, object]()
    for variable in map(mapping, sequence(_container(pod).get("env"))[:MAX_WORDS]):
        if isinstance(name := variable.get("name"), str):
            values.setdefault(name, variable.get("value"))
    return values.get


def _arguments(pod: Pod) -> Reader:
    container = _container(pod)
    words = chain(sequence(container.get("command")), sequence(container.get("args")))
    texts = [word for word in islice(words, MAX_WORDS) if isinstance(word, str)]
    return lambda key: _argument(texts, key)


def _argument(texts: Sequence[str], key: str) -> str | None:
    beginning = f"{key}="
    for place, word in enumerate(texts):
        if word.startswith(beginning):
            return word[len(beginning) :]
        if word == key and place + 1 < len(texts):
            return texts[place + 1]
    return None


SOURCES: Final[Mapping[str, Callable[[Pod], Reader]]] = {
    "annotation": lambda pod: annotations_of(pod).get,
    "label": lambda pod: labels_of(pod).get,
    "env": _variables,
    "arg": _arguments,
}
"""The kinds of sources that a policy can name, and what reads a pod's values of that kind."""
