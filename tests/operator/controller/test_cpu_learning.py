"""CPU used by runs, from the agent's last report to admission's decision."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.restoring import remember_all
from plimsoll_operator.controller.serving.peak_routes import BadReportsError, read_reports
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.sizing.decision_note import CpuNote, DecisionNote, note_to_json
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.deciding.cpu import CpuReason
from plimsoll_predictor.store import Store
from tests.builders.controller.ledgers import TRAIN, a_final, a_train, an_inside, ended
from tests.builders.pods import APod
from tests.builders.stores import a_run


def decided_cpu(pod: APod) -> APod:
    """A pod as admission leaves it: its author asked for four cores, it requests one."""
    cpu = CpuNote(
        request_millicores=1000,
        was_millicores=4000,
        mode=Mode.ENFORCE,
        reason=CpuReason.USED,
        why="a test says so",
    )
    note = DecisionNote(
        task=str(TRAIN),
        run=None,
        attempt=1,
        allocation_bytes=None,
        was_request_bytes=None,
        was_limit_bytes=None,
        bin=None,
        probability=None,
        model=None,
        reason=Reason.KEPT,
        why="a test says so",
        mode=Mode.RECOMMEND,
        container="main",
        cpu=cpu,
    )
    return pod.with_cpu("1").annotated({DECISION: note_to_json(note)})


@pytest.mark.slow
async def test_a_run_teaches_what_it_used(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.report(replace(a_final(), cpu_s=90.0, peak_cores=2.5))
        await inside.see(ended(decided_cpu(a_train())))
        (observation,) = inside.store.observations.of_task(TRAIN)
        assert (observation.request_cores, observation.allocated_cores) == (4.0, 1.0)
        assert (observation.mean_cores, observation.peak_cores) == (1.5, 2.5)
        async with asyncio.timeout(120):
            # It is written beside the profile; that the profile's API server is away must not
            # matter.
            keeping = asyncio.create_task(inside.controller.profiles.run())
            while inside.known.cpu is None:
                await asyncio.sleep(0.05)
            keeping.cancel()
        assert inside.known.cpu == CpuUse(runs=1, high_cores=1.5, peak_cores=2.5)


def test_an_agent_from_before_still_reports() -> None:
    old = to_document(a_final())
    del old["peak_cores"]
    (report,) = _read(old)
    assert report.peak_cores is None
    (report,) = _read({**old, "peak_cores": 1.5})
    assert report.peak_cores == 1.5


def test_cores_that_are_none_are_refused() -> None:
    for cores in (-1, 1e9, "2", True):
        with pytest.raises(BadReportsError, match="peak_cores"):
            _read({**to_document(a_final()), "peak_cores": cores})


def test_the_busiest_minute_is_kept_whichever_report_told_it() -> None:
    book = PeakBook()
    book.add([replace(a_final(), peak_cores=2.0, final=False), a_final()])
    best = book.best("uid-train-1", None, 1)
    assert best is not None
    assert best.peak_cores == 2.0


def _read(report: dict[str, object]) -> list[PeakReport]:
    return read_reports(json.dumps({"node": "n", "reports": [report]}).encode())[1]


def test_a_controller_starts_though_a_tasks_cpu_cannot_be_read(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "store.db"))
    store.observations.record([a_run(1)])
    with store.database.write() as connection:
        connection.execute(sa.text('UPDATE totals SET cpu = \'{"runs": 1, "high_cores": 1.6e7}\''))
    (remembered,) = remember_all(store).values()
    store.close()
    assert (remembered.knowledge.runs, remembered.knowledge.cpu) == (1, None)


def test_a_controller_that_starts_again_knows_what_runs_used(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "store.db"))
    for place in range(3):
        store.observations.record([a_run(place)])
    (remembered,) = remember_all(store).values()
    store.close()
    assert remembered.knowledge.cpu == CpuUse(runs=3, high_cores=0.5, peak_cores=0.9)
