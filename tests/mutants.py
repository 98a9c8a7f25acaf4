"""Mutation tests: change one thing in a pure module, and see whether any test notices.

`make mutants` draws a sample over all pure modules, which are those of the contract "pure" in
.importlinter. A mutant that survives is a change of behaviour that no test would report.
Other samples: `make mutants MUTANTS="--seed 7 --module plimsoll_predictor.model.bins"`.
"""

from __future__ import annotations

import argparse
import ast
import configparser
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutations import Mutation, mutations_of

ROOT = Path(__file__).parents[1]
SOURCE_ROOTS = ("operator", "predictor")
TESTS = ("tests/predictor", "tests/operator")
CONTRACT = "importlinter:contract:pure"
LONGEST_S = 900
"""A mutant on which its tests run longer has made a loop endless, and counts as killed."""
FARTHEST = 1
"""Tests count that import the module, or something at most this many imports above it. Farther ones
would notice some more, but then each mutant that survives costs half of all tests."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change in one module, and the test files that may notice it, the nearest first."""

    path: Path
    mutation: Mutation
    tests: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"{self.path}:{self.mutation.line}  {self.mutation.before} -> {self.mutation.after}"


def pure_modules() -> dict[str, Path]:
    """The modules under the contract by their names, with their files relative to the project."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    named = contracts[CONTRACT]["source_modules"].split()
    return {
        name: path
        for name, path in _all_modules().items()
        if any(name == each or name.startswith(f"{each}.") for each in named)
        and path.name != "__init__.py"
    }


def _all_modules() -> dict[str, Path]:
    found = {}
    for root in SOURCE_ROOTS:
        for path in sorted((ROOT / root).glob("plimsoll_*/**/*.py")):
            parts = path.relative_to(ROOT / root).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path.relative_to(ROOT)
    return found


def _imports(path: Path) -> set[str]:
    """What a file imports, by dotted names: modules, and what may be one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def covering_tests(modules: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The test files that reach each module: those that import it, those one import away, ..."""
    sources = {name: _imports(path) for name, path in _all_modules().items()}
    files = sorted(
        path.relative_to(ROOT) for at in TESTS for path in (ROOT / at).rglob("test_*.py")
    )
    tests = {str(path): _imports(path) for path in files}
    return {name: tuple(_reaching(name, sources, tests)) for name in modules}


def _reaching(
    name: str, sources: dict[str, set[str]], tests: dict[str, set[str]]
) -> Iterator[tuple[str, ...]]:
    left, near = dict(tests), {name}
    for _ in range(FARTHEST + 1):
        found = tuple(test for test, names in left.items() if names & near)
        if found:
            yield found
        left = {test: names for test, names in left.items() if test not in found}
        near = {source for source, names in sources.items() if names & near}


def survives(mutant: Mutant) -> bool:
    """Whether all tests pass on a copy of the sources that has this one change."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copied = _copy_of_sources(Path(folder))
        (copied / mutant.path).write_text(mutant.mutation.source)
        return all(_pass_on(copied, tests, LONGEST_S) for tests in mutant.tests)


def _copy_of_sources(folder: Path) -> Path:
    for root in SOURCE_ROOTS:
        shutil.copytree(ROOT / root, folder / root, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _pass_on(sources: Path, tests: Iterable[str], longest_s: float | None = None) -> bool:
    """Whether these tests pass on the sources in that folder, in that time; None for any time."""
    paths = [str(sources / root) for root in SOURCE_ROOTS]
    # What hypothesis notes of a mutant's failures must not be tried again on the real sources.
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)]),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(sources / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # Without the project's own options, so that a mark may be named that no test has.
    chosen = ["-o", "addopts=", "-m", "not alone and not slow", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", *chosen, *tests]
    try:
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=longest_s, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    # 5: the file has no test without those marks.
    return ended.returncode in (0, 5)


def draw(modules: dict[str, Path], sample: int, seed: int) -> list[Mutant]:
    """A sample of all mutants of these modules; the same one for the same seed."""
    tests = covering_tests(modules)
    beyond = [name for name, files in tests.items() if not files]
    if beyond:
        print(f"only tests on a cluster reach these, left out: {', '.join(beyond)}")
    everything = [
        Mutant(path, mutation, tests[name])
        for name, path in modules.items()
        if tests[name]
        for mutation in mutations_of((ROOT / path).read_text())
    ]
    print(f"{len(everything)} mutants of {len(modules)} modules; seed {seed}", flush=True)
    return random.Random(seed).sample(everything, min(sample, len(everything)))


def _chosen(only: list[str]) -> dict[str, Path]:
    modules = pure_modules()
    unknown = sorted(set(only) - set(modules))
    if unknown:
        sys.exit(f"make mutants: {', '.join(unknown)} is not a pure module; see .importlinter")
    return {name: path for name, path in modules.items() if not only or name in only}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=60, help="how many mutants are tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--module", action="append", default=[], help="only this one, repeatable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tried side by side")
    return parser.parse_args()


def main() -> None:
    """Draw mutants, run their tests, and print which survive and their share."""
    options = _options()
    mutants = draw(_chosen(options.module), max(options.sample, 1), options.seed)
    needed = sorted({test for each in mutants for tests in each.tests for test in tests})
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        if not _pass_on(_copy_of_sources(Path(folder)), needed):
            sys.exit(f"make mutants: one of these fails without a mutant: {' '.join(needed)}")
    alive = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, survived in zip(mutants, pool.map(survives, mutants), strict=True):
            alive += survived
            print("SURVIVES" if survived else "killed  ", mutant, flush=True)
    print(f"{alive} of {len(mutants)} mutants survive ({alive / len(mutants):.0%})")


if __name__ == "__main__":
    main()
