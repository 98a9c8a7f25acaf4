"""Spark's properties: which are read, their defaults, and sizes as Spark reads them.

Defaults are those of Spark 3.2 to 4.0 (``SQLConf`` and ``internal/config``), in
https://spark.apache.org/docs/latest/configuration.html.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.policy import Replaceable
from plimsoll_predictor.core.units import GIB, KIB, MIB

ADAPTIVE: Final = "spark.sql.adaptive.enabled"
COALESCE: Final = "spark.sql.adaptive.coalescePartitions.enabled"
ADVISORY: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
PARTITIONS: Final = Replaceable.PARTITIONS.value
SPLIT: Final = "spark.sql.files.maxPartitionBytes"
HEAP: Final = "spark.executor.memory"
OVERHEAD: Final = "spark.executor.memoryOverhead"
OVERHEAD_FACTOR: Final = "spark.executor.memoryOverheadFactor"
LEAST_OVERHEAD: Final = "spark.executor.minMemoryOverhead"
KUBERNETES_FACTOR: Final = "spark.kubernetes.memoryOverheadFactor"
RESOURCE_TYPE: Final = "spark.kubernetes.resource.type"
PYTHON: Final = "spark.executor.pyspark.memory"
OFF_HEAP: Final = "spark.memory.offHeap.size"
OFF_HEAP_ENABLED: Final = "spark.memory.offHeap.enabled"
FRACTION: Final = "spark.memory.fraction"
PROCESS_TREE: Final = "spark.executor.processTreeMetrics.enabled"
MASTER: Final = "spark.master"
GIVEN: Final = "spark.plimsoll.partitions"
"""Set by Plimsoll with the number of partitions that it gives: any other number is the user's."""
QUERY: Final = "spark.sql.execution.id"
"""Not a property that users set: the stages of a query have it."""
STREAM: Final = "sql.streaming.queryId"
"""Nor is this: the stages of a stream's batches have it."""

READ: Final = frozenset(
    {
        *(ADAPTIVE, COALESCE, ADVISORY, PARTITIONS, SPLIT, QUERY, MASTER, GIVEN),
        *(HEAP, OVERHEAD, OVERHEAD_FACTOR, LEAST_OVERHEAD, KUBERNETES_FACTOR, RESOURCE_TYPE),
        *(PYTHON, OFF_HEAP, OFF_HEAP_ENABLED, FRACTION, PROCESS_TREE),
    }
)
"""No other property is kept: others may hold passwords."""

DEFAULT_SPLIT_BYTES: Final = 128 * MIB
DEFAULT_ADVISORY_BYTES: Final = 64 * MIB
LEAST_PARTITION_BYTES: Final = MIB
"""Adaptive execution's ``minPartitionSize``."""
DEFAULT_PARTITIONS: Final = 200
_DEFAULT_HEAP_BYTES: Final = GIB
_DEFAULT_LEAST_OVERHEAD_BYTES: Final = 384 * MIB
_JVM_FACTOR: Final = 0.1
_OTHER_FACTOR: Final = 0.4
"""Kubernetes' factor for programs in Python and R."""
_DEFAULT_FRACTION: Final = 0.6
_ADAPTIVE_SINCE: Final = (3, 2)

_MOST_CHARS: Final = 200
_SIZE: Final = re.compile(r"\s*([0-9]{1,18})\s*([kmgtp]?)b?\s*", re.ASCII | re.IGNORECASE)
_SCALE: Final = {"k": KIB, "m": MIB, "g": GIB, "t": 1024 * GIB, "p": 1024 * 1024 * GIB}


@dataclass(frozen=True, slots=True)
class Settings:
    """The properties that were set, among those read; and the effective values with the defaults.

    A value that Spark would refuse counts as not set.
    """

    given: Mapping[str, str]
    version: tuple[int, ...] = ()

    @property
    def adaptive(self) -> bool:
        """Whether queries are planned again while they run."""
        since = not self.version or self.version >= _ADAPTIVE_SINCE
        return self._flag(ADAPTIVE, default=since)

    @property
    def coalesces(self) -> bool:
        """Whether small partitions are merged into larger ones, too."""
        return self.adaptive and self._flag(COALESCE, default=True)

    @property
    def partitions(self) -> int:
        """Partitions of a shuffle."""
        text = self.given.get(PARTITIONS, "")
        return int(text) if text.isascii() and text.isdigit() else DEFAULT_PARTITIONS

    @property
    def split_bytes(self) -> int:
        """The most bytes of a file that one task reads."""
        return self.size(SPLIT) or DEFAULT_SPLIT_BYTES

    @property
    def heap_bytes(self) -> int:
        """The most that an executor's JVM takes for its heap."""
        return self.size(HEAP, MIB) or _DEFAULT_HEAP_BYTES

    @property
    def overhead_bytes(self) -> int:
        """What an executor's container has for all that is neither heap nor counted separately."""
        given = self.size(OVERHEAD, MIB)
        if given:
            return given
        other = self.given.get(RESOURCE_TYPE) in {"python", "r"}
        default = _OTHER_FACTOR if other else _JVM_FACTOR
        factor = self._number(KUBERNETES_FACTOR, default)
        least = self.size(LEAST_OVERHEAD, MIB) or _DEFAULT_LEAST_OVERHEAD_BYTES
        return max(int(self._number(OVERHEAD_FACTOR, factor) * self.heap_bytes), least)

    @property
    def container_bytes(self) -> int:
        """The memory of an executor's pod."""
        off_heap = self.size(OFF_HEAP) or 0
        apart = off_heap if self._flag(OFF_HEAP_ENABLED, default=False) else 0
        return self.heap_bytes + self.overhead_bytes + apart + (self.size(PYTHON, MIB) or 0)

    @property
    def fraction(self) -> float:
        """The part of the heap, less 300 MiB, that execution and storage share."""
        return self._number(FRACTION, _DEFAULT_FRACTION)

    @property
    def local(self) -> bool:
        """Whether driver and executor are one process, whose memory is the driver's."""
        master = self.given.get(MASTER, "")
        return master == "local" or master.startswith("local[")

    @property
    def contained(self) -> bool:
        """Whether executors are killed if they take more than their container's memory."""
        return self.given.get(MASTER, "").startswith(("k8s", "yarn"))

    def size(self, name: str, unit: int = 1) -> int | None:
        """Return bytes. unit: for a number without one. None if it is not set, or no size.

        >>> Settings({"a": "64m", "b": "2"}).size("a"), Settings({"b": "2"}).size("b", 1024)
        (67108864, 2048)
        """
        found = _SIZE.fullmatch(self.given.get(name, ""))
        if found is None:
            return None
        return int(found[1]) * _SCALE.get(found[2].lower(), unit)

    def over(self, later: Mapping[str, object]) -> Settings:
        """Return the same settings with those that were set later."""
        return Settings({**self.given, **kept(later)}, self.version)

    def _flag(self, name: str, *, default: bool) -> bool:
        return {"true": True, "false": False}.get(self.given.get(name, "").lower(), default)

    def _number(self, name: str, default: float) -> float:
        try:
            value = float(self.given.get(name, ""))
        except ValueError:
            return default
        return value if 0 < value < 1000 else default


def kept(properties: Mapping[str, object]) -> Mapping[str, str]:
    """Return the properties that are read, as text."""
    return {
        name: value[:_MOST_CHARS]
        for name, value in properties.items()
        if name in READ and isinstance(value, str)
    }


def version_of(text: str) -> tuple[int, ...]:
    """Return a version's first two numbers; an empty tuple if it is no version.

    >>> version_of("3.5.1-amzn-0"), version_of("next")
    ((3, 5), ())
    """
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", text)
    return () if found is None else (int(found[1]), int(found[2]))
