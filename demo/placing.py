"""`make demo-placing`: learns on two real nodes which pods slow others, and uses it for a queue.

Pods that compute and pods that mostly wait run on two nodes of a core each, until their effects on
each other are known. Then the same pods run twice: in the scheduler's order, and in Plimsoll's.
It prints what was learned and both queues, and writes demo-placing.html with a picture.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

# It runs as a file by `python -P`: benchmarks.* and tests.* are found in the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from markupsafe import Markup
from rich.console import Console

from benchmarks.placing.arms import Arm
from benchmarks.placing.nodes import gain_of, table_of
from benchmarks.placing.pod_queue import NotHeld
from benchmarks.placing.repeat import Plan, Repeat, commands_for, repeat_of
from plimsoll_operator.views.placing_facts import PlacingFacts, learned_facts
from plimsoll_operator.web.plots.placing_plot import placing_plot
from plimsoll_operator.web.report.environment import own_text
from plimsoll_predictor.store import Store
from tests.apiserver.crds import install_crds
from tests.placing.two_nodes import two_nodes
from tests.rigs.images.eater import load_eater

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "demo-placing.html"
KINDS: Final = ("cpu", "wait")
"""Two of the benchmark's four: their costs to each other are known after some minutes."""
LEARN, RUNS = 100, 40
MOST_RUNS: Final = 5000
WIDTH: Final = 130
_PAGE: Final = Markup("""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Plimsoll: who slows whom</title>
<style>{style} pre {{font-size: .75rem}}</style>
<main><h1>Who slows whom</h1>
<p>How many times as long the row's task takes beside one of the column's, from {runs} runs on two
nodes of a core each. Amber is slower; ? cannot be told yet.</p>
{picture}
<h2>The same {played} pods, twice</h2><pre>{table}
{summary}</pre></main></html>
""")


def main() -> int:
    """Run the demo. Returns 0 if all pods ended, and pods waited for their turn as they should."""
    # If it is ended from outside, the nodes are taken down as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    began_s = time.monotonic()
    learned: list[PlacingFacts] = []

    def tell(store_url: str) -> None:
        learned.append(_facts(store_url))
        console.print("what Plimsoll knows now (plimsoll placing):")
        _plimsoll("placing", "--store", store_url)

    console.print("two real nodes of a core each; nothing is known of any task")
    with two_nodes() as cluster:
        load_eater(cluster.handle.layout)
        install_crds(cluster)
        commands = asyncio.run(commands_for(cluster))
        played_kinds = {kind: commands[kind] for kind in KINDS}
        plan = Plan(played_kinds, LEARN, RUNS, console.print, (Arm.USUAL, Arm.ORDERED), tell)
        try:
            played = asyncio.run(repeat_of(cluster, plan, 0))
        except NotHeld as error:
            console.print(f"demo-placing: {error}", soft_wrap=True)
            return 1
    console.print(table_of([played]))
    console.print(gain_of([played]))
    PICTURE.write_text(_page(learned[0], played), encoding="utf-8")
    console.print(f"the picture: {PICTURE}", soft_wrap=True)
    console.print(f"{time.monotonic() - began_s:.0f} s in all", style="dim")
    return 0 if played[Arm.ORDERED].held else 1


def _facts(store_url: str) -> PlacingFacts:
    store = Store.open(store_url)
    try:
        return learned_facts(store.encounters.newest(limit=MOST_RUNS))
    finally:
        store.close()


def _plimsoll(*words: str) -> None:
    """Run one of our commands; its output is part of the demo's."""
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "plimsoll_operator", *words]
    subprocess.run(command, check=True, env={**os.environ, "COLUMNS": str(WIDTH)})


def _page(facts: PlacingFacts, played: Repeat) -> str:
    """The picture and both queues, as one self-contained file."""
    table = Console(width=WIDTH, highlight=False)
    with table.capture() as printed:
        table.print(table_of([played]))
    style = own_text("plimsoll_operator.web.report", "style.css")
    style += own_text("plimsoll_operator.web.page", "page.css")
    return _PAGE.format(
        style=style,
        runs=facts.taught,
        picture=placing_plot(facts),
        played=RUNS,
        table=printed.get(),
        summary=gain_of([played]),
    )


if __name__ == "__main__":
    sys.exit(main())
