"""The command line: ``cluster.py up``, ``down``, ``enter`` and so on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from deploy.local.binaries.kubernetes import build
from deploy.local.binaries.tools import TOOLS, foreign_crds, tool
from deploy.local.images.dockerfile import TARGETS, build_image
from deploy.local.images.on_node import has_image, load_image
from deploy.local.layout import layout_from
from deploy.local.lifecycle import (
    Cluster,
    down,
    require_up,
    start_program,
    status,
    stop_program,
    up,
)
from deploy.local.machine import packages, prerequisites
from deploy.local.node.nodes import MOST_NODES
from deploy.local.shell import is_disk_full, replace_process
from deploy.local.trouble import Trouble

_EXIT_TROUBLE: Final = 2


def read_command(argv: Sequence[str]) -> argparse.Namespace:
    """Leave everything after ``kubectl``, ``tool`` or ``enter`` to them, also their options.

    argparse alone would take the options of ``kubectl -n shop get pods`` for ours.
    """
    asks_for_help = argv[1:2] in (["-h"], ["--help"])
    if argv[:1] in (["kubectl"], ["tool"]) or (argv[:1] == ["enter"] and not asks_for_help):
        options = _parser().parse_args(argv[:1])
        options.argv = list(argv[1:])
        return options
    return _parser().parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Run one command; return the exit status: 0, or 2 with one sentence on stderr."""
    options = read_command(argv)
    try:
        return _run(options)
    except Trouble as trouble:
        say(str(trouble))
    except OSError as error:
        if not is_disk_full(error):
            raise
        say(prerequisites.DISK_FULL)
    except KeyboardInterrupt:
        say("interrupted; the next `up` or `down` cleans what is half-made")
        return 130
    return _EXIT_TROUBLE


def say(text: str) -> None:
    """Tell people something; stdout is for output that programs read."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cluster.py", description="A Kubernetes of one node, or two."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("build", help="build Kubernetes into the cache folder, once")
    commands.add_parser("fetch", help="build and download all else that the tests use, once")
    bring_up = commands.add_parser("up", help="bring the cluster up; nothing if it is")
    bring_up.add_argument("--max-pods", type=int, default=110, help="that a node takes")
    bring_up.add_argument(
        "--nodes",
        type=int,
        choices=range(1, MOST_NODES + 1),
        help="one by default; two, a core each",
    )
    commands.add_parser("down", help="take the cluster away, leaving nothing behind")
    commands.add_parser("status", help="how the cluster is, in JSON; exit status 1 if not up")
    enter = commands.add_parser("enter", help="run a command in the cluster's network")
    enter.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")
    kubectl = commands.add_parser("kubectl", help="kubectl as administrator", add_help=False)
    kubectl.add_argument("argv", nargs=argparse.REMAINDER, metavar="ARGS")
    use = commands.add_parser("tool", help="helm or kwok, in the cluster's network", add_help=False)
    use.add_argument("argv", nargs=argparse.REMAINDER, metavar="NAME ARGS")
    load = commands.add_parser("load", help="load an image file into every node")
    load.add_argument("archive", type=Path, metavar="IMAGE.tar")
    image = commands.add_parser("image", help="build an image of the Dockerfile; print its name")
    image.add_argument("--target", choices=sorted(TARGETS), default="plimsoll")
    image.add_argument("--load", action="store_true", help="into the node; else only if it is up")
    for name, what in (("stop", "kill one program"), ("start", "start it again")):
        commands.add_parser(name, help=what).add_argument("program")
    return parser


def _run(options: argparse.Namespace) -> int:
    cluster = Cluster(layout_from(os.environ), os.environ)
    return _COMMANDS[options.command](cluster, options)


def _build(cluster: Cluster, _: argparse.Namespace) -> int:
    prerequisites.require_system(prerequisites.this_machine())
    packages.require({name: packages.CLUSTER_PACKAGES[name] for name in ("gcc", "libc6-dev")}, say)
    print(build(cluster.environment, say))
    return 0


def _fetch(cluster: Cluster, _: argparse.Namespace) -> int:
    for name, each in TOOLS.items():
        if each.fetched:
            tool(name, cluster.environment, say)
    foreign_crds(cluster.environment, say)
    return 0


def _up(cluster: Cluster, options: argparse.Namespace) -> int:
    started = up(cluster, say, max_pods=options.max_pods, nodes=options.nodes)
    say(f"{'up' if started else 'was up already'}; KUBECONFIG={cluster.layout.kubeconfig}")
    say("commands reach it by: python3 deploy/local/cluster.py enter CMD")
    return 0


def _down(cluster: Cluster, _: argparse.Namespace) -> int:
    say("down" if down(cluster) else "was not up")
    return 0


def _status(cluster: Cluster, _: argparse.Namespace) -> int:
    print(status(cluster))
    return 0 if cluster.is_up() else 1


def _enter(cluster: Cluster, options: argparse.Namespace) -> int:
    if not options.argv:
        raise Trouble("enter what? For a shell: cluster.py enter bash")
    _exec(cluster, cluster.enter(options.argv))
    return 0


def _kubectl(cluster: Cluster, options: argparse.Namespace) -> int:
    _exec(cluster, cluster.kubectl(*options.argv))
    return 0


def _tool(cluster: Cluster, options: argparse.Namespace) -> int:
    if not options.argv:
        raise Trouble(f"which tool? There is {', '.join(TOOLS)}")
    name, *words = options.argv
    program = tool(name, cluster.environment, say)
    _exec(cluster, cluster.enter([str(program), *words]))
    return 0


def _exec(cluster: Cluster, argv: Sequence[str]) -> None:
    if os.geteuid():
        raise Trouble("root is needed to enter the cluster's network; run it with sudo")
    require_up(cluster)
    own: Mapping[str, str] = {"KUBECONFIG": str(cluster.layout.kubeconfig)}
    replace_process(argv, {**os.environ, **own})


def _load(cluster: Cluster, options: argparse.Namespace) -> int:
    require_up(cluster)
    print(load_image(cluster.layout, options.archive))
    return 0


def _image(cluster: Cluster, options: argparse.Namespace) -> int:
    if options.load:
        require_up(cluster)
    image = build_image(TARGETS[options.target], cluster.environment, say)
    if options.load or cluster.is_up():
        if not has_image(cluster.layout, image.reference):
            say(f"loading {image.reference} into the node")
            load_image(cluster.layout, image.archive)
    else:
        say(f"the image is in {image.archive}")
    print(image.reference)
    return 0


def _stop(cluster: Cluster, options: argparse.Namespace) -> int:
    stop_program(cluster, options.program)
    return 0


def _start(cluster: Cluster, options: argparse.Namespace) -> int:
    start_program(cluster, options.program)
    return 0


_COMMANDS: Final[Mapping[str, Callable[[Cluster, argparse.Namespace], int]]] = {
    "build": _build,
    "fetch": _fetch,
    "up": _up,
    "down": _down,
    "status": _status,
    "enter": _enter,
    "kubectl": _kubectl,
    "tool": _tool,
    "load": _load,
    "image": _image,
    "stop": _stop,
    "start": _start,
}
