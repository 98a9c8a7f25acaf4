"""docs/annotations.md says what the custom resources and labels.py say."""

from __future__ import annotations

import pytest
from deploy.reference.fields import PAGE, renewed, spec_and_status

from plimsoll_operator.names import labels
from plimsoll_operator.pods.features import (
    MAX_FEATURES,
    MAX_TOTAL_BYTES,
    MAX_VALUE_CHARS,
)

TEXT = PAGE.read_text(encoding="utf-8")
WRITTEN = sorted(
    value
    for name, value in vars(labels).items()
    if name.isupper() and isinstance(value, str) and "plimsoll.dev" in value
)


@pytest.mark.slow
def test_the_tables_of_fields_are_current() -> None:
    assert renewed(TEXT) == TEXT, "run .venv/bin/python deploy/reference/fields.py"


@pytest.mark.parametrize("name", ["sizingpolicies", "taskprofiles", "profilingcampaigns"])
def test_every_field_of_people_is_described(name: str) -> None:
    spec, _ = spec_and_status(name)
    assert len(spec) > 15
    assert [field.path for field in spec if not field.description] == []
    assert all(f"`{field.path}`" in TEXT for field in spec)


@pytest.mark.slow
def test_a_profile_takes_every_field_of_a_policy() -> None:
    policy, profile = (spec_and_status(each)[0] for each in ("sizingpolicies", "taskprofiles"))
    assert {field.path for field in policy} <= {field.path for field in profile}


@pytest.mark.parametrize("label", WRITTEN)
def test_every_label_and_annotation_has_a_row(label: str) -> None:
    assert f"| `{label}" in TEXT


def test_the_bounds_of_features_are_those_of_the_code() -> None:
    row = next(line for line in TEXT.splitlines() if labels.FEATURE_PREFIX in line)
    for bound in (MAX_FEATURES, labels.MAX_LABEL_CHARS, MAX_VALUE_CHARS, MAX_TOTAL_BYTES):
        assert str(bound) in row


@pytest.mark.slow
def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks around the table 'policy' are missing"):
        renewed("# A page\n")
