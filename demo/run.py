"""`make demo` and `make demo-campaign`, on a real Kubernetes. `--help` lists the options."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

# It runs as a file by `python -P`: demo.* and deploy.* are found in the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from demo.cluster.kubectl import KubectlError
from demo.cluster.place import LOCAL_HOST, Place, PlaceError, local_place, named_place
from demo.services.processes import Processes
from demo.services.release import Release
from demo.services.service import Service, ServiceError
from demo.stories.campaign_story import CampaignStory
from demo.stories.story import Story, StoryError
from demo.watching.figures import complaints
from demo.watching.screen import Screen
from rich.console import Console

DEFAULT_IMAGE = "localhost/plimsoll-demo:dev"
LOG_WIDTH = 130
"""Width of tables without a terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns 0 if every run succeeded in the end, else 1; 2 if it could not run."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.chart and given.context:
        # It would remove a release from that cluster, and cannot bring the image there.
        parser.error("--chart is for the local cluster; leave --context out")
    if given.chart and given.campaign:
        parser.error("--campaign runs Plimsoll as processes; leave --chart out")
    # If it is ended from outside, all that was started here ends as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(width=None if sys.stdout.isatty() else LOG_WIDTH)
    screen = Screen(console)
    try:
        screen.step("a cluster and the demo's image")
        place = _place(given)
        with screen:
            service: Service = Release(place) if given.chart else Processes(place)
            story = (CampaignStory if given.campaign else Story)(place, service, screen)
            seen = story.tell()
    except (PlaceError, ServiceError, StoryError, KubectlError) as error:
        console.print(f"[bold red]demo: {error}[/bold red]", highlight=False)
        return 2
    except KeyboardInterrupt:
        console.print("demo: interrupted; `make clean` takes the local cluster away")
        return 130
    _say_where_to_look(console, place, story.where_to_look)
    wrong = complaints(seen)
    for line in wrong:
        console.print(f"[bold red]{line}[/bold red]", highlight=False)
    console.print(f"{screen.elapsed_s:.0f} s in all", style="dim")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="demo/run.py", description=__doc__)
    parser.add_argument(
        "--context", help="a context of your kubeconfig; without it a local cluster is brought up"
    )
    parser.add_argument(
        "--chart", action="store_true", help="Plimsoll as the Helm chart's pods, not as processes"
    )
    parser.add_argument(
        "--campaign", action="store_true", help="a profiling campaign, and production after it"
    )
    parser.add_argument(
        "--image",
        default=DEFAULT_IMAGE,
        help="with --context: the demo's image, which you have loaded there (demo/README.md)",
    )
    parser.add_argument(
        "--host",
        default=LOCAL_HOST,
        help="with --context: this machine's address as that API server reaches it",
    )
    parser.add_argument(
        "--node-name", help="with --context: the node whose cgroups are on this machine, if any"
    )
    return parser


def _place(given: argparse.Namespace) -> Place:
    if given.context:
        return named_place(given.context, given.image, given.host, given.node_name)
    return local_place()


def _say_where_to_look(console: Console, place: Place, lines: Sequence[str]) -> None:
    away = "`make cluster-down` takes the cluster away, `make clean` also what was built here."
    if place.context:
        kubectl = place.shown_kubectl
        away = f"{kubectl} delete namespace shop lab    removes what the demo made there."
    for line in (*lines, away):
        console.print(line, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
