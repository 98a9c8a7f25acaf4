"""Finding pods' cgroups and reading them, on recorded files."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.agent.cgroup_memory import (
    PAGE_BYTES,
    CgroupFiles,
    Glance,
    glance_v1,
    glance_v2,
    read_v1,
    read_v2,
)
from plimsoll_operator.agent.pod_cgroups import (
    CgroupError,
    Version,
    container_id,
    find_hierarchy,
    find_kubepods,
    pod_uid,
    scan,
)
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, UID, RecordedTree

UNDERSCORED = UID.replace("-", "_")


@pytest.mark.parametrize(
    ("folder", "uid"),
    [
        pytest.param(f"pod{UID}", UID, id="cgroupfs"),
        pytest.param(f"kubepods-pod{UNDERSCORED}.slice", UID, id="systemd, guaranteed"),
        pytest.param(f"kubepods-burstable-pod{UNDERSCORED}.slice", UID, id="systemd, burstable"),
        pytest.param(f"kubelet-kubepods-besteffort-pod{UNDERSCORED}.slice", UID, id="kind"),
        pytest.param("pod" + "0" * 32, "0" * 32, id="a static pod"),
        pytest.param("burstable", None, id="a QoS folder is none"),
        pytest.param("podman", None, id="podman's is none"),
        pytest.param(f"pod{UID}x", None, id="more than a UID is none"),
    ],
)
def test_a_pods_uid_is_read_from_its_folder(folder: str, uid: str | None) -> None:
    assert pod_uid(folder) == uid


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        pytest.param(CONTAINER, CONTAINER, id="cgroupfs"),
        pytest.param(f"cri-containerd-{CONTAINER}.scope", CONTAINER, id="containerd"),
        pytest.param(f"docker-{CONTAINER}.scope", CONTAINER, id="docker"),
        pytest.param(f"crio-{CONTAINER}.scope", CONTAINER, id="cri-o"),
        pytest.param(f"crio-{CONTAINER}", CONTAINER, id="cri-o, cgroupfs"),
        pytest.param(f"crio-conmon-{CONTAINER}.scope", None, id="cri-o's monitor is none"),
        pytest.param("init.scope", None, id="an init scope is none"),
    ],
)
def test_a_containers_id_is_read_from_its_folder(folder: str, found: str | None) -> None:
    assert container_id(folder) == found


@pytest.mark.parametrize(
    ("pod", "container"),
    [
        pytest.param(f"kubepods/burstable/pod{UID}", CONTAINER, id="cgroupfs"),
        pytest.param(f"kubepods/pod{UID}", CONTAINER, id="cgroupfs, guaranteed"),
        pytest.param(
            f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERSCORED}.slice",
            f"cri-containerd-{CONTAINER}.scope",
            id="systemd",
        ),
        pytest.param(
            "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
            f"kubelet-kubepods-besteffort-pod{UNDERSCORED}.slice",
            f"cri-containerd-{CONTAINER}.scope",
            id="kind",
        ),
    ],
)
def test_every_pod_is_found_with_its_containers(tmp_path: Path, pod: str, container: str) -> None:
    tree = RecordedTree(tmp_path)
    tree.write(f"{pod}/{container}")
    tree.write("system.slice/containerd.service")
    hierarchy = find_hierarchy(tmp_path)

    (found,) = scan(hierarchy, find_kubepods(hierarchy))

    assert (found.uid, set(found.containers)) == (UID, {CONTAINER})
    assert found.containers[CONTAINER].memory == str(tmp_path / pod / container)


def test_a_mixed_hierarchy_reads_memory_and_cpu_where_each_is(tmp_path: Path) -> None:
    for controller in ("memory", "cpu,cpuacct", "unified"):
        (tmp_path / controller / f"kubepods/pod{UID}/{CONTAINER}").mkdir(parents=True)
    (tmp_path / "memory/memory.usage_in_bytes").write_text("1\n")
    hierarchy = find_hierarchy(tmp_path)

    (found,) = scan(hierarchy, find_kubepods(hierarchy))

    assert hierarchy.version is Version.V1
    assert found.files == CgroupFiles(
        str(tmp_path / f"memory/kubepods/pod{UID}"),
        str(tmp_path / f"cpu,cpuacct/kubepods/pod{UID}"),
    )


def test_a_folder_without_memory_cgroups_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CgroupError, match=r"mount the node's /sys/fs/cgroup"):
        find_hierarchy(tmp_path)


def test_a_node_whose_kubelet_has_not_started_has_no_kubepods(tmp_path: Path) -> None:
    RecordedTree(tmp_path).write("system.slice/kubelet.service")
    assert find_kubepods(find_hierarchy(tmp_path)) == ()


def test_version_2_is_read_whole(tmp_path: Path) -> None:
    folder = RecordedTree(tmp_path).write(
        "one", current=300 * MIB, peak=512 * MIB, anon=80 * MIB, shmem=7 * MIB,
        inactive_file=150 * MIB, active_file=50 * MIB, file_mapped=9 * MIB,
        slab_reclaimable=3 * MIB, pgsteal=2_000, limit=512 * MIB, max=17, usage_usec=2_500_000,
    )  # fmt: skip
    files = CgroupFiles(str(folder), str(folder))
    reading = read_v2(files, glance_v2(files))

    assert (reading.usage_bytes, reading.kernel_peak_bytes) == (300 * MIB, 512 * MIB)
    assert (reading.anon_bytes, reading.shmem_bytes) == (80 * MIB, 7 * MIB)
    assert reading.file_bytes == 200 * MIB
    assert reading.reclaimable_bytes == 203 * MIB
    assert reading.mapped_file_bytes == 9 * MIB
    assert reading.reclaimed_bytes == 2_000 * PAGE_BYTES
    assert (reading.limit_bytes, reading.limit_hits) == (512 * MIB, 17)
    assert reading.cpu_s == pytest.approx(2.5)


def test_version_2_on_an_older_kernel_has_no_peak_and_no_limit(tmp_path: Path) -> None:
    folder = RecordedTree(tmp_path).write("one", peak=None)
    (folder / "cpu.stat").unlink()
    files = CgroupFiles(str(folder), str(folder))
    reading = read_v2(files, glance_v2(files))

    assert reading.kernel_peak_bytes is None
    assert reading.limit_bytes is None
    assert reading.cpu_s is None


@pytest.mark.parametrize(
    ("recorded", "swapped_mib"),
    [
        pytest.param({"swap": 70 * MIB, "pgsteal": 1}, 70, id="pages were put there"),
        pytest.param(
            {"swap": 70 * MIB, "pgsteal": 1, "swapcached": 20 * MIB}, 50, id="some are back, too"
        ),
        pytest.param({"swap": 1, "pgsteal": 1, "swapcached": MIB}, 0, id="all are back"),
        pytest.param({"swap": None, "pgsteal": 1}, 0, id="a kernel without swap"),
        pytest.param({"swap": 70 * MIB}, 0, id="nothing was reclaimed, so nothing is read"),
    ],
)
def test_version_2_tells_what_is_in_swap_and_not_in_memory(
    tmp_path: Path, recorded: dict[str, int | None], swapped_mib: int
) -> None:
    folder = RecordedTree(tmp_path).write("one", **recorded)
    files = CgroupFiles(str(folder), str(folder))
    assert read_v2(files, glance_v2(files)).swapped_bytes == swapped_mib * MIB


RECORDED_V1_STAT = """\
cache 4096
rss 8192
shmem 0
mapped_file 0
inactive_anon 8192
active_anon 0
inactive_file 4096
active_file 0
hierarchical_memory_limit 209715200
total_cache 52428800
total_rss 12582912
total_shmem 1048576
total_mapped_file 2097152
total_inactive_file 41943040
total_active_file 9437184
"""


def test_version_1_counts_children_in_and_knows_unlimited(tmp_path: Path) -> None:
    for name, text in {
        "memory.stat": RECORDED_V1_STAT,
        "memory.usage_in_bytes": "67108864\n",
        "memory.max_usage_in_bytes": "209715200\n",
        "memory.failcnt": "3\n",
        "memory.limit_in_bytes": "9223372036854771712\n",
        "cpuacct.usage": "1500000000\n",
    }.items():
        (tmp_path / name).write_text(text)
    files = CgroupFiles(str(tmp_path), str(tmp_path))
    reading = read_v1(files, glance_v1(files))

    assert glance_v1(files) == Glance(64 * MIB, 200 * MIB, 3)
    assert reading.limit_bytes is None
    assert (reading.anon_bytes, reading.shmem_bytes) == (12 * MIB, 1 * MIB)
    assert reading.file_bytes == 49 * MIB
    assert reading.cpu_s == pytest.approx(1.5)


def test_a_cgroup_that_is_gone_raises_for_the_caller_to_skip(tmp_path: Path) -> None:
    gone = CgroupFiles(str(tmp_path / "gone"), None)
    for glance in (glance_v1, glance_v2):
        with pytest.raises(FileNotFoundError):
            glance(gone)
