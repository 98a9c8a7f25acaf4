"""`make bench`: every figure beside its bound, in one table and in bench-results.json."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench-results.json"
KEYS = (
    "admission_rps",
    "kopf_rps",
    "admission_p99_ms",
    "kopf_p99_ms",
    "admission_rss_mb",
    "walk_us",
    "inplace_us",
    "training_s",
    "training_rss_mb",
    "watched_pods",
    "watch_api_calls",
    "watch_rss_mb",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: the figure, its bound, and whether it holds."""

    what: str
    measured: str
    beside: str
    bound: str
    holds: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Returns 0 if every bound holds."""
    parser = argparse.ArgumentParser(prog="benchmarks.readme.figures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests and pods")
    quick = parser.parse_args(arguments).quick
    console = Console()
    found: dict[str, Any] = {}
    for name, command in _commands(quick):
        with console.status(f"measuring: {name}"):
            found |= _measure(name, command)
        console.print(f"measured: {name}")
    RESULTS.write_text(json.dumps({key: found[key] for key in KEYS}, indent=2) + "\n")
    figures = _figures(found)
    console.print(_table(figures))
    console.print(f"written to {RESULTS.name}")
    return 0 if all(figure.holds for figure in figures) else 1


def _commands(quick: bool) -> list[tuple[str, list[str]]]:
    python = [sys.executable, "-P"]
    cluster = [sys.executable, str(ROOT / "deploy" / "local" / "cluster.py")]
    said = subprocess.run([*cluster, "status"], capture_output=True, check=True).stdout
    status = json.loads(said)
    subprocess.run([*cluster, "kubectl", "apply", "-f", "deploy/crds"], cwd=ROOT, check=True)
    watch = ["-m", "benchmarks.readme.finished_pods", "--kubeconfig", status["kubeconfig"]]
    pods = ["--pods", "500" if quick else "5000"]
    return [
        ("walking trees", [*python, "-m", "benchmarks.readme.walk"]),
        ("one training", [*python, "-m", "benchmarks.readme.training"]),
        (
            "admission",
            [*python, "-m", "benchmarks.admission.against_kopf", *(["--quick"] if quick else [])],
        ),
        ("watching pods", [*cluster, "enter", *python, *watch, *pods]),
    ]


def _measure(name: str, command: Sequence[str]) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"bench: {name} failed with {done.returncode}; its words are above")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _figures(found: dict[str, Any]) -> list[Figure]:
    faster = found["admission_rps"] / found["kopf_rps"]
    sooner = found["kopf_p99_ms"] / found["admission_p99_ms"]
    walk = found["inplace_us"] / found["walk_us"]
    calls = found["watch_api_calls"] / found["watched_pods"]
    return [
        Figure(
            "admission, requests/s",
            f"{found['admission_rps']:.0f}",
            f"kopf {found['kopf_rps']:.0f} ({faster:.1f}×)",
            "≥ 5×",
            faster >= 5,
        ),
        Figure(
            "admission, p99 ms",
            f"{found['admission_p99_ms']:.1f}",
            f"kopf {found['kopf_p99_ms']:.1f} ({sooner:.1f}×)",
            "≤ 1/5",
            sooner >= 5,
        ),
        Figure(
            "admission, RSS MB",
            f"{found['admission_rss_mb']:.0f}",
            "",
            "≤ 120",
            found["admission_rss_mb"] <= 120,
        ),
        Figure(
            "one row, 300 trees, µs",
            f"{found['walk_us']:.0f}",
            f"inplace_predict {found['inplace_us']:.0f} ({walk:.1f}×)",
            "≤ 60, faster",
            found["walk_us"] <= 60 and walk > 1,
        ),
        Figure("training, s", f"{found['training_s']:.1f}", "", "≤ 60", found["training_s"] <= 60),
        Figure(
            "training, RSS MB",
            f"{found['training_rss_mb']:.0f}",
            "",
            "≤ 600",
            found["training_rss_mb"] <= 600,
        ),
        Figure(
            "finished pods watched",
            f"{found['watched_pods']}",
            "each observed once",
            "all",
            found["watched_pods"] > 0,
        ),
        Figure(
            "API calls for them",
            f"{found['watch_api_calls']:.0f}",
            f"{calls:.3f} a pod",
            "≤ 0.05 a pod",
            calls <= 0.05,
        ),
        Figure(
            "controller, RSS MB",
            f"{found['watch_rss_mb']:.0f}",
            "",
            "≤ 400",
            found["watch_rss_mb"] <= 400,
        ),
    ]


def _table(figures: Sequence[Figure]) -> Table:
    table = Table(title="Plimsoll's figures")
    for column in ("figure", "measured", "beside", "bound", ""):
        table.add_column(column)
    for figure in figures:
        verdict = "[green]holds[/]" if figure.holds else "[red]does not hold[/]"
        table.add_row(figure.what, figure.measured, figure.beside, figure.bound, verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
