"""The few SVG elements the plots need. Everything written into one is escaped here."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

Place = tuple[float, float]


def element(name: str, content: object = "", **attributes: object) -> Markup:
    """One element; ``class_`` becomes class, ``_`` becomes ``-``, None is left out."""
    # Not by Markup.format: that costs ten times as much, and a plot has thousands of these.
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{_text(content)}</{name}>")


def joined(parts: Iterable[object]) -> Markup:
    """Elements one after the other."""
    return Markup("".join(_text(part) for part in parts))


def _text(value: object) -> str:
    return str(value) if isinstance(value, Markup | int | float) else str(escape(value))


def line(start: Place, end: Place, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_)


def path(commands: Iterable[str], class_: str) -> Markup:
    """A path; nothing if there is nothing to draw."""
    drawn = "".join(commands)
    return element("path", d=drawn, class_=class_) if drawn else Markup("")


def text(at: Place, words: object, class_: str = "tick", anchor: str | None = None) -> Markup:
    """A label; anchor: start (default), middle or end."""
    return element("text", words, x=at[0], y=at[1], class_=class_, text_anchor=anchor)


def dot(at: Place, radius: float, class_: str, title: str | None = None) -> Markup:
    """A dot; the title shows under the pointer."""
    inside = element("title", title) if title else ""
    return element("circle", inside, cx=at[0], cy=at[1], r=radius, class_=class_)


def cross(at: Place, size: float, class_: str, title: str | None = None) -> Markup:
    """A cross, for what was killed."""
    x, y = at
    arms = f"M{x - size:g} {y - size:g}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}"
    inside = element("title", title) if title else ""
    return element("path", inside, d=f"{arms}l{-2 * size:g} {2 * size:g}", class_=class_)


def bar(
    corner: Place, width: float, bottom: float, class_: str, title: str | None = None
) -> Markup:
    """An upright bar from its left upper corner down to ``bottom``."""
    x, y = corner
    inside = element("title", title) if title else ""
    height = round(bottom - y, 1)
    return element("rect", inside, x=x, y=y, width=round(width, 1), height=height, class_=class_)


def picture(
    width: int, height: int, label: str, parts: Iterable[object], description: str = ""
) -> Markup:
    """The whole plot. label, description: read out to those who do not see it.

    The label is no ``title`` element: that would also show wherever the pointer rests.
    """
    told = [element("desc", description)] if description else []
    return element(
        "svg",
        joined([*told, *parts]),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )
