"""How well colours can be told apart."""

from __future__ import annotations


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast of two ``rgb(r, g, b)`` colours, 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """WCAG 2 relative luminance, 0 to 1."""
    shares = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
