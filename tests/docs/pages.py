"""The pages that people read, and what is in them: shell blocks, links, headings, inline code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block. line: of its fence, from 1."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[str]:
        """Its commands: continued lines joined, here-documents and comments left out."""
        text = re.sub(r"<<'?(\w+)'?([^\n]*)\n.*?^\1$", r"<<\1\2", self.text, flags=re.M | re.S)
        joined = re.sub(r"[ \t]*\\\n\s*", " ", text)
        lines = (re.sub(r"\s+#.*$", "", line).strip() for line in joined.splitlines())
        return [line for line in lines if line and not line.startswith("#")]


@dataclass(frozen=True)
class Page:
    """One Markdown file. name: relative to the checkout."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / self.name).read_text(encoding="utf-8")

    def blocks(self, language: str) -> list[Block]:
        text = self.text
        return [
            Block(self.name, text.count("\n", 0, found.start()) + 1, found[2])
            for found in _FENCE.finditer(text)
            if found[1] == language
        ]

    def prose(self) -> str:
        """The text without fenced blocks."""
        return _FENCE.sub("", self.text)

    def inline_code(self) -> list[str]:
        return [" ".join(each.split()) for each in re.findall(r"`([^`]+)`", self.prose())]

    def links(self) -> Iterator[tuple[str, str]]:
        """Target and anchor of each link inside the project; either may be empty."""
        for found in re.findall(r"\]\(([^)\s]+)\)", self.prose()):
            if "://" not in found and not found.startswith("mailto:"):
                target, _, anchor = found.partition("#")
                yield target, anchor

    def anchors(self) -> set[str]:
        """The anchors that GitHub makes from headings."""
        headings = re.findall(r"^#+ (.+)$", self.prose(), re.MULTILINE)
        return {anchor_of(heading) for heading in headings}


def anchor_of(heading: str) -> str:
    """The anchor of a heading.

    >>> anchor_of("Is all `well`?")
    'is-all-well'
    """
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def pages_of_people() -> list[Page]:
    """README and every page of docs/."""
    found = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [Page(name) for name in found]


def all_pages() -> list[Page]:
    """Those pages, the decisions, and the README of each part."""
    parts = ["CONTRIBUTING.md", "CHANGELOG.md", "demo/README.md", "deploy/local/README.md"]
    parts += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/adr").glob("*.md"))]
    parts += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "helm").rglob("*.md"))]
    return [*pages_of_people(), *(Page(name) for name in parts)]
