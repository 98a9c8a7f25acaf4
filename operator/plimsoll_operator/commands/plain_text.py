"""Text from outside, made safe for a terminal."""

from __future__ import annotations

from rich.text import Text


def plain(words: str, style: str = "") -> Text:
    """Text as it is: no markup, and nothing that moves the cursor or colours what follows."""
    return Text("".join(each if each.isprintable() else "�" for each in words), style=style)
