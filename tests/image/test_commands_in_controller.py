"""Commands that need the store run in the leading controller's pod: real image, real exec.

The pod only keeps the store: what is tested is the way there and back.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploy.local.images.dockerfile import TARGETS, build_image
from deploy.local.images.on_node import has_image, load_image

from tests.apiserver.crds import install_crds
from tests.apiserver.people import Person, a_person_who_may, an_admin
from tests.conftest import Cluster

pytestmark = pytest.mark.node

NAMESPACE = "elsewhere"
STORE = "sqlite:////state/plimsoll.db"
HISTORY = Path(__file__).parents[2] / "demo" / "history.csv"
ROWS = len(HISTORY.read_text().splitlines()) - 1
TASK = "shop/train-demand"
LABELS = {"app.kubernetes.io/name": "plimsoll", "app.kubernetes.io/component": "controller"}
LEADS = {"plimsoll.dev/leader": "true"}


def an_image(cluster: Cluster) -> str:
    """The image of this checkout, in the node."""
    layout = cluster.handle.layout
    image = build_image(TARGETS["plimsoll"], cluster.handle.environment, _say)
    if not has_image(layout, image.reference):
        load_image(layout, image.archive)
    return image.reference


def a_pod(image: str) -> dict[str, Any]:
    """A controller's pod, as the chart would make it: read-only, with an unprivileged user."""
    volumes = ("state", "tmp")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "leader", "namespace": NAMESPACE, "labels": {**LABELS, **LEADS}},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsNonRoot": True, "fsGroup": 65532},
            "containers": [
                {
                    "name": "controller",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "command": ["python", "-c", "import time; time.sleep(1e6)"],
                    "env": [{"name": "PLIMSOLL_STORE_URL", "value": STORE}],
                    "securityContext": {
                        "readOnlyRootFilesystem": True,
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [{"name": each, "mountPath": f"/{each}"} for each in volumes],
                }
            ],
            "volumes": [{"name": each, "emptyDir": {}} for each in volumes],
        },
    }


@pytest.fixture(scope="module")
def admin(cluster: Cluster, program: Path) -> Iterator[Person]:
    """An administrator, beside a leading pod that knows the demo's history."""
    install_crds(cluster)
    image = an_image(cluster)
    cluster.kubectl("create", "namespace", NAMESPACE)
    try:
        cluster.apply(a_pod(image))
        cluster.kubectl(
            *("wait", "pod/leader", "-n", NAMESPACE, "--for=condition=Ready", "--timeout=240s")
        )
        person = an_admin(cluster, program, PLIMSOLL_INSTALLED_IN=NAMESPACE)
        taken = person.plimsoll("import", str(HISTORY), "--strict")
        assert taken.status == 0, taken
        assert f"{ROWS} new, 0 known before" in taken.out
        yield person
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_a_history_is_taken_in_once_also_by_standard_input(admin: Person) -> None:
    again = admin.plimsoll("import", "-", stdin=HISTORY.read_bytes())
    assert again.status == 0, again
    assert f"0 new, {ROWS} known before" in again.out


def test_a_task_is_explained_from_there(admin: Person) -> None:
    told = admin.plimsoll("explain", TASK, "-o", "json").document
    assert told["known_runs"] == ROWS // 2
    assert told["now"]["size_bytes"]
    table = admin.plimsoll("explain", TASK)
    assert "such a run now" in table.out
    assert "\x1b" not in table.out, "nobody looks at a terminal"


def test_the_exit_status_and_what_is_wrong_come_back(admin: Person) -> None:
    unknown = admin.plimsoll("explain", "shop/train-demnad")
    assert unknown.status == 1
    assert "did you mean shop/train-demand" in unknown.err
    assert unknown.out == ""
    never = admin.plimsoll("models", TASK)
    assert never.status == 1
    assert "never trained" in never.err


def test_the_report_and_the_history_become_files_here(admin: Person, tmp_path: Path) -> None:
    page, history = tmp_path / "page.html", tmp_path / "history.csv.gz"
    assert admin.plimsoll("report", "--out", str(page)).status == 0
    assert page.read_text().lstrip().startswith("<!")
    assert page.read_text().rstrip().endswith("</html>")
    assert admin.plimsoll("export", TASK, "--out", str(history)).status == 0
    exported = gzip.decompress(history.read_bytes()).decode()
    assert len(exported.splitlines()) == ROWS // 2 + 1
    assert admin.plimsoll("export", TASK, "--out", "-").out == exported


def test_what_fails_there_leaves_no_file_here(admin: Person, tmp_path: Path) -> None:
    failed = admin.plimsoll("report", "shop/nobody", "--out", str(tmp_path / "page.html"))
    assert failed.status == 1
    assert "no attempt was observed" in failed.err
    assert list(tmp_path.iterdir()) == []


def test_a_tasks_own_history_is_replayed_here(admin: Person) -> None:
    replayed = admin.plimsoll("replay", "--from-store", TASK, "--policy", "max-seen")
    assert replayed.status == 0, replayed
    assert TASK in replayed.out


def test_in_a_terminal_it_looks_as_if_it_ran_here(admin: Person) -> None:
    """Through a real pseudo terminal of eighty columns."""
    script = (
        "import os, pty, sys\n"
        "out = bytearray()\n"
        "def read(fd):\n"
        "    data = os.read(fd, 4096); out.extend(data); return data\n"
        "os.environ.update(COLUMNS='80', TERM='xterm-256color')\n"
        "status = pty.spawn(sys.argv[1:], read, lambda fd: b'')\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )
    words = [sys.executable, "-P", "-m", "plimsoll_operator", "explain", TASK]
    shown = admin.run([sys.executable, "-c", script, *words])
    assert shown.status == 0, shown
    assert "\x1b[" in shown.out
    assert f"╭─ {TASK} " in shown.out


def test_who_may_not_exec_is_told_what_it_takes(
    cluster: Cluster, admin: Person, tmp_path: Path
) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    somebody = a_person_who_may(cluster, NAMESPACE, rules, tmp_path)
    refused = somebody.plimsoll("explain", TASK, "--installed-in", NAMESPACE)
    assert refused.status == 1
    assert "get and create on pods/exec are needed" in refused.err
    assert "Traceback" not in refused.err


def test_without_a_leader_the_pods_that_are_there_are_named(
    cluster: Cluster, admin: Person
) -> None:
    cluster.kubectl("label", "pod", "leader", "-n", NAMESPACE, "plimsoll.dev/leader-")
    try:
        told = admin.plimsoll("explain", TASK)
        assert told.status == 1
        assert f"no controller leads in namespace {NAMESPACE} (leader stands by)" in told.err
    finally:
        cluster.kubectl("label", "pod", "leader", "-n", NAMESPACE, "plimsoll.dev/leader=true")


def test_a_file_that_is_no_history_is_refused_there_and_said_here(
    admin: Person, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("name,colour\na,red\n")
    refused = admin.plimsoll("import", str(other))
    assert refused.status == 1
    assert "lacks the columns task" in " ".join(refused.err.split())
    assert str(other) in " ".join(refused.err.split())


def _say(words: str) -> None:
    print(words, file=sys.stderr)
