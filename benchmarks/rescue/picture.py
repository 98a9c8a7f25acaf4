"""The picture of docs/rescue.md: which pace is survived with which headroom.

PYTHONPATH=. .venv/bin/python -P -m benchmarks.rescue.picture
[bench-rescue.json] [docs/images/rescue.svg]
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

WIDTH: Final = 640
HEIGHT: Final = 360
LEFT, TOP, RIGHT, BOTTOM = 64, 40, 20, 52
MIB_MB: Final = 1.048576
_STYLE: Final = (
    "svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#5b6675}"
    ".name{fill:#1d2530;font-weight:600}.grid{stroke:#eceef0}"
    ".lives{fill:#1f63b5}.dies{fill:#fff;stroke:#c4242b;stroke-width:2}"
    ".line{stroke:#848e9b;stroke-dasharray:4 3;fill:none}"
)


def picture(cells: Sequence[dict[str, Any]], react_s: float) -> str:
    """Return the picture. react_s: the time of a raise, whose line is drawn."""
    paces = sorted({float(cell["rate_mb_s"]) for cell in cells})
    rooms = sorted({float(cell["headroom_mib"]) for cell in cells})
    parts = [*_axes(paces, rooms), *_line(paces, rooms, react_s), *_dots(cells, paces, rooms)]
    label = "Which pace of growth is survived at which headroom"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img"'
        f' aria-label="{label}" xmlns="http://www.w3.org/2000/svg"><style>{_STYLE}</style>'
        f"{''.join(parts)}</svg>\n"
    )


def _axes(paces: Sequence[float], rooms: Sequence[float]) -> Iterator[str]:
    for pace in paces:
        y = _y(pace, paces)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        yield f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{pace:.0f}</text>'
    for room in rooms:
        x = _x(room, rooms)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="grid"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{room:.0f}</text>'
    yield f'<text x="{LEFT}" y="18" class="name">MB a second</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    words = "MiB between what is held and the limit, when growth begins"
    yield f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle" class="name">{words}</text>'
    yield f'<circle cx="{LEFT + 150}" cy="14" r="6" class="lives"/>'
    yield f'<text x="{LEFT + 162}" y="18">lives</text>'
    yield f'<circle cx="{LEFT + 220}" cy="14" r="6" class="dies"/>'
    yield f'<text x="{LEFT + 232}" y="18">is killed</text>'


def _line(paces: Sequence[float], rooms: Sequence[float], react_s: float) -> Iterator[str]:
    """Draw the pace at which the headroom lasts as long as a raise takes."""
    points = [
        (room, pace) for room in rooms if paces[0] <= (pace := room * MIB_MB / react_s) <= paces[-1]
    ]
    if len(points) >= 2:
        path = " ".join(f"{_x(r, rooms):.1f},{_y(p, paces):.1f}" for r, p in points)
        yield f'<polyline points="{path}" class="line"/>'
        yield f'<text x="{LEFT + 310}" y="18">- - headroom lasts {react_s:g} s</text>'


def _dots(
    cells: Sequence[dict[str, Any]], paces: Sequence[float], rooms: Sequence[float]
) -> Iterator[str]:
    for cell in cells:
        pace, room = float(cell["rate_mb_s"]), float(cell["headroom_mib"])
        how, words = ("lives", "lives") if cell["survived"] else ("dies", "is killed")
        at = f'cx="{_x(room, rooms):.1f}" cy="{_y(pace, paces):.1f}"'
        title = f"<title>{pace:.0f} MB/s with {room:.0f} MiB: {words}</title>"
        yield f'<circle {at} r="7" class="{how}">{title}</circle>'


def _x(room: float, rooms: Sequence[float]) -> float:
    return LEFT + 30 + (WIDTH - RIGHT - LEFT - 60) * _share(room, rooms)


def _y(pace: float, paces: Sequence[float]) -> float:
    return HEIGHT - BOTTOM - 20 - (HEIGHT - BOTTOM - TOP - 40) * _share(pace, paces)


def _share(value: float, values: Sequence[float]) -> float:
    return math.log(value / values[0]) / math.log(values[-1] / values[0])


def main(arguments: Sequence[str]) -> int:
    """Draw it."""
    read, written = [*arguments, "bench-rescue.json", "docs/images/rescue.svg"][:2]
    if len(arguments) == 1:
        written = "docs/images/rescue.svg"
    found = json.loads(Path(read).read_text())
    Path(written).write_text(picture(found["grid"]["cells"], REACT_S))
    return 0


REACT_S: Final = 0.7

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
