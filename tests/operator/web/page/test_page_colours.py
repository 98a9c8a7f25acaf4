"""The sheet's colours, light and dark: text and graphics stand out enough."""

from __future__ import annotations

import re

import pytest

from plimsoll_operator.web.report.environment import own_text

SHEET = own_text("plimsoll_operator.web.report", "style.css")
PAPERS = ("paper", "card")
READ = ("ink", "soft", "allocation", "need", "kill", "good")
"""Colours of text: WCAG's AA asks for 4.5 to 1."""
SEEN = ("request", "edge", "allocation", "need", "kill", "good")
"""Colours of lines, bars and borders with a meaning: 3 to 1."""
HEATS = {"right": (0.08, 0.42), "over": (0.12, 0.42), "under": (0.16, 0.42)}


def colours(scheme: str) -> dict[str, tuple[float, ...]]:
    """Red, green and blue, 0 to 255, by the variable's name."""
    light, dark = re.findall(r":root \{(.*?)\}", SHEET, re.DOTALL)[:2]
    found = dict(re.findall(r"--([\w-]+): ([^;]+);", dark if scheme == "dark" else light))
    return {name: rgb(value) for name, value in found.items()}


def rgb(value: str) -> tuple[float, ...]:
    if not value.startswith("#"):
        return tuple(map(float, value.split()))
    digits = value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
    return tuple(float(int(digits[place : place + 2], 16)) for place in (0, 2, 4))


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: tuple[float, ...]) -> float:
    shares = [part / 255 for part in colour]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_read_and_what_is_seen_stands_out(scheme: str) -> None:
    known = colours(scheme)
    for paper in PAPERS:
        ratios = {name: contrast(known[name], known[paper]) for name in {*READ, *SEEN}}
        assert {name: ratio for name, ratio in ratios.items() if name in READ and ratio < 4.5} == {}
        assert {name: ratio for name, ratio in ratios.items() if ratio < 3} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", HEATS)
def test_counts_can_be_read_on_every_heat(kind: str, scheme: str) -> None:
    known, (least, more) = colours(scheme), HEATS[kind]
    assert f".heat .{kind} {{ background: rgb(var(--heat-{kind}) / calc({least:g}" in SHEET.replace(
        "(.", "(0."
    )
    for step in range(11):
        share = least + more * step / 10
        mixed = tuple(
            share * heat + (1 - share) * paper
            for heat, paper in zip(known[f"heat-{kind}"], known["card"], strict=True)
        )
        assert contrast(known["ink"], mixed) >= 4.5


def test_the_words_on_the_button_can_be_read() -> None:
    for scheme in ("light", "dark"):
        known = colours(scheme)
        assert contrast(known["card"], known["allocation"]) >= 4.5
