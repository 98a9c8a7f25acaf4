"""Reads a ProfilingCampaign. The API server has checked it by its schema, which may be older."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from plimsoll_operator.names.labels import MAX_LABEL_CHARS
from plimsoll_operator.names.objects import mapping, metadata_of
from plimsoll_operator.names.quantity import BadQuantity, parse_bytes
from plimsoll_operator.pods.spec import NotSizable, SizedContainer, sized_container
from plimsoll_operator.pods.status import read_time
from plimsoll_predictor.campaigns import scenarios as tables
from plimsoll_predictor.campaigns.recorded import DAYS, MOST, Recording, of_recorded
from plimsoll_predictor.campaigns.rules import Budget, Order, Rules, StopRule
from plimsoll_predictor.campaigns.sampling import Axis, drawn
from plimsoll_predictor.campaigns.scenarios import BadScenarios, Feature, Scenarios
from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.task import TaskId

START_WITHIN_S: Final = 600
MAX_LIFTS: Final = 3
_NO_BOUND: Final = 2**62
STOP_CHANGE: Final = 0.01
STOP_RUNS: Final = 5
_OWN: Final = "plimsoll.dev/"
"""Begins the annotations with which people tell Plimsoll what to do with a pod."""

_Text = str | int


class BadCampaign(ValueError):
    """A campaign that cannot run; the message says why, and what to write instead.

    reason: one CamelCase word for the condition.
    """

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class FeatureSpec(msgspec.Struct, frozen=True):
    """One of ``spec.features``: the feature, and how the program gets its value."""

    name: str
    numeric: bool = False
    env: str | None = None
    argument: str | None = None
    annotation: str | None = None


class _FileSpec(msgspec.Struct, frozen=True):
    name: str
    key: str


class _GridSpec(msgspec.Struct, frozen=True):
    name: str
    values: list[_Text]


class _AxisSpec(msgspec.Struct, frozen=True, rename={"low": "from", "high": "to"}):
    name: str
    values: list[_Text] = []
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    scale: str = "Linear"


class _SampleSpec(msgspec.Struct, frozen=True):
    count: int
    seed: int
    space: list[_AxisSpec]


class _RecordedSpec(msgspec.Struct, frozen=True):
    days: int = DAYS
    most: int = MOST


class _ScenariosSpec(msgspec.Struct, frozen=True, rename="camel"):
    rows: list[dict[str, _Text]] | None = None
    csv: str | None = None
    config_map: _FileSpec | None = None
    grid: list[_GridSpec] | None = None
    sample: _SampleSpec | None = None
    recorded: _RecordedSpec | None = None


class _Variable(msgspec.Struct, frozen=True):
    name: str


class _Resources(msgspec.Struct, frozen=True):
    requests: dict[str, str | float] | None = None
    limits: dict[str, str | float] | None = None


class _Container(msgspec.Struct, frozen=True):
    """What a campaign reads and changes in a container; the schema leaves a pod's spec open."""

    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    resources: _Resources | None = None


class _Pod(msgspec.Struct, frozen=True, rename="camel"):
    """What a campaign reads and changes in a pod's spec besides its container."""

    active_deadline_seconds: int | None = None


class _BudgetSpec(msgspec.Struct, frozen=True, rename="camel"):
    runs: int | None = None
    gigabyte_hours: float | None = None
    hours: float | None = None


class _StopSpec(msgspec.Struct, frozen=True):
    change: float = STOP_CHANGE
    runs: int = STOP_RUNS


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    task: str
    pod_template: dict[str, Any]
    memory: _Text
    features: list[FeatureSpec]
    scenarios: _ScenariosSpec
    parallelism: int = 1
    order: Order = Order.PLAIN
    budget: _BudgetSpec = _BudgetSpec()
    stop: _StopSpec | None = None
    max_lifts: int = MAX_LIFTS
    start_within_seconds: int = START_WITHIN_S
    active_deadline_seconds: int | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A ProfilingCampaign, read.

    template: of each run's pod, with its deadline. memory_bytes: of each run.
    reference_bytes: today's request, from the template; the campaign's memory if the template
    requests nothing. created_s: Unix seconds.
    """

    uid: str
    name: str
    task: TaskId
    generation: int | None
    created_s: float
    template: Mapping[str, Any]
    features: tuple[FeatureSpec, ...]
    memory_bytes: int
    reference_bytes: int
    spec: _Spec

    @property
    def stopped(self) -> bool:
        """Whether people have ended it."""
        return self.spec.stopped

    @property
    def config_map(self) -> tuple[str, str] | None:
        """The name and key of the ConfigMap with its scenarios; None if they are elsewhere."""
        file = self.spec.scenarios.config_map
        return None if file is None else (file.name, file.key)

    @property
    def recording(self) -> Recording | None:
        """Which of the task's real runs are its scenarios; None if they are elsewhere."""
        given = self.spec.scenarios.recorded
        return None if given is None else Recording(days=given.days, most=given.most)

    def rules(self, began_s: float) -> Rules:
        """What people asked it to do. began_s: when it was registered, Unix seconds."""
        spec, stop = self.spec, self.spec.stop
        return Rules(
            parallelism=spec.parallelism,
            order=spec.order,
            budget=Budget(
                runs=spec.budget.runs,
                gb_hours=spec.budget.gigabyte_hours,
                hours=spec.budget.hours,
            ),
            stop=None if stop is None else StopRule(change=stop.change, runs=stop.runs),
            max_lifts=spec.max_lifts,
            start_within_s=float(spec.start_within_seconds),
            reference_bytes=self.reference_bytes,
            began_s=began_s,
            stopped=spec.stopped,
        )


def read_campaign(document: Mapping[str, Any]) -> Campaign:
    """Read a ProfilingCampaign as the API server has it.

    Raises:
        BadCampaign: if it cannot run as it is written.
    """
    metadata = metadata_of(document)
    if len(str(metadata.get("name"))) > MAX_LABEL_CHARS:
        words = f"its name has more than {MAX_LABEL_CHARS} characters, and is a label on its pods"
        raise BadCampaign("InvalidSpec", words)
    spec = from_document(_Spec, mapping(document.get("spec")), "spec", _bad_spec)
    try:
        memory_bytes = parse_bytes(spec.memory)
    except BadQuantity as error:
        raise BadCampaign("InvalidSpec", f"spec.memory {error}") from error
    container = sized_container(spec.pod_template)
    if isinstance(container, NotSizable):
        raise BadCampaign("InvalidTemplate", f"spec.podTemplate: {container.why}")
    _check_container(spec, container)
    _check_annotations(spec.features)
    return replace(
        _identified(document, spec),
        template=_with_deadline(spec),
        features=tuple(spec.features),
        memory_bytes=memory_bytes,
        reference_bytes=container.request_bytes or memory_bytes,
    )


def read_begun(document: Mapping[str, Any]) -> Campaign:
    """Read a campaign that began, and may be written so by now that it cannot run.

    It is enough to follow the runs that go on, and to stop them; no run can begin of it. If its
    spec does not fit its schema, the bounds of its runs are read one by one.
    """
    given = mapping(document.get("spec"))
    try:
        spec = from_document(_Spec, given, "spec", _bad_spec)
    except BadCampaign:
        spec = _Spec(
            task=str(given.get("task")),
            pod_template={},
            memory=0,
            features=[],
            scenarios=_ScenariosSpec(),
            max_lifts=_bound_of(given, "maxLifts", MAX_LIFTS),
            start_within_seconds=_bound_of(given, "startWithinSeconds", START_WITHIN_S),
            stopped=given.get("stopped") is True,
        )
    return _identified(document, spec)


def _identified(document: Mapping[str, Any], spec: _Spec) -> Campaign:
    """Return the campaign without what only a new run needs."""
    metadata = metadata_of(document)
    return Campaign(
        uid=str(metadata.get("uid")),
        name=str(metadata.get("name")),
        task=TaskId(str(metadata.get("namespace")), spec.task),
        generation=metadata.get("generation"),
        created_s=read_time(metadata.get("creationTimestamp")) or 0.0,
        template=spec.pod_template,
        features=(),
        memory_bytes=0,
        reference_bytes=0,
        spec=spec,
    )


def _bound_of(given: Mapping[str, Any], name: str, default: int) -> int:
    """Return a bound as it is written; one that cannot be read gives up no run."""
    written = given.get(name, default)
    return written if type(written) is int else _NO_BOUND


def scenarios_of(
    campaign: Campaign, csv_text: str | None = None, recorded: Sequence[Features] = ()
) -> Scenarios:
    """Return the campaign's scenarios.

    csv_text: of its ConfigMap; None without one. recorded: the features of the task's real runs,
    if they are its scenarios.

    Raises:
        BadCampaign: if they cannot be run; it says which.
    """
    features = [Feature(name=each.name, numeric=each.numeric) for each in campaign.features]
    try:
        if campaign.recording is not None:
            return of_recorded(recorded, features, campaign.recording)
        return tables.checked(_rows(campaign.spec.scenarios, csv_text), features)
    except BadScenarios as error:
        raise BadCampaign("InvalidScenarios", f"spec.scenarios: {error}") from error


def _rows(given: _ScenariosSpec, csv_text: str | None) -> Sequence[Mapping[str, object]]:
    if given.config_map is not None:
        return tables.of_csv(csv_text or "", f"ConfigMap {given.config_map.name}")
    if given.csv is not None:
        return tables.of_csv(given.csv, "csv")
    if given.grid is not None:
        return tables.of_grid({axis.name: axis.values for axis in given.grid})
    if given.sample is not None:
        return drawn(
            [_axis(each) for each in given.sample.space], given.sample.count, given.sample.seed
        )
    return given.rows or []


def _axis(given: _AxisSpec) -> Axis:
    logarithmic = given.scale == "Logarithmic"
    bounds = given.low, given.high
    if not given.values and (not all(map(math.isfinite, bounds)) or given.low > given.high):
        raise BadScenarios(f"sample: {given.name} needs values, or a from that is not above to")
    if logarithmic and given.low <= 0:
        raise BadScenarios(f"sample: {given.name} has a Logarithmic scale, and a from not above 0")
    if not given.values and not _has_extent(given, logarithmic):
        raise BadScenarios(f"sample: {given.name} has a range too wide to draw from; narrow it")
    return Axis(
        name=given.name,
        values=tuple(str(each) for each in given.values),
        low=given.low,
        high=given.high,
        whole=given.whole,
        logarithmic=logarithmic,
    )


def _has_extent(given: _AxisSpec, logarithmic: bool) -> bool:
    """Say whether a number says how wide the range is."""
    return math.isfinite(given.high / given.low if logarithmic else given.high - given.low)


def _check_container(spec: _Spec, container: SizedContainer) -> None:
    document = mapping(spec.pod_template.get("spec"))["containers"][container.index]
    where = f"spec.podTemplate: container {container.name!r}"
    written = from_document(_Container, document, where, _bad_template)
    by_argument = [each.name for each in spec.features if each.argument is not None]
    if by_argument and not (written.args or written.command):
        raise BadCampaign(
            "InvalidTemplate",
            f"feature {by_argument[0]!r} is passed as an argument, and container"
            f" {container.name!r} has neither command nor args, so that it would replace those of"
            " the image; write them into spec.podTemplate",
        )


def _with_deadline(spec: _Spec) -> Mapping[str, Any]:
    """Return the pod's template with the campaign's deadline, unless its own is shorter.

    A pod's deadline counts from when a node takes it; a Job's would count the wait for room, too.
    """
    pod = spec.pod_template["spec"]
    written = from_document(_Pod, pod, "spec.podTemplate.spec", _bad_template)
    both = (spec.active_deadline_seconds, written.active_deadline_seconds)
    seconds = min((each for each in both if each is not None), default=None)
    if seconds is None:
        return spec.pod_template
    return {**spec.pod_template, "spec": {**pod, "activeDeadlineSeconds": seconds}}


def _check_annotations(features: Sequence[FeatureSpec]) -> None:
    for each in features:
        if (each.annotation or "").startswith(_OWN):
            words = (
                f"feature {each.name!r} is passed as the annotation {each.annotation}, and those"
                f" under {_OWN} tell Plimsoll what to do; write another name"
            )
            raise BadCampaign("InvalidSpec", words)


def _bad_template(words: str) -> BadCampaign:
    return BadCampaign("InvalidTemplate", words)


def _bad_spec(words: str) -> BadCampaign:
    return BadCampaign("InvalidSpec", words)
