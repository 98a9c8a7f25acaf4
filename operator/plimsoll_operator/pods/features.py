"""The features a pod declares: annotations, and sources that its task's profile names.

Everything here is written by strangers: names, lengths and counts are bounded, and what does not
fit is left out and counted, never an error.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import (
    Pod,
    SizedContainer,
    annotations_of,
    labels_of,
    mapping,
    sequence,
    sized_container,
    spec_of,
)
from plimsoll_predictor.core.record import FeatureValue

MAX_FEATURES: Final = 64
MAX_VALUE_CHARS: Final = 256
MAX_TOTAL_CHARS: Final = 8192
"""Names and values together."""

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)

Sources = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PodFeatures:
    """What a pod declares.

    values: a feature that is missing, not finite or empty is absent.
    ignored: how many were left out because a name, length or count was out of bounds.
    """

    values: dict[str, FeatureValue]
    ignored: int


def read_features(pod: Pod, sources: Sources | None = None) -> PodFeatures:
    """Read the pod's features; a declared source wins over the annotation of the same name.

    sources: feature name -> {"annotation" | "label" | "env" | "arg": where it is read from}.
    """
    found = _annotated(pod)
    for name, source in (sources or {}).items():
        text = _from_source(pod, source)
        if text is not None:
            found[name] = text
    # Which are left out must not depend on their order; nearly always none is.
    names = found if len(found) <= MAX_FEATURES else heapq.nsmallest(MAX_FEATURES, found)
    kept = {name: found[name] for name in names if _fits(name, found[name])}
    if len(kept) * (labels.MAX_LABEL_CHARS + MAX_VALUE_CHARS) > MAX_TOTAL_CHARS:
        kept = _shortened(kept)
    values = {
        name: value for name, text in kept.items() if (value := feature_value(text)) is not None
    }
    return PodFeatures(values, len(found) - len(kept))


def _fits(name: str, text: str) -> bool:
    return len(text) <= MAX_VALUE_CHARS and len(name) <= labels.MAX_LABEL_CHARS and _is_name(name)


def _shortened(kept: dict[str, str]) -> dict[str, str]:
    total_chars = 0
    short: dict[str, str] = {}
    for name in sorted(kept):
        total_chars += len(name) + len(kept[name])
        if total_chars > MAX_TOTAL_CHARS:
            break
        short[name] = kept[name]
    return short


def feature_value(text: str) -> FeatureValue | None:
    """A number if it is a finite one, else the text; None for what stands for nothing.

    >>> feature_value("18234"), feature_value("north"), feature_value("NaN")
    (18234.0, 'north', None)
    """
    text = text.strip()
    # Python also reads "1_000" and other scripts' digits as numbers; people mean text by them.
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


@lru_cache(maxsize=4096)  # a task's features have the same names in every pod
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _from_source(pod: Pod, source: Mapping[str, str]) -> str | None:
    for kind, key in source.items():
        value: object = None
        if kind == "annotation":
            value = annotations_of(pod).get(key)
        elif kind == "label":
            value = labels_of(pod).get(key)
        elif kind == "env":
            value = _environment(_container(pod), key)
        elif kind == "arg":
            value = _argument(_container(pod), key)
        if isinstance(value, str):
            return value
    return None


def _container(pod: Pod) -> Mapping[str, Any]:
    sized = sized_container(pod)
    if not isinstance(sized, SizedContainer):
        return {}
    return mapping(sequence(spec_of(pod).get("containers"))[sized.index])


def _environment(container: Mapping[str, Any], key: str) -> object:
    # Only values written in the pod itself: what comes from a Secret is nobody's feature.
    for variable in sequence(container.get("env")):
        if mapping(variable).get("name") == key:
            return mapping(variable).get("value")
    return None


def _argument(container: Mapping[str, Any], key: str) -> str | None:
    words = [*sequence(container.get("command")), *sequence(container.get("args"))]
    texts = [word for word in words if isinstance(word, str)]
    for place, word in enumerate(texts):
        if word.startswith(f"{key}="):
            return word[len(key) + 1 :]
        if word == key and place + 1 < len(texts):
            return texts[place + 1]
    return None
