"""Makes one Policy of the specs of a TaskProfile, a SizingPolicy and the chart.

The CRDs' schemas refuse most mistakes at the API server. A mistake that passes them (because of an
older schema, or because two levels contradict each other) costs only its field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.names.labels import MAX_LABEL_CHARS
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes
from plimsoll_operator.pods.features import MAX_FEATURES, SOURCES
from plimsoll_operator.policy.cpu_policies import lay_over, read_cpu
from plimsoll_operator.policy.spec_readers import (
    Readers,
    choice,
    choices,
    fields_of,
    flag,
    integer,
    number,
)
from plimsoll_predictor.core.policy import (
    LEAST_FIRST_SIZE,
    CpuPolicy,
    JobsWait,
    KilledAttempts,
    Lending,
    Limits,
    Mode,
    Order,
    Placing,
    Policy,
    Replaceable,
    Rescue,
    Retry,
)
from plimsoll_predictor.core.units import MIB, words_for_bytes
from plimsoll_predictor.splitting.spark.given import LEAST_TAUGHT, MOST_TAUGHT

MAX_SOURCE_NAME: Final = 254 + MAX_LABEL_CHARS
"""The longest label or annotation key: 253 of prefix, a slash, and the name."""
_BOUNDS: Final = ("max", "min")
"""If they contradict each other, max is tried first, because caps protect nodes."""


class BadPolicy(ValueError):
    """A field of a policy that makes no sense; the message says where and what to write instead."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A policy. problems: the ignored fields, with reasons; the profile's conditions show them."""

    policy: Policy
    problems: tuple[str, ...] = ()


def policy_from_spec(base: Policy, spec: Mapping[str, Any], where: str) -> Policy:
    """Return ``base`` with the fields of one spec laid over it.

    spec: as the API server gives it. Absent, null and unknown fields keep the base. Features are
        laid over by name. A max below an inherited min lowers that min; a min above an inherited
        max is an error. ``paused: false`` does not end the pause of a level above.
    where: the spec's name for people, such as "TaskProfile shop/train".

    Raises:
        BadPolicy: for the first field that makes no sense.
    """
    values: dict[str, Any] = {}
    for key in _READERS:
        if spec.get(key) is not None:
            values.update(_read(key, spec[key], where))
    if "feature_sources" in values:
        values["feature_sources"] = _merged(base, values["feature_sources"], where)
    values.update(values.pop("risk", {}))
    values.update(values.pop("splitting", {}))
    values["paused"] = base.paused or values.get("paused", False)
    if "cpu" in values:
        values["cpu"] = _cpu(base, values["cpu"], where)
    if "spark" in values:
        values["spark"] = replace(base.spark, **values["spark"])
    policy = replace(base, **values)
    if "max_bytes" in values and "min_bytes" not in values:
        # A cap is more important than an inherited floor.
        policy = replace(policy, min_bytes=min(policy.min_bytes, values["max_bytes"]))
    if policy.max_bytes is not None and policy.min_bytes > policy.max_bytes:
        raise BadPolicy(
            f"{where}: min {words_for_bytes(policy.min_bytes)} is larger than"
            f" max {words_for_bytes(policy.max_bytes)}; lower min or raise max"
        )
    return policy


def resolve(
    default: Policy,
    namespace_spec: Mapping[str, Any] | None,
    profile_spec: Mapping[str, Any] | None,
) -> Resolved:
    """Return the task's policy: TaskProfile over SizingPolicy over the chart. It never raises.

    The specs are as the API server gives them; None if there is none.
    """
    policy, problems = default, list[str]()
    levels: Mapping[str, object] = {"SizingPolicy": namespace_spec, "TaskProfile": profile_spec}
    for where, spec in levels.items():
        if spec is None:
            continue
        if not isinstance(spec, Mapping):
            problems.append(f"{where}: spec is {type(spec).__name__}, not an object; ignored")
            continue
        policy, more = _lay_over(policy, spec, where)
        problems.extend(more)
    return Resolved(policy, tuple(problems))


def _lay_over(base: Policy, spec: Mapping[str, Any], where: str) -> tuple[Policy, list[str]]:
    """Lay a spec over, field by field: a bad field costs only itself; the bounds come last."""
    policy, problems = base, list[str]()
    parts = [{key: spec[key]} for key in sorted(spec, key=str) if key not in _BOUNDS]
    parts.append({key: spec[key] for key in _BOUNDS if key in spec})
    for part in parts:
        try:
            policy = policy_from_spec(policy, part, where)
        except BadPolicy as error:
            if (words := f"{error}; ignored") not in problems:
                problems.append(words)
            if len(part) > 1:
                # If two bounds contradict each other, or one of them is bad, try each alone.
                parts += ({key: value} for key, value in part.items())
    return policy, problems


def _read(key: str, value: Any, where: str) -> dict[str, Any]:
    name, reader = _READERS[key]
    try:
        return {name: reader(value)}
    except (ValueError, TypeError, OverflowError) as error:
        raise BadPolicy(f"{where}: {key} {_shown(value)} {error}") from error


def _cpu(base: Policy, read: Mapping[str, Any], where: str) -> CpuPolicy:
    try:
        return lay_over(base.cpu, read)
    except ValueError as error:
        raise BadPolicy(f"{where}: cpu {error}") from error


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _bytes(value: Any) -> int:
    try:
        size_bytes = parse_bytes(str(value) if isinstance(value, float) else value)
    except BadQuantity as error:
        raise ValueError("is not a quantity; write for example '512Mi' or '2Gi'") from error
    if size_bytes < MIB:
        raise ValueError("is below 1Mi; write it with its unit, for example '64Mi'")
    return size_bytes


def _risk(value: Any) -> dict[str, float]:
    return fields_of(value, _RISK_READERS, "risk: {overheadSeconds: 600}")


def _features(value: Any) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping):
        raise TypeError("is not a map; write features: {rows: {annotation: example.com/rows}}")
    if len(value) > MAX_FEATURES:
        raise ValueError(f"has {len(value)} features; at most {MAX_FEATURES} are read")
    return {_feature_name(name): _source(name, source) for name, source in value.items()}


def _merged(
    base: Policy, read: Mapping[str, Mapping[str, str]], where: str
) -> dict[str, Mapping[str, str]]:
    sources = {**base.feature_sources, **read}
    if len(sources) > MAX_FEATURES:
        raise BadPolicy(
            f"{where}: features are {len(sources)} with those of the levels above; at most"
            f" {MAX_FEATURES} are read"
        )
    return sources


def _feature_name(name: Any) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_LABEL_CHARS:
        raise ValueError(f"has a feature name without 1 to {MAX_LABEL_CHARS} characters")
    return name


def _source(name: str, source: Any) -> dict[str, str]:
    given = {
        key: text
        for key, text in (source.items() if isinstance(source, Mapping) else ())
        if key in SOURCES and isinstance(text, str) and 1 <= len(text) <= MAX_SOURCE_NAME
    }
    if len(given) != 1 or len(given) != len(source):
        raise ValueError(
            f"gives feature {name[:60]!r} not exactly one source; write one of {', '.join(SOURCES)}"
        )
    return given


def _spark(value: Any) -> dict[str, Any]:
    return fields_of(value, _SPARK_READERS, "spark: {mode: enforce}")


def _splitting(value: Any) -> dict[str, Any]:
    return fields_of(value, _SPLITTING_READERS, "splitting: {memoryWeight: 0.5}")


_RISK_READERS: Final[Readers] = {
    "overheadSeconds": ("overhead_s", number(0, 86_400)),
    "penalty": ("penalty", number(1, 10_000)),
    "errorBudget": ("error_budget", number(0, 0.5)),
}

_SPLITTING_READERS: Final[Readers] = {"memoryWeight": ("memory_weight", number(0, 1))}

_SPARK_READERS: Final[Readers] = {
    "mode": ("mode", choice(Mode)),
    "partitions": ("partitions", integer(LEAST_TAUGHT, MOST_TAUGHT)),
    "replaces": ("replaces", choices(Replaceable)),
}

_READERS: Final[Readers] = {
    "mode": ("mode", choice(Mode)),
    "paused": ("paused", flag),
    "min": ("min_bytes", _bytes),
    "max": ("max_bytes", _bytes),
    "risk": ("risk", _risk),
    "firstSize": ("first_size", number(LEAST_FIRST_SIZE, 1)),
    "critical": ("critical", flag),
    "bins": ("max_bins", integer(1, 8)),
    "maxLifts": ("max_lifts", integer(0, 10)),
    "attempts": ("attempts", integer(1, 1000)),
    "minRuns": ("min_runs", integer(1, 10_000)),
    "headroom": ("headroom", number(1, 10)),
    "limits": ("limits", choice(Limits)),
    "retry": ("retry", choice(Retry)),
    "lending": ("lending", choice(Lending)),
    "rescue": ("rescue", choice(Rescue)),
    "placing": ("placing", choice(Placing)),
    "order": ("order", choice(Order)),
    "jobsWait": ("jobs_wait", choice(JobsWait)),
    "killedAttempts": ("killed_attempts", choice(KilledAttempts)),
    "features": ("feature_sources", _features),
    "cpu": ("cpu", read_cpu),
    "spark": ("spark", _spark),
    "splitting": ("splitting", _splitting),
}
"""A reader's error follows the field and its value."""
