"""From what people wrote in TaskProfile.spec and SizingPolicy.spec to one Policy.

The CRDs' schemas reject most nonsense at the API server. What slips past (an older schema, two
levels that contradict each other) costs the bad field only, never the task its policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from plimsoll_operator.names.labels import MAX_LABEL_CHARS
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.pods.features import MAX_FEATURES
from plimsoll_operator.policy.cpu_policies import lay_over, read_cpu
from plimsoll_operator.policy.spec_readers import Readers, choice, fields_of, flag, number, whole
from plimsoll_predictor.core.policy import (
    LEAST_FIRST_SIZE,
    CpuPolicy,
    Limits,
    Mode,
    Policy,
    Retry,
)
from plimsoll_predictor.core.units import MIB, words_for_bytes

MAX_SOURCE_NAME: Final = 254 + MAX_LABEL_CHARS
"""The longest label or annotation key: 253 of prefix, a slash, and the name."""
SOURCES: Final = ("annotation", "label", "env", "arg")


class BadPolicy(ValueError):
    """A field of a policy that makes no sense. Says what, where, and what to write instead."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A policy, and what had to be ignored on the way to it."""

    policy: Policy
    problems: tuple[str, ...] = ()
    """Which fields were ignored and why; the profile's conditions show them."""


def policy_from_spec(base: Policy, spec: Mapping[str, Any], where: str) -> Policy:
    """``base`` with the fields of one spec laid over it.

    spec: as the API server gives it. Absent and null fields leave the base; unknown ones
        (``task``) are not about the policy. Features are laid over by name. A max below an
        inherited min lowers that min; a min above an inherited max is an error. What is paused
        stays so: below a level that pauses, ``paused: false`` says nothing.
    where: what people know the spec as, such as "TaskProfile shop/train".

    Raises:
        BadPolicy: for the first field that makes no sense.

    """
    values: dict[str, Any] = {}
    for key in _READERS:
        if spec.get(key) is not None:
            values.update(_read(key, spec[key], where))
    if "feature_sources" in values:
        values["feature_sources"] = {**base.feature_sources, **values["feature_sources"]}
    values.update(values.pop("risk", {}))
    values["paused"] = base.paused or values.get("paused", False)
    if "cpu" in values:
        values["cpu"] = _cpu(base, values["cpu"], where)
    policy = replace(base, **values)
    if "max_bytes" in values and "min_bytes" not in values:
        # A cap says more than an inherited floor: the floor gives way.
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
    """The task's policy: TaskProfile over SizingPolicy over the chart. Never raises.

    The specs as the API server gives them; None where there is none.
    """
    policy, problems = default, []
    levels: tuple[tuple[object, str], ...] = (
        (namespace_spec, "SizingPolicy"),
        (profile_spec, "TaskProfile"),
    )
    for spec, where in levels:
        if spec is None:
            continue
        if not isinstance(spec, Mapping):
            problems.append(f"{where}: spec is {type(spec).__name__}, not an object; ignored")
            continue
        policy, more = _lay_over(policy, spec, where)
        problems.extend(more)
    return Resolved(policy, tuple(problems))


def _lay_over(base: Policy, spec: Mapping[str, Any], where: str) -> tuple[Policy, tuple[str, ...]]:
    """Field by field, so that a bad one costs only itself; both bounds last and together."""
    policy, problems = base, []
    bounds = {key: spec[key] for key in ("min", "max") if key in spec}
    singles = [{key: spec[key]} for key in sorted(spec, key=str) if key not in bounds]
    for part in (*singles, bounds):
        try:
            policy = policy_from_spec(policy, part, where)
        except BadPolicy as error:
            problems.append(f"{error}; ignored")
            policy, more = _each_bound(policy, part, where)
            problems.extend(message for message in more if message not in problems)
    return policy, tuple(problems)


def _each_bound(
    base: Policy, part: Mapping[str, Any], where: str
) -> tuple[Policy, tuple[str, ...]]:
    """One bad bound must not take the good one with it; max first, because caps protect nodes."""
    policy, problems = base, []
    for key in ("max", "min"):
        if key in part and len(part) > 1:
            try:
                policy = policy_from_spec(policy, {key: part[key]}, where)
            except BadPolicy as error:
                problems.append(f"{error}; ignored")
    return policy, tuple(problems)


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
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("is not a quantity; write for example '512Mi' or '2Gi'")
    try:
        size_bytes = parse_bytes(str(value))
    except ValueError as error:
        raise ValueError("is not a quantity; write for example '512Mi' or '2Gi'") from error
    if size_bytes < MIB:
        raise ValueError("is below 1Mi; write it with its unit, for example '64Mi'")
    return size_bytes


def _risk(value: Any) -> dict[str, float]:
    return fields_of(value, _RISK_READERS, "risk: {overheadSeconds: 2400}")


def _features(value: Any) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping):
        raise TypeError("is not a map; write features: {rows: {annotation: example.com/rows}}")
    if len(value) > MAX_FEATURES:
        raise ValueError(f"has {len(value)} features; at most {MAX_FEATURES} are read")
    return {_feature_name(name): _source(name, source) for name, source in value.items()}


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


_RISK_READERS: Final[Readers] = {
    "overheadSeconds": ("overhead_s", number(0, 86_400)),
    "penalty": ("penalty", number(1, 10_000)),
}

_READERS: Final[Readers] = {
    "mode": ("mode", choice(Mode)),
    "paused": ("paused", flag),
    "min": ("min_bytes", _bytes),
    "max": ("max_bytes", _bytes),
    "risk": ("risk", _risk),
    "firstSize": ("first_size", number(LEAST_FIRST_SIZE, 1)),
    "critical": ("critical", flag),
    "bins": ("max_bins", whole(1, 8)),
    "maxLifts": ("max_lifts", whole(0, 10)),
    "minRuns": ("min_runs", whole(1, 10_000)),
    "headroom": ("headroom", number(1, 10)),
    "limits": ("limits", choice(Limits)),
    "retry": ("retry", choice(Retry)),
    "features": ("feature_sources", _features),
    "cpu": ("cpu", read_cpu),
}
"""A reader's error follows the field and its value."""
