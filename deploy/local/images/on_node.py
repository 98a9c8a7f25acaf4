"""Images on the node: the one that every pod needs, and others loaded from files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from deploy.local.images.archive import write_image
from deploy.local.layout import Layout
from deploy.local.node.configuration import PAUSE_IMAGE
from deploy.local.node.nodes import Node, nodes_of
from deploy.local.shell import run
from deploy.local.trouble import Trouble

_NAMESPACE: Final = "k8s.io"

_PAUSE_SOURCE: Final = r"""
/* Holds a pod's namespaces and reaps its orphans. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int s) { (void)s; _exit(0); }
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0); }
int main(void) {
  signal(SIGTERM, end); signal(SIGINT, end); signal(SIGCHLD, reap);
  for (;;) pause();
}
"""


def build_pause_image(target: Path) -> None:
    """Make the sandbox image here, because there may be no registry in reach."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-pause-") as scratch:
        root = Path(scratch) / "root"
        compile_static(_PAUSE_SOURCE, root / "pause")
        write_image(root, PAUSE_IMAGE, ["/pause"], target)


def compile_static(source: str, target: Path) -> None:
    """Compile a C program that needs no libraries, so that it can be an image by itself."""
    target.parent.mkdir(parents=True, exist_ok=True)
    file = target.with_suffix(".c")
    file.write_text(source)
    run(["gcc", "-static", "-Os", "-s", "-o", target, file], doing=f"compiling {target.name}")
    file.unlink()


def load_image(layout: Layout, archive: Path) -> str:
    """Load an image file (OCI or docker-archive) into every node; return the names loaded.

    Raises:
        Trouble: if the file is missing or is no image, or the cluster is not up.

    """
    if not archive.is_file():
        raise Trouble(f"cannot load {archive}: there is no such file")
    words = ("images", "import", str(archive))
    said = [ctr(node, *words, doing=f"loading {archive}").strip() for node in nodes_of(layout)]
    return said[0]


def has_image(layout: Layout, reference: str) -> bool:
    """Whether every node has this image."""
    words = ("images", "ls", "-q", f"name=={reference}")
    return all(
        reference in ctr(node, *words, doing="listing images").split() for node in nodes_of(layout)
    )


def ctr(node: Node | Layout, *words: str, doing: str) -> str:
    """Ask a node's containerd; the first node's, if a layout is given."""
    base = ["ctr", "--address", str(node.containerd_socket), "--namespace", _NAMESPACE]
    return run([*base, *words], doing=doing)
