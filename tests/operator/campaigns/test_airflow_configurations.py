"""Files of configurations: what is read, and how a bad row is named."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.campaigns.configurations import (
    MOST_FILE_BYTES,
    BadConfigurations,
    read_configurations,
)

CSV = b"""\xef\xbb\xbfrows, region,fast
10000, eu,true
2.5,"us, east",

10000, eu,true
"""
JSON = b"""[
  {"rows": 10000, "region": "eu"},
  {"region": "eu", "rows": 10000}, {"rows": [1, {"deep": null}]}
]"""
YAML = b"""- rows: 10000
  day: 2026-01-05
- {rows: "007"}
"""


def confs(content: bytes, name: str) -> list[Any]:
    return [row.conf for row in read_configurations(content, name).rows]


def refusal(content: bytes | str, name: str) -> str:
    with pytest.raises(BadConfigurations) as caught:
        read_configurations(content if isinstance(content, bytes) else content.encode(), name)
    return str(caught.value)


def test_a_csv_has_numbers_truth_values_and_texts_and_an_empty_cell_is_left_to_the_dag() -> None:
    assert confs(CSV, "sizes.csv") == [
        {"rows": 10000, "region": "eu", "fast": True},
        {"rows": 2.5, "region": "us, east"},
    ]


@pytest.mark.parametrize("cell", ["007", "1e5", "+1", "nan", "2026-01-05", "True", "1_000"])
def test_what_is_not_plainly_a_number_stays_a_text(cell: str) -> None:
    assert confs(f"a\n{cell}\n".encode(), "a.csv") == [{"a": cell}]


def test_the_same_configuration_is_kept_once_whatever_the_order_of_its_names() -> None:
    found = read_configurations(JSON, "sizes.json")
    assert [row.line for row in found.rows] == [2, 3]
    assert found.duplicates == 1
    assert found.rows[1].conf == {"rows": [1, {"deep": None}]}


def test_a_yaml_has_dates_as_texts() -> None:
    found = read_configurations(YAML, "sizes.yml")
    assert [(row.line, row.conf) for row in found.rows] == [
        (1, {"rows": 10000, "day": "2026-01-05"}),
        (3, {"rows": "007"}),
    ]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, and the first line has 2"),
        ("a.csv", "a,b\n,\n", "line 2 has no value"),
        ("a.csv", "a,a\n1,2\n", "names 'a' twice"),
        ("a.csv", "a,\n1,2\n", "must name every column"),
        ("a.csv", 'a\n"x\n', "line 2 is no CSV"),
        ("a.csv", "a\n", "has no configuration"),
        ("a.csv", "", "has no configuration"),
        ("a.csv", "a\nx\0\n", "line"),
        ("a.json", '[{"a": 1},\n 3]', "line 2 is no mapping"),
        ("a.json", '[{"a": NaN}]', "NaN is no number of JSON"),
        ("a.json", '[{"a": 1e999}]', "line 1 has inf"),
        ("a.json", '[{"a": "\\u0000"}]', "line 1 has a character that no database keeps"),
        ("a.json", '{"a": 1}', "is no list of objects"),
        ("a.json", "[{]", "is no JSON"),
        ("a.json", "[" * 100_000, "is no JSON"),
        ("a.yaml", "- a: 1\n- 3\n", "line 2 is no mapping"),
        ("a.yaml", "a: 1\n", "is no list of mappings"),
        ("a.yaml", "", "is no list of mappings"),
        ("a.yaml", "- {1: 2}\n", "line 1 has the name '1', which is no text"),
        ("a.yaml", "- a: !!python/object:os.system {}\n", "is no YAML"),
        ("a.yaml", "- a: !!set {b}\n", "of the kind set"),
        ("a.yaml", "- &a {a: *a}\n", "inside each other"),
        ("a.txt", "a\n", "ends in none of .csv, .json, .yaml, .yml"),
        ("a.csv", b"a\n\xff\n", "is not UTF-8"),
        ("a.csv", b"a" * (MOST_FILE_BYTES + 1), "has more than 8 MiB"),
        ("a.csv", "a\n" + "1\n" * 5_001, "has 5,001 configurations, and 5,000 are taken"),
        ("a.csv", "a\n" + "x" * 40_000, "line 2 has more than 32,768 characters"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(name: str, content: bytes | str, words: str) -> None:
    said = refusal(content, name)
    assert words in said
    assert said.startswith(name)
    assert len(said) < 600


def test_three_bad_rows_are_named_and_the_others_counted() -> None:
    said = refusal("a,b\n" + ",\n" * 7, "a.csv")
    assert [f"line {line}" in said for line in (2, 4, 5)] == [True, True, False]
    assert said.endswith("and 4 more")


def test_aliases_that_make_much_of_little_are_refused_before_they_do() -> None:
    lines = ["- a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 15)]
    assert "has more than 2,000 values" in refusal("\n".join(lines), "a.yaml")


@pytest.mark.slow
@given(st.binary(max_size=200), st.sampled_from(["a.csv", "a.json", "a.yaml"]))
def test_any_bytes_are_read_or_refused(content: bytes, name: str) -> None:
    with suppress(BadConfigurations):
        assert read_configurations(content, name).rows
