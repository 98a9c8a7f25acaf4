"""Figures of replays in a file, so that a long table goes on after an interruption.

Kept figures are valid only while the code sizes as it did then. A version cannot show that, so the
served configuration is played anew each time: if one digit of it differs, that trace's kept figures
are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

SERVED_WORDS: Final = "as served"
"""The configuration that is played anew each time."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The result of a policy on a trace.

    warm_gb_h: wasted by runs that were decided after a run of their task had ended.
    """

    waste_gb_h: float
    failed_attempts: int
    warm_gb_h: float = 0.0


Found = Mapping[tuple[str, str], Figures]
"""Trace and configuration, or rule, in words -> the figures."""


class Kept:
    """The figures found so far at one moment of deciding, by trace and words.

    path: of the JSON file; None keeps nothing. Raises ValueError if the file has another content.
    """

    def __init__(self, path: Path | None, moment: str) -> None:
        self._path, self._moment = path, moment
        self._document: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
        if path is not None and path.is_file():
            self._document = json.loads(path.read_text())
        self._before = _read(self._document.get(moment, {}))
        self.found: dict[tuple[str, str], Figures] = {}

    def add(self, trace: str, words: str, figures: Figures) -> int:
        """Keep the figures; return how many older ones are taken up or dropped for that.

        The served configuration must come first for each trace: it shows whether the rest is still
        valid. Positive: so many older figures are valid; negative: so many are not any more.
        """
        self.found[trace, words] = figures
        others = {key: each for key, each in self._before.items() if key[0] == trace}
        turned = 0
        if words == SERVED_WORDS and len(others) > 1:
            holds = others.get((trace, words)) == figures
            turned = len(others) - 1 if holds else 1 - len(others)
            if holds:
                self.found = {**others, **self.found}
        self._write()
        return turned

    def _write(self) -> None:
        if self._path is None:
            return
        mine: dict[str, dict[str, dict[str, float]]] = {}
        for (trace, words), figures in self._all().items():
            mine.setdefault(trace, {})[words] = asdict(figures)
        self._document[self._moment] = mine
        beside = self._path.with_name(self._path.name + ".new")
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(self._document, indent=1) + "\n")
        beside.replace(self._path)

    def _all(self) -> dict[tuple[str, str], Figures]:
        """New figures, and earlier ones for traces not reached yet."""
        reached = {trace for trace, words in self.found if words == SERVED_WORDS}
        before = {key: each for key, each in self._before.items() if key[0] not in reached}
        return {**before, **self.found}


def _read(
    traces: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[tuple[str, str], Figures]:
    return {
        (trace, words): Figures(
            waste_gb_h=each["waste_gb_h"],
            failed_attempts=int(each["failed_attempts"]),
            warm_gb_h=each["warm_gb_h"],
        )
        for trace, found in traces.items()
        for words, each in found.items()
    }
