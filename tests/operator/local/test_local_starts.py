"""How long the start of a local cluster waits for its programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from deploy.local import lifecycle
from deploy.local.layout import Layout
from deploy.local.lifecycle import Cluster
from deploy.local.machine import namespaces
from deploy.local.machine.namespaces import Process
from deploy.local.trouble import Trouble

PROGRAM = "kube-apiserver"
RUNS = ("/kubernetes/kube-apiserver", "--secure-port=6443")
NEARLY_RUNS = ("setsid", "--fork", *RUNS)
IN_EXEC = ("",)
KEEPER = Process(100, 1, ("plimsoll-cluster:/home",))
Start = Callable[..., float]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Wait for a program; return the seconds that this took.

    seen: the command line of its process at each look; the last one stays, None for no process.
    answers_after_s: None for never.
    """
    layout = Layout(tmp_path)
    layout.logs.mkdir()
    (layout.logs / f"{PROGRAM}.log").write_text("begins\nport in use\n")

    def wait(*seen: tuple[str, ...] | None, answers_after_s: float | None = None) -> float:
        clock, looks = [0.0], list(seen)

        def pause(seconds: float) -> None:
            clock[0] += seconds

        def inside(_: Process) -> list[Process]:
            argv = looks.pop(0) if len(looks) > 1 else looks[0]
            return [KEEPER, *([] if argv is None else [Process(101, 2, argv)])]

        def answer(*_: object, **__: object) -> str | None:
            there = answers_after_s is not None and clock[0] >= answers_after_s
            return "ok" if there else None

        time = SimpleNamespace(monotonic=lambda: clock[0], sleep=pause)
        monkeypatch.setattr(namespaces, "time", time)
        monkeypatch.setattr(lifecycle, "keeper_of", lambda _: KEEPER)
        monkeypatch.setattr(lifecycle, "inside", inside)
        monkeypatch.setattr(lifecycle, "try_run", answer)
        lifecycle._await(Cluster(layout, {}), PROGRAM, ["kubectl"])
        return clock[0]

    return wait


def test_a_program_that_starts_slowly_on_a_busy_machine_is_waited_for(start: Start) -> None:
    assert start(RUNS, answers_after_s=290.0) >= 290.0


def test_a_program_that_never_answers_is_given_up(start: Start) -> None:
    with pytest.raises(Trouble, match=r"is not up after 300 s; .* ends with: begins / port in use"):
        start(RUNS)


@pytest.mark.parametrize("before", [RUNS, NEARLY_RUNS, IN_EXEC])
def test_a_program_that_has_ended_is_told_at_once(start: Start, before: tuple[str, ...]) -> None:
    with pytest.raises(Trouble, match=r"kube-apiserver has ended; .* begins / port in use"):
        start(before, before, None)


@pytest.mark.parametrize("argv", [NEARLY_RUNS, IN_EXEC])
def test_a_program_that_has_not_got_so_far_has_not_ended(
    start: Start, argv: tuple[str, ...]
) -> None:
    assert start(argv, argv, RUNS, answers_after_s=60.0) >= 60.0


def test_a_cluster_whose_api_answers_late_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    within_s = []

    def answer(*_: object, timeout_s: float = 10.0) -> str:
        within_s.append(timeout_s)
        return "ok"

    layout = Layout(tmp_path)
    layout.up_stamp.touch()
    monkeypatch.setattr(Cluster, "missing_programs", lambda _: [])
    monkeypatch.setattr(lifecycle, "try_run", answer)
    assert Cluster(layout, {}).is_up()
    assert min(within_s) >= 60.0, "up would remove a healthy cluster"
