"""Pages read tag by tag, and a name that tries to break out of one."""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "input"}


class Checked(HTMLParser):
    """Fails on a tag that is not closed in order; keeps tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(page: str) -> Checked:
    parser = Checked()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def asks_elsewhere(page: Checked) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in page.attributes
        if name in {"src", "href", "srcset", "action"}
        and not (value or "").startswith(("#", "data:"))
    ]
