"""Writes the few SVG elements that the plots need, and escapes all texts in them."""

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
    return Markup("".join(map(_text, parts)))


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


def titled(name: str, title: str | None, **attributes: object) -> Markup:
    """An element whose title, if it has one, shows under the pointer."""
    return element(name, element("title", title) if title else "", **attributes)


def dot(at: Place, radius: float, class_: str, title: str | None = None) -> Markup:
    """A dot."""
    return titled("circle", title, cx=at[0], cy=at[1], r=radius, class_=class_)


def cross(at: Place, size: float, class_: str, title: str | None = None) -> Markup:
    """A cross, for a kill."""
    x, y = at
    arms = f"M{x - size:g} {y - size:g}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}"
    return titled("path", title, d=f"{arms}l{-2 * size:g} {2 * size:g}", class_=class_)


def bar(
    corner: Place, width: float, bottom: float, class_: str, title: str | None = None
) -> Markup:
    """An upright bar from its left upper corner down to ``bottom``."""
    x, y = corner
    height = round(bottom - y, 1)
    return titled("rect", title, x=x, y=y, width=round(width, 1), height=height, class_=class_)


def picture(
    width: int, height: int, label: str, parts: Iterable[object], description: str = ""
) -> Markup:
    """A plot. label, description: read out to people who do not see it.

    The label is no ``title`` element: that would also appear wherever the pointer rests.
    """
    described = [element("desc", description)] if description else []
    return element(
        "svg",
        joined([*described, *parts]),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )
