"""The Dockerfile's image, in a pod with as few rights as the chart's pods."""

from __future__ import annotations

import base64
import io
import json
import os
import tarfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from deploy.local.images.dockerfile import TARGETS, Image, build_image
from deploy.local.images.on_node import has_image, load_image

from plimsoll_operator.processes.run_webhook import make_certificates
from tests.conftest import Cluster

pytestmark = pytest.mark.node

USER: Final = 65532
TRAINING: Final = ("xgboost", "sklearn", "scipy", "imblearn", "skopt")
PLIMSOLL: Final = ("python", "-P", "-m", "plimsoll_operator")

WALK: Final = """
import json, os, stat
found = {"setuid": [], "writable": [], "names": [], "sizes": {}}
for folder, folders, files in os.walk("/", topdown=True):
    folders[:] = [f for f in folders if os.path.join(folder, f) not in ("/proc", "/sys", "/dev")]
    for name in files + folders:
        path = os.path.join(folder, name)
        kept = os.lstat(path)
        if stat.S_ISREG(kept.st_mode):
            found["names"].append(path)
            if kept.st_mode & 0o6000:
                found["setuid"].append(path)
        if not stat.S_ISLNK(kept.st_mode) and os.access(path, os.W_OK):
            found["writable"].append(path)
print(json.dumps(found))
"""


@dataclass(frozen=True)
class RunningPod:
    """Admission in a container of the image, without a controller."""

    cluster: Cluster
    namespace: str
    name: str = "admission"

    def run(self, *words: str, stdin: str | None = None) -> str:
        """Run a program in its container; return what it printed."""
        interactive = ("-i",) if stdin is not None else ()
        where = ("exec", *interactive, "-n", self.namespace, self.name, "--")
        return self.cluster.kubectl(*where, *words, stdin=stdin)

    def python(self, code: str) -> str:
        return self.run("python", "-c", code)

    def log(self) -> str:
        return self.cluster.kubectl("logs", "-n", self.namespace, self.name)


@pytest.fixture(scope="module")
def built() -> Image:
    """The image; already built if `make image` ran since the last change."""
    return build_image(TARGETS["plimsoll"], dict(os.environ), print)


@pytest.fixture(scope="module")
def image(cluster: Cluster, built: Image) -> str:
    """The image's name, once the node has it."""
    if not has_image(cluster.handle.layout, built.reference):
        load_image(cluster.handle.layout, built.archive)
    return built.reference


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace that admits only pods of the restricted profile."""
    name = f"image-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    cluster.kubectl("label", "namespace", name, enforced)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def pod(
    cluster: Cluster, image: str, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> RunningPod:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, ["127.0.0.1"], datetime.now(UTC))
    files = {path.name: base64.b64encode(path.read_bytes()).decode() for path in folder.iterdir()}
    files["token"] = base64.b64encode(b"nobody-listens").decode()
    metadata = {"name": "admission", "namespace": namespace}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": files})
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": a_spec(image)})
    cluster.kubectl(
        "wait", "pod/admission", "-n", namespace, "--for=condition=Ready", "--timeout=240s"
    )
    return RunningPod(cluster, namespace)


@pytest.fixture(scope="module")
def files(pod: RunningPod) -> dict[str, Any]:
    """Every file of the image, and what its user may write."""
    found: dict[str, Any] = json.loads(pod.python(WALK))
    return found


def a_spec(image: str) -> dict[str, Any]:
    """Admission as restricted as a pod can be; every module that it imports is in its log."""
    container = {
        "name": "admission",
        "image": image,
        "imagePullPolicy": "Never",
        "args": [
            "admission",
            *("--certificate", "/secret/tls.crt", "--key", "/secret/tls.key"),
            *("--feed", "http://127.0.0.1:1", "--token-file", "/secret/token"),
        ],
        "env": [{"name": "PYTHONPROFILEIMPORTTIME", "value": "1"}],
        "securityContext": {
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "readinessProbe": {
            "tcpSocket": {"port": 9443},
            "periodSeconds": 1,
        },
        "resources": {"limits": {"memory": "768Mi"}},
        "volumeMounts": [
            {"name": "secret", "mountPath": "/secret", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
    volumes = [
        {"name": "secret", "secret": {"secretName": "admission"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    return {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": volumes,
    }


def test_its_layers_are_three_and_their_sizes_as_decided(built: Image) -> None:
    """docs/adr/0012-image.md has the sizes, and why. A new dependency may cost a tenth at most."""
    with tarfile.open(built.archive) as archive:
        [manifest] = json.load(archive.extractfile("manifest.json") or io.BytesIO())
        layers_mb = [archive.getmember(name).size / 1e6 for name in manifest["Layers"]]
    print("image layers, in MB:", *(f"{size:.0f}" for size in layers_mb))
    assert len(layers_mb) == 3
    for size_mb, decided_mb in zip(layers_mb, (68, 400, 13), strict=True):
        assert size_mb <= 1.1 * decided_mb + 1


def test_it_says_what_it_is_and_starts_as_nobody(built: Image) -> None:
    with tarfile.open(built.archive) as archive:
        [manifest] = json.load(archive.extractfile("manifest.json") or io.BytesIO())
        config = json.load(archive.extractfile(manifest["Config"]) or io.BytesIO())["config"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Labels"]["org.opencontainers.image.title"] == "Plimsoll"
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert config["Entrypoint"][0] == "python"


def test_it_runs_as_a_numeric_user_that_is_not_root_without_any_being_asked_for(
    pod: RunningPod,
) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in pod.run("cat", "/proc/1/status").splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split() == [str(USER)] * 4
    assert status["Gid"].split() == [str(USER)] * 4
    assert int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"] == "1"


def test_nothing_in_it_is_setuid_and_nothing_but_its_own_folder_can_be_written(
    files: dict[str, Any],
) -> None:
    assert files["setuid"] == []
    assert len(files["names"]) > 5000
    own = {path for path in files["writable"] if not path.startswith("/tmp")}
    assert own == set()


@pytest.mark.parametrize("place", ["/var/tmp", "/run", "/opt/plimsoll", "/home", "/root"])
def test_its_root_is_read_only(pod: RunningPod, place: str) -> None:
    probe = f"open({place!r} + '/probe', 'w')"
    said = pod.python(f"try:\n {probe}\nexcept OSError as e: print(type(e).__name__, e.errno)")
    assert said.split()[1] in {"30", "13", "2"}, said


def test_it_has_no_compiler_no_package_manager_and_no_pip(files: dict[str, Any]) -> None:
    names = files["names"]
    programs = {Path(name).name for name in names if "/bin/" in name or "/sbin/" in name}
    unwanted = {"gcc", "cc", "c++", "g++", "ld", "as", "make", "apt", "apt-get", "dpkg", "perl"}
    unwanted |= {"pip", "pip3", "curl", "wget", "su", "mount", "passwd", "bash"}
    assert programs & unwanted == set()
    assert "sh" in programs or "dash" in programs
    parts = ("/site-packages/pip/", "/pip/_vendor", "/ensurepip/", "/setuptools/", "/.cache/")
    assert [name for name in names if any(part in name for part in parts)] == []
    assert [name for name in names if name.endswith((".whl", ".deb", ".a", ".pyx"))] == []


def test_every_module_in_it_is_compiled_for_good(pod: RunningPod) -> None:
    code = """
import importlib.util, pathlib, sysconfig
stale, seen = [], 0
for root in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}:
    for source in pathlib.Path(root).rglob("*.py"):
        compiled = pathlib.Path(importlib.util.cache_from_source(str(source)))
        seen += 1
        # Flags 1: valid by hash, and the hash is not looked up again.
        if not compiled.exists() or compiled.read_bytes()[4:8] != b"\\x01\\x00\\x00\\x00":
            stale.append(str(source))
print(seen, len(stale), *stale[:5])
"""
    seen, stale, *which = pod.python(code).split()
    assert int(seen) > 3000
    # Templates of libraries, which are not Python until they are filled in.
    assert int(stale) <= 3, which


def test_nothing_of_the_machine_that_built_it_is_in_it(
    pod: RunningPod, files: dict[str, Any]
) -> None:
    code = "import os; print(sorted(k for k in os.environ if 'PIP' in k or 'PROXY' in k.upper()))"
    assert pod.python(code).strip() == "[]"
    names = files["names"]
    assert [n for n in names if n.endswith(("pip.conf", "sources.list", ".netrc"))] == []


def test_admission_maps_no_library_of_training(pod: RunningPod) -> None:
    mapped = {line.split()[-1] for line in pod.run("cat", "/proc/1/maps").splitlines()}
    libraries = {path for path in mapped if ".so" in path}
    assert any("numpy" in path for path in libraries), "its maps are not what is read"
    assert not [p for p in libraries if any(f"/{n}" in p for n in TRAINING)]


def test_admission_imports_no_module_of_training_and_no_kubernetes_client(pod: RunningPod) -> None:
    imported = {
        line.rpartition("|")[2].strip()
        for line in pod.log().splitlines()
        if line.startswith("import time:")
    }
    # The package itself is hidden, so a look for kubernetes.client imports nothing.
    assert {"numpy", "aiohttp", "plimsoll_operator"} <= imported
    assert not imported & {"kubernetes", "kubernetes_asyncio", "kubernetes_asyncio.client.models"}
    assert not {n for n in imported if n.startswith(TRAINING)}


@pytest.mark.parametrize("command", ["admission", "controller", "trainer", "agent"])
def test_one_image_has_the_four_processes(pod: RunningPod, command: str) -> None:
    assert "Usage" in pod.run(*PLIMSOLL, command, "--help")


def test_a_training_in_it_ends_with_a_model(pod: RunningPod) -> None:
    store = ("--store", "sqlite:////tmp/training.db")
    rows = ["namespace,task,run,started_s,finished_s,outcome,peak_bytes,request_bytes,feature.rows"]
    for number in range(60):
        start = 1_760_000_000 + 600 * number
        size = 1 + number % 3
        rows.append(
            f"shop,train,r{number},{start},{start + 60},succeeded,"
            f"{size * 300_000_000},4000000000,{size * 1000}"
        )
    pod.run("tee", "/tmp/history.csv", stdin="\n".join(rows) + "\n")
    pod.run(*PLIMSOLL, "import", "/tmp/history.csv", *store)
    said = pod.run(*PLIMSOLL, "trainer", "shop/train", *store, "--budget", "1")
    assert json.loads(said)["ok"], said
    assert "shop/train" in pod.run(*PLIMSOLL, "models", "shop/train", *store)
    pod.run(*PLIMSOLL, "report", *store, "--out", "/tmp/report.html")


def test_it_starts_fast_though_nothing_can_be_compiled_at_run_time(pod: RunningPod) -> None:
    code = "import time, plimsoll_operator.processes.admission; print(time.process_time())"
    quietly = ("env", "-u", "PYTHONPROFILEIMPORTTIME")
    # Python then looks for compiled files where there are none.
    elsewhere = "PYTHONPYCACHEPREFIX=/tmp/none"
    timed = ("python", "-P", "-c", code)
    # Processor time: other work of the machine does not count.
    with_s = float(pod.run(*quietly, *timed))
    without_s = float(pod.run(*quietly, elsewhere, *timed))
    print(f"admission is imported in {with_s:.2f} s of CPU, uncompiled in {without_s:.2f} s")
    assert with_s < 0.75 * without_s


def test_it_ends_soon_when_asked_to(pod: RunningPod) -> None:
    """Its first process takes signals itself: no shell stands in between."""
    began_s = time.monotonic()
    where = ("pod", pod.name, "-n", pod.namespace)
    pod.cluster.kubectl("delete", *where, "--grace-period=600")
    assert time.monotonic() - began_s < 300.0, "it ended by itself, and not by its grace period"
