"""SYNTHETIC: the 27 tasks of the situation, row by row: needs, durations, CPU, features.

The groups and their static allocations are Table 4's. Heavy task 1 has 350 GB. Heavy task 2 is in
the group with 100 GB (Table 12) and had 200 GB while it was profiled (Table 6), since it has needed
up to 110. Of the others, 17 stay within 5 GB and 8 within 20 GB (chapter 5.1.2 and Table 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.thesis.situation import Instances, Situation
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GB

HEAVY_1, HEAVY_2 = "heavy-task-1", "heavy-task-2"
NAMESPACE: Final = "synthetic-thesis"

LARGEST_HEAVY_2_GB: Final = 110.0
HEAVY_2_SATURATION_GB: Final = 99.0
"""Heavy task 2 works through its products in chunks, so its need grows ever more slowly. The form
follows from Table 6: as many of its rows lie above 40 GB as of task 1's above 30, and so on."""
HEAVY_BASE_GB: Final = 0.3
OTHER_WORK_SPREAD: Final = 0.06
"""The spread of the logarithm: the same workload measured twice (sampling, allocator, versions)."""
DURATION_SPREAD: Final = 0.2

_FIRST_STEP_S: Final = 600.0
"""The heavy tasks come after others of their run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKind:
    """One task as it is configured.

    group: Table 4's. memory_gb, cores: its static allocations. profiled_gb: memory while profiled.
    parallel: whether it uses more than a core. common: once a run, whatever the scenarios.
    largest_gb: the most it may need; the need of heavy tasks follows the workload.
    """

    name: str
    group: str
    cores: float
    memory_gb: float
    largest_gb: float
    parallel: bool = False
    common: bool = False
    profiled_gb: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """A task's executions in submit order; all arrays (n,)."""

    kind: TaskKind
    need_bytes: NDArray[np.int64]
    runtime_s: NDArray[np.float64]
    cores_used: NDArray[np.float64]
    submitted_s: NDArray[np.float64]
    features: Sequence[dict[str, float | str]]

    @property
    def reference_bytes(self) -> int:
        """The request while its rows were made."""
        return int((self.kind.profiled_gb or self.kind.memory_gb) * GB)

    def observations(self) -> list[Observation]:
        """The rows as the product stores them: each succeeded at its first attempt."""
        return [
            Observation(
                attempt_uid=f"{self.kind.name}-{place}",
                task=TaskId(NAMESPACE, self.kind.name),
                run=f"{self.kind.name}-{place}",
                features=self.features[place],
                outcome=Outcome.SUCCEEDED,
                request_bytes=self.reference_bytes,
                allocation_bytes=self.reference_bytes,
                peak_bytes=int(self.need_bytes[place]),
                peak_source=PeakSource.IMPORTED,
                cpu_s=float(self.cores_used[place] * self.runtime_s[place]),
                submitted_s=float(self.submitted_s[place]),
                started_s=float(self.submitted_s[place]),
                finished_s=float(self.submitted_s[place] + self.runtime_s[place]),
            )
            for place in range(len(self.features))
        ]


def the_kinds() -> list[TaskKind]:
    """The 27 tasks in Table 4's groups: 20 normal, 4 parallel, 2 memory-, 1 compute-intensive."""
    heavy = [
        TaskKind(name=HEAVY_1, group="memory-intensive", cores=6, memory_gb=350, largest_gb=np.inf),
        TaskKind(
            name=HEAVY_2,
            group="parallel",
            cores=5,
            memory_gb=100,
            profiled_gb=200,
            largest_gb=np.inf,
            parallel=True,
        ),
    ]
    moderate, light = 20.0, 5.0
    others = [
        TaskKind(name="join", group="memory-intensive", cores=6, memory_gb=350, largest_gb=light),
        TaskKind(name="solve", group="compute-intensive", cores=20, memory_gb=20, largest_gb=light),
        *(
            TaskKind(
                name=f"parallel-{number}",
                group="parallel",
                cores=5,
                memory_gb=100,
                parallel=True,
                largest_gb=moderate if number == 1 else light,
            )
            for number in range(1, 4)
        ),
        *(
            TaskKind(
                name=f"normal-{number:02}",
                group="normal",
                cores=4,
                memory_gb=20,
                common=number > 12,
                largest_gb=moderate if number <= 7 else light,
            )
            for number in range(1, 21)
        ),
    ]
    return [*heavy, *others]


def the_tasks(situation: Situation) -> dict[str, TaskRows]:
    """Every task's rows, by name. The same situation gives the same rows."""
    draw = np.random.default_rng([situation.seed, 1])
    return {kind.name: _rows(kind, situation, draw) for kind in the_kinds()}


def _rows(kind: TaskKind, situation: Situation, draw: np.random.Generator) -> TaskRows:
    instances = situation.instances
    if kind.common:
        places = np.unique(instances.run, return_index=True)[1]
    else:
        places = np.arange(len(instances.run))
    need_gb = _need_gb(kind, instances.workload_gb[places], draw)
    runtime_s = _runtime_s(kind, need_gb) * draw.lognormal(0.0, DURATION_SPREAD, places.size)
    return TaskRows(
        kind=kind,
        need_bytes=(need_gb * GB).astype(np.int64),
        runtime_s=runtime_s,
        cores_used=_cores(kind, places.size, draw),
        submitted_s=instances.submitted_s[places] + _FIRST_STEP_S,
        features=[_features(situation, int(place), common=kind.common) for place in places],
    )


def _need_gb(
    kind: TaskKind, workload_gb: NDArray[np.float64], draw: np.random.Generator
) -> NDArray[np.float64]:
    work = workload_gb * draw.lognormal(0.0, OTHER_WORK_SPREAD, workload_gb.size)
    if kind.name == HEAVY_1:
        return _up_to(HEAVY_BASE_GB + work, workload_gb.max())
    if kind.name == HEAVY_2:
        saturating = work / (1 + work / HEAVY_2_SATURATION_GB)
        return _up_to(HEAVY_BASE_GB + 1.736 * saturating, LARGEST_HEAVY_2_GB)
    if kind.common:
        return draw.lognormal(np.log(draw.uniform(0.2, 1.0)), 0.15, work.size)
    # They read the scenario's input, but keep little of it.
    shape = np.log1p(work) / np.log1p(work.max())
    start = draw.uniform(0.2, 1.2)
    room = kind.largest_gb * draw.uniform(0.6, 0.95) - start
    return np.asarray(start + room * shape ** draw.uniform(2.0, 4.0))


def _up_to(need_gb: NDArray[np.float64], largest_gb: float) -> NDArray[np.float64]:
    return np.asarray(need_gb * (largest_gb / need_gb.max()))


def _runtime_s(kind: TaskKind, need_gb: NDArray[np.float64]) -> NDArray[np.float64]:
    """How long it takes: grows with the need as Table 6's two columns imply.

    They differ because heavy rows run longer. The constants are solved for its bins' runtimes: task
    1's rows above 60 GB take about 10 times the mean row's time, and task 2's above 70 GB 20 times.
    """
    if kind.name == HEAVY_1:
        return np.asarray(200.0 * need_gb**0.63)
    if kind.name == HEAVY_2:
        return np.asarray(60.0 + 63.0 * need_gb)
    return np.asarray(120.0 + 40.0 * need_gb)


def _cores(kind: TaskKind, rows: int, draw: np.random.Generator) -> NDArray[np.float64]:
    if kind.parallel:
        return draw.uniform(2.5, 5.0, rows)
    return np.clip(draw.normal(0.85, 0.1, rows), 0.2, 1.0)


def _features(situation: Situation, place: int, *, common: bool) -> dict[str, float | str]:
    """What is known before: the scenario's attributes and the execution date, no price effect."""
    instances: Instances = situation.instances
    scenario = situation.scenarios[int(instances.scenario[place])]
    known: dict[str, float | str] = {
        "region": scenario.region,
        "execution_date": instances.on[place].isoformat(),
    }
    if common:
        return known
    return known | {
        "products": float(instances.products[place]),
        "departments": float(scenario.departments),
        "stores": float(scenario.stores),
        "sale_start": scenario.sale_start.isoformat(),
        "sale_end": scenario.sale_end.isoformat(),
    }
