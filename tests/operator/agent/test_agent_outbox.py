"""Reports that wait for the controller, in memory and on disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.outbox import Outbox, Waiting
from plimsoll_operator.agent.spool import FILE_NAME, Spool, Spooled
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, UID, a_reading, a_report

REPORT_BYTES = len(json.dumps(to_document(a_report(pod_uid="pod-00"))))


class Clock:
    """A monotonic clock that tests move."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def an_outbox(clock: Clock | None = None, *, reports: int = 100) -> Outbox:
    return Outbox(reports * REPORT_BYTES + 10, 3600.0, clock or Clock())


def uids(reports: list[PeakReport]) -> list[str]:
    return [report.pod_uid for report in reports]


def test_a_later_report_of_a_cgroup_replaces_the_earlier_one() -> None:
    outbox = an_outbox()
    outbox.offer([a_report(), a_report(need_peak_bytes=150 * MIB), a_report(container_id=None)])
    assert [report.need_peak_bytes for report in outbox.batch(10)] == [150 * MIB, 100 * MIB]


def test_finals_go_first() -> None:
    outbox = an_outbox()
    outbox.offer([a_report(pod_uid="pod-01"), a_report(pod_uid="pod-02", final=True)])
    assert uids(outbox.batch(1)) == ["pod-02"]


def test_only_what_was_sent_is_acknowledged() -> None:
    outbox = an_outbox()
    outbox.offer([a_report()])
    sent = outbox.batch(10)
    outbox.offer([a_report(need_peak_bytes=180 * MIB)])
    outbox.acknowledge(sent)
    assert [report.need_peak_bytes for report in outbox.batch(10)] == [180 * MIB]

    outbox.acknowledge(outbox.batch(10))
    assert len(outbox) == 0


def test_over_its_size_running_ones_are_dropped_before_finals_and_old_before_new() -> None:
    outbox = an_outbox(reports=3)
    outbox.offer(
        [
            a_report(pod_uid="pod-00", final=True),
            a_report(pod_uid="pod-01"),
            a_report(pod_uid="pod-02"),
            a_report(pod_uid="pod-03", final=True),
        ]
    )
    assert sorted(uids(outbox.batch(10))) == ["pod-00", "pod-02", "pod-03"]

    outbox.offer([a_report(pod_uid="pod-04", final=True), a_report(pod_uid="pod-05", final=True)])
    assert sorted(uids(outbox.batch(10))) == ["pod-03", "pod-04", "pod-05"]
    assert outbox.dropped == 3


def test_what_nobody_fetched_for_too_long_is_dropped() -> None:
    clock = Clock()
    outbox = an_outbox(clock)
    outbox.offer([a_report(pod_uid="pod-01", final=True)])
    clock.now_s += 3000
    outbox.offer([a_report(pod_uid="pod-02", final=True)])
    assert len(outbox) == 2
    clock.now_s += 1000
    outbox.offer([])
    assert uids(outbox.batch(10)) == ["pod-02"]


def a_spooled() -> Spooled:
    running = {
        (UID, None): Peaks().advance(a_reading(cpu_s=1.25, kernel_peak_bytes=50 * MIB)),
        (UID, CONTAINER): Peaks().advance(a_reading(limit_bytes=64 * MIB)),
        ("other", None): Peaks(),
    }
    return Spooled(running, (Waiting(a_report(final=True), 12.5),))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    assert Spool(tmp_path / "state").save(a_spooled())
    assert Spool(tmp_path / "state").load() == a_spooled()


def test_nothing_saved_loads_as_nothing(tmp_path: Path) -> None:
    assert Spool(tmp_path / "never").load() == Spooled()


def test_age_counts_on_over_a_restart_and_not_by_the_wall_clock() -> None:
    clock = Clock()
    outbox = an_outbox(clock)
    outbox.restore([Waiting(a_report(final=True), 3500.0)])
    clock.now_s += 50
    assert outbox.waiting() == [Waiting(a_report(final=True), 3550.0)]
    clock.now_s += 51
    outbox.offer([])
    assert len(outbox) == 0


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda line: line.replace(b"104857600", b"904857600"), id="a changed digit"),
        pytest.param(lambda line: line[: len(line) // 2], id="half a line"),
        pytest.param(lambda _: b"\xff\x00 not ours", id="bytes"),
        pytest.param(lambda _: b'00000000 {"report": 5}', id="a wrong checksum"),
        pytest.param(lambda _: b"", id="an empty line"),
    ],
)
def test_a_damaged_line_costs_only_itself_and_is_logged(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    Spool(tmp_path).save(a_spooled())
    file = tmp_path / FILE_NAME
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([*lines[:-1], damage(lines[-1]), b""]))

    with capture_logs() as logs:
        loaded = Spool(tmp_path).load()

    assert loaded == Spooled(a_spooled().running, ())
    assert [(entry["event"], entry["lines"]) for entry in logs] == [
        ("damaged lines skipped in the spool", [len(lines)])
    ]


def test_a_spool_that_is_a_folder_is_logged_and_started_without(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with capture_logs() as logs:
        assert Spool(tmp_path).load() == Spooled()
    assert logs[0]["event"] == "spool unreadable, starting without it"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 128 KiB. Needs root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "plimsoll-test", str(folder)], check=True
    )
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_logged_once_keeps_the_last_finals_and_recovers(
    small_disk: Path,
) -> None:
    """The maxima of what ran are too old soon; what ended has not changed."""
    spool, saved = Spool(small_disk), a_spooled()
    final = Waiting(a_report(pod_uid="ended", final=True), 3.0)
    assert spool.save(replace(saved, waiting=(*saved.waiting, final)))
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(MIB))
    many = Spooled({}, tuple(Waiting(a_report(pod_uid=f"pod-{n}"), 0.0) for n in range(200)))

    with capture_logs() as logs:
        assert [spool.save(many) for _ in range(3)] == [False] * 3
        finals = tuple(each for each in (*saved.waiting, final) if each.report.final)
        assert Spool(small_disk).load() == Spooled({}, finals)
        ballast.unlink()
        assert spool.save(many)

    assert [entry["event"] for entry in logs] == [
        "spool cannot be written; unsent reports live in memory only until it can",
        "spool is written again",
    ]
    assert Spool(small_disk).load() == many
