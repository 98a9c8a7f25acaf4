"""The pages on installing, the first task and operations, followed on the cluster."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deploy.chart.rendering import NAME
from deploy.local.images.on_node import ctr
from deploy.local.layout import NODE_ADDRESS

from tests.chart.helm import Helm
from tests.chart.installing import RESTRICTED, a_place, chart_values, install
from tests.conftest import Cluster
from tests.docs.pages import Block, Page
from tests.docs.walking import Walk, walked
from tests.rigs.servers.databases import PostgreSQL, postgresql_server

pytestmark = [pytest.mark.cluster, pytest.mark.node]

REGISTRY, TAG = "localhost", "0.1.0"
IMAGE = f"{REGISTRY}/{NAME}:{TAG}"
STORE = f"{NAME}-store"
RUNS = 5
HISTORY = "namespace,task,run,finished_s,runtime_s,peak_bytes,request_bytes\n" + "".join(
    f"shop,train-demand,r{number},{1_760_000_000 + 600 * number},60,812000000,4294967296\n"
    for number in range(RUNS)
)


@pytest.fixture(scope="module")
def documented_image(cluster: Cluster, image: str) -> str:
    """The image by the name that the pages give it."""
    ctr(cluster.handle.layout, "images", "tag", "--force", image, IMAGE, doing="naming the image")
    return IMAGE


@pytest.fixture(scope="module")
def postgresql(cluster: Cluster) -> Iterator[PostgreSQL]:
    """A server in the cluster's network, reachable also for pods."""
    with postgresql_server("*") as server:
        yield server


@pytest.fixture
def database_url(postgresql: PostgreSQL) -> str:
    """A new database that pods can reach."""
    return postgresql.url(postgresql.new_database(empty=True), NODE_ADDRESS)


@pytest.fixture
def plain_walk(
    cluster: Cluster, helm_program: Path, documented_image: str, database_url: str, tmp_path: Path
) -> Walk:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(cluster.handle.binaries / "kubectl")
    (programs / "helm").symlink_to(helm_program)
    folder = tmp_path / "walk"
    folder.mkdir()
    settings = {
        "KUBECONFIG": str(cluster.kubeconfig),
        "HELM_CACHE_HOME": str(tmp_path / "helm"),
        "REGISTRY": REGISTRY,
        "IMAGE": documented_image,
        "DATABASE_URL": database_url,
        "DATABASE": database_url,
    }
    return Walk(folder, programs, settings, cluster.enter([]))


@pytest.fixture
def walk(plain_walk: Walk, program: Path) -> Walk:
    """The same, with a ``plimsoll`` whose imports are done instead of the installed one."""
    (plain_walk.programs / program.name).symlink_to(program)
    return plain_walk


@pytest.fixture
def open_place(cluster: Cluster) -> Iterator[None]:
    """Room for an installation in a namespace that enforces no Pod Security, as most do."""
    with a_place(cluster, kinds_too=True):
        cluster.kubectl("label", "namespace", NAME, f"{RESTRICTED}-")
        yield


@pytest.fixture
def installed(open_place: None, admins_helm: Helm, cluster: Cluster, documented_image: str) -> None:
    """Plimsoll, by a release whose agents share its namespace."""
    values = chart_values(documented_image, agent={"namespace": ""})
    install(admins_helm, cluster, values)


def offer_volume(cluster: Cluster) -> None:
    """Do what a cluster's provisioner does: a new claim finds a volume again."""
    volume = cluster.get("persistentvolume", STORE)
    if volume["status"]["phase"] == "Released":
        release = json.dumps([{"op": "remove", "path": "/spec/claimRef/uid"}])
        cluster.kubectl("patch", "persistentvolume", STORE, "--type=json", "-p", release)


def follow(walk: Walk, cluster: Cluster, page: str) -> dict[str, str]:
    """Run every block of a page; return each block's first command -> what the block printed."""
    said = {}
    for block in walked(Page(page)):
        offer_volume(cluster)
        began_s = time.monotonic()
        said[block.commands()[0]] = _run(walk, block)
        print(f"{block} took {time.monotonic() - began_s:.1f} s")
    return said


def _run(walk: Walk, block: Block) -> str:
    if "port-forward" not in block.text:
        return walk.run(block)
    # It serves until it is ended: here, once the test has seen what it serves.
    looks = (
        "import time, urllib.request as r\n"
        "for _ in range(600):\n"
        "  try: print(r.urlopen('http://127.0.0.1:8082/').read().decode()); break\n"
        "  except OSError: time.sleep(0.5)\n"
        "else: raise SystemExit('no page')"
    )
    text = f'{block.text.strip()} &\ntrap "kill $!" EXIT\npython3 -c "{looks}"\n'
    return walk.shell(text, str(block))


def said_by(said: dict[str, str], start: str) -> str:
    """The output of the first block that begins with this."""
    found = [text for command, text in said.items() if command.startswith(start)]
    assert found, f"no block begins with {start!r}"
    return found[0]


def test_the_page_on_installing_can_be_followed(
    open_place: None, plain_walk: Walk, cluster: Cluster
) -> None:
    said = follow(plain_walk, cluster, "docs/install.md")
    assert "Succeeded" in said_by(said, "helm install")
    assert "plimsoll-controller" in said_by(said, "kubectl get pods")
    assert "uninstalled" in said_by(said, "helm uninstall")
    assert "kind: MutatingWebhookConfiguration" in (plain_walk.folder / "plimsoll.yaml").read_text()


def test_the_first_task_can_be_followed(installed: None, walk: Walk, cluster: Cluster) -> None:
    said = follow(walk, cluster, "docs/first-task.md")
    assert "sort-numbers" in said_by(said, "kubectl wait --namespace first --for=jsonpath")
    decisions = said_by(
        said, "kubectl get pods --namespace first --output custom-columns='POD:.meta"
    )
    assert decisions.count('"task"') >= 3, decisions
    last = said_by(said, "plimsoll enforce")
    assert last.count("512Mi") == 3, f"the pod that was enforced was not made smaller:\n{last}"


def test_the_page_on_operations_can_be_followed(
    installed: None, walk: Walk, cluster: Cluster
) -> None:
    walk.shell('psql "$DATABASE" -c "CREATE TABLE kept (run text)"', "a database to back up")
    (walk.folder / "history.csv").write_text(HISTORY)
    walk.shell("plimsoll import history.csv", "a past to keep")
    said = follow(walk, cluster, "docs/operations.md")
    assert "<html" in said_by(said, "kubectl port-forward")
    assert "paused" in said_by(said, "plimsoll pause").lower()
    backup = sqlite3.connect(walk.folder / "plimsoll-backup.db")
    [[kept]] = backup.execute("SELECT count(*) FROM observations").fetchall()
    backup.close()
    assert kept == RUNS
    assert (walk.folder / "plimsoll.dump").stat().st_size > 0
    with gzip.open(walk.folder / "plimsoll-history.csv.gz", "rt") as exported:
        assert sum(1 for _ in exported) == RUNS + 1, "what was restored is not what was backed up"
    assert "Rollback was a success" in said_by(said, "helm rollback")
