"""Every link of a page has a target, and every page is linked."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.docs.pages import ROOT, Page, all_pages

PAGES = all_pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Page) -> None:
    here = (ROOT / page.name).parent
    for target, anchor in page.links():
        path = (here / target).resolve() if target else ROOT / page.name
        assert path.exists(), f"{page.name}: {target} is not there"
        if anchor:
            there = Page(str(path.relative_to(ROOT))).anchors()
            assert anchor in there, f"{page.name}: {target}#{anchor} is not among {sorted(there)}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, left = set[str](), ["README.md"]
    while left:
        name = left.pop()
        if name in reached or not name.endswith(".md"):
            continue
        reached.add(name)
        here = (ROOT / name).parent
        for target, _ in Page(name).links():
            path = (here / target).resolve()
            if path.suffix == ".md" and path.is_relative_to(ROOT):
                left.append(str(path.relative_to(ROOT)))
    assert {page.name for page in PAGES if page.name.startswith("docs/")} <= reached | {
        f"docs/adr/{path.name}" for path in (ROOT / "docs/adr").glob("*.md")
    }


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    groups = yaml.safe_load((ROOT / "helm/plimsoll/files/alerts.yaml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    assert len(rules) > 10
    operations = Page("docs/operations.md")
    for rule in rules:
        name, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert name == operations.name, rule["alert"]
        assert anchor in operations.anchors(), rule["alert"]
        assert anchor == rule["alert"].lower()
    headings = set(re.findall(r"^### (Plimsoll\w+)$", operations.text, re.MULTILINE))
    assert headings == {rule["alert"] for rule in rules}
