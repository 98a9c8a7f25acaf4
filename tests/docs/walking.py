"""Runs a page's shell blocks in order, each in the state that the last one left, as readers do."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.elsewhere import entry_for
from tests.docs.pages import ROOT, Block, Page

WALKED_ON_A_CLUSTER = ("docs/install.md", "docs/first-task.md", "docs/operations.md")
WALKED_HERE = (
    "docs/replay.md",
    "docs/tracking.md",
    "docs/forecast.md",
    "docs/forecast-benchmark.md",
)


@dataclass
class Walk:
    """A shell in a folder of its own, with the checkout's folders in it.

    folder: where files are written. settings: a reader's values in place of examples; these win
        over the page's own ``export``. prefix: words before the shell's, such as those that enter a
        cluster's network. within_s: for one block; longer than all that the block itself waits for.
    """

    folder: Path
    programs: Path
    settings: Mapping[str, str]
    prefix: Sequence[str] = ()
    within_s: float = 1800.0
    _exported: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("helm", "deploy", "docs", "demo"):
            (self.folder / name).symlink_to(ROOT / name)

    def run(self, block: Block) -> str:
        """Run one block; return what it printed. Its first failing command fails the test."""
        for name, value in re.findall(r"^export (\w+)=(\S+)", block.text, re.MULTILINE):
            self._exported[name] = value
        text = re.sub(r"^export \w+=.*\n", "", block.text, flags=re.MULTILINE)
        return self.shell(text, str(block))

    def shell(self, text: str, what: str) -> str:
        """Run some lines; return what they printed."""
        environment = {
            **os.environ,
            **self._exported,
            **self.settings,
            "PATH": f"{self.programs}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            [*self.prefix, "bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self.within_s,
            check=False,
        )
        assert done.returncode == 0, f"{what}:\n{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


def walked(page: Page) -> list[Block]:
    """Its blocks that are run; each is run as a whole or not at all."""
    found = []
    for block in page.blocks("sh"):
        kept = [c for c in block.commands() if entry_for(page.name, c) is None]
        if kept:
            found.append(block)
    return found
