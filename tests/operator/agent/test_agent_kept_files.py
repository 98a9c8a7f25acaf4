"""Files that are read at every tick stay open, and never show another cgroup than their own."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
from pathlib import Path

import pytest

from plimsoll_operator.agent.kept_files import MOST_KEPT, OTHERS, KeptFiles, room_for_files
from plimsoll_operator.agent.pod_cgroups import Version
from plimsoll_operator.agent.sampler import Sampler
from tests.builders.agent.cgroup_trees import UID
from tests.rigs.node.enforced_limits import pods_there
from tests.rigs.node.real_pods import a_real_pod

CGROUPS = "/sys/fs/cgroup"


def descriptors(below: Path | str) -> int:
    """How many files below a folder are open; others come and go with garbage collection."""
    count = 0
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            count += os.readlink(each).startswith(str(below))
    return count


def test_a_file_is_opened_once_and_read_anew(tmp_path: Path) -> None:
    file, kept = tmp_path / "memory.current", KeptFiles()
    file.write_text("1\n")
    assert kept.text(str(file)) == "1\n"
    file.write_text("22\n")
    assert [kept.text(str(file)) for _ in range(3)] == ["22\n"] * 3
    assert (len(kept), descriptors(tmp_path)) == (1, 1)


def test_what_there_is_no_room_for_is_read_and_not_kept(tmp_path: Path) -> None:
    kept = KeptFiles(most=1)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
        assert kept.text(str(tmp_path / name)) == name
    assert (len(kept), descriptors(tmp_path)) == (1, 1)
    with pytest.raises(FileNotFoundError):
        kept.text(str(tmp_path / "d"))


@pytest.mark.slow
def test_a_folders_files_are_closed_with_it_and_all_at_the_end(tmp_path: Path) -> None:
    kept = KeptFiles()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        for name in ("a", "b"):
            (tmp_path / folder / name).write_text(folder)
            kept.text(str(tmp_path / folder / name))
    kept.close_below(str(tmp_path / "one"))
    kept.close_below(str(tmp_path / "never"))
    assert (len(kept), descriptors(tmp_path)) == (2, 2)
    assert kept.text(str(tmp_path / "two" / "a")) == "two"
    del kept
    gc.collect()
    assert descriptors(tmp_path) == 0


def test_no_more_are_kept_than_the_process_may_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OTHERS + 7, hard))
        assert room_for_files() == 7
        resource.setrlimit(resource.RLIMIT_NOFILE, (OTHERS - 7, hard))
        assert room_for_files() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert room_for_files() <= MOST_KEPT


def test_a_cgroup_that_was_made_again_under_its_name_is_read_and_not_the_one_before() -> None:
    with a_real_pod() as pod:
        kept = KeptFiles()
        v1 = pod.hierarchy.version is Version.V1
        path = f"{pod.container}/{'memory.usage_in_bytes' if v1 else 'memory.current'}"
        limit = f"{pod.container}/{'memory.limit_in_bytes' if v1 else 'memory.max'}"
        Path(limit).write_text(str(64 << 20))
        kept.text(path)
        assert kept.text(limit) == f"{64 << 20}\n"
        pod.remove_container()
        with pytest.raises(OSError, match=r"No such (file|device)"):
            kept.text(path)
        Path(pod.container).mkdir()
        assert kept.text(limit) != f"{64 << 20}\n"
        assert kept.text(path).strip().isdecimal()


def test_between_two_ticks_no_file_of_a_pod_is_opened_and_none_stays_open_after_it() -> None:
    with a_real_pod(UID) as pod:
        sampler = Sampler(pod.hierarchy.version, {}, lambda: 1.7e9)
        sampler.tick(pods_there(pod.hierarchy))
        kept = len(sampler.files)
        assert kept >= 2 * 2  # of the pod and of its container
        sampler.tick(pods_there(pod.hierarchy))
        assert (len(sampler.files), descriptors(CGROUPS)) == (kept, kept)
        sampler.tick([])
        assert (len(sampler.files), descriptors(CGROUPS)) == (0, 0)
