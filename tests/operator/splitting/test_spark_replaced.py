"""Where an option of spark-submit is put, and when there is no safe place for one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.splitting.spark_replaced import PYTHON_OPTIONS, replaced

SETTING = "spark.sql.shuffle.partitions=6"
OURS = ["--conf", SETTING]


def started(container: dict[str, Any]) -> dict[str, Any] | None:
    """The container with the setting; None if there is no safe place for it."""
    operations = replaced(container, "", SETTING)
    if operations is None:
        return None
    made = copy.deepcopy(container)
    for each in operations:
        field, *keys, last = each["path"].strip("/").split("/")
        target = made[field]
        for key in keys:
            target = target[int(key)]
        if isinstance(target, list):
            target.insert(int(last), each["value"])
        else:
            target[last] = each["value"]
    return made


@pytest.mark.parametrize(
    ("before", "program"),
    [
        pytest.param(
            ["driver", "--properties-file", "/p", "--class", "Sales"],
            ["local:///x.jar", "--conf", "its=own"],
            id="as in cluster mode",
        ),
        pytest.param(["driver"], ["/jobs.py"], id="without an option"),
        pytest.param(["/opt/spark/bin/spark-submit"], ["/jobs.py"], id="spark-submit by its path"),
        pytest.param(
            ["spark-submit", "--verbose", "-v", "-c", "a=b", "--conf=c=d", "--deploy-mode=client"],
            ["/jobs.py", "--deploy-mode", "cluster"],
            id="options in all their forms",
        ),
        pytest.param(
            ["spark-submit", "--name", "--conf"], ["x.py"], id="a value that looks like an option"
        ),
        pytest.param(["spark-submit"], ["$(JOB)"], id="a program that a variable names"),
    ],
)
def test_ours_is_the_last_option_before_the_program(before: list[str], program: list[str]) -> None:
    assert started({"args": [*before, *program]}) == {"args": [*before, *OURS, *program]}


def test_words_go_on_from_the_command_to_its_arguments() -> None:
    whole = {"command": ["spark-submit", "--master", "local", "x.py"], "args": ["a"]}
    assert started(whole) == {
        "command": [*whole["command"][:3], *OURS, "x.py"],
        "args": ["a"],
    }
    parted = {"command": ["spark-submit", "--master"], "args": ["local", "x.py"]}
    assert started(parted) == {"command": parted["command"], "args": ["local", *OURS, "x.py"]}
    entered = {"command": ["/opt/entrypoint.sh"], "args": ["driver", "x.py"]}
    assert started(entered) == {"command": entered["command"], "args": ["driver", *OURS, "x.py"]}


@pytest.mark.parametrize(
    "container",
    [
        pytest.param({}, id="the image's own command"),
        pytest.param({"args": ["executor"]}, id="an executor"),
        pytest.param({"args": ["driver"]}, id="no program"),
        pytest.param({"args": ["driver", "--conf"]}, id="an option without its value"),
        pytest.param({"args": ["driver", "--new-option", "x", "x.py"]}, id="an unknown option"),
        pytest.param({"args": ["driver", "--verbose=1", "x.py"]}, id="a switch with a value"),
        pytest.param({"args": ["spark-submit", "--kill", "x"]}, id="what starts no program"),
        pytest.param({"args": ["spark-submit", "--remote", "sc://x", "x.py"]}, id="Spark Connect"),
        pytest.param(
            {"args": ["spark-submit", "--deploy-mode", "cluster", "x.py"]}, id="a submitter"
        ),
        pytest.param({"command": ["driver", "x.py"]}, id="another program of that name"),
        pytest.param({"command": ["/run.sh"], "args": ["driver", "x.py"]}, id="another script"),
        pytest.param({"command": ["/bin/sh", "-c", "spark-submit x.py"]}, id="a shell"),
        pytest.param({"command": ["python3", "x.py"]}, id="Python without the variable"),
        pytest.param({"args": ["driver", 7, "x.py"]}, id="no word"),
        pytest.param({"args": ["driver", *["-v"] * 10_000, "x.py"]}, id="words without end"),
    ],
)
def test_there_is_no_sure_place(container: dict[str, Any]) -> None:
    assert started(container) is None


def in_python(value: object) -> dict[str, Any]:
    named = [{"name": PYTHON_OPTIONS, "value": "x"}, {"name": PYTHON_OPTIONS, "value": value}]
    return {"command": ["/usr/bin/python3.11", "x.py"], "env": named}


@pytest.mark.parametrize(
    ("own", "then"),
    [
        ("pyspark-shell", f"--conf {SETTING} pyspark-shell"),
        ("--conf a='b c' pyspark-shell ", f"--conf a='b c' --conf {SETTING} pyspark-shell"),
    ],
)
def test_python_s_variable_has_one_option_more_where_the_pod_has_it(own: str, then: str) -> None:
    made = started(in_python(own))
    assert made is not None
    assert [each["value"] for each in made["env"]] == ["x", then]


@pytest.mark.parametrize(
    "value",
    ["", "x", "xpyspark-shell", "pyspark-shell x", "'a pyspark-shell", "x" * 20_000, None, 7],
)
def test_a_variable_of_another_form_is_left(value: object) -> None:
    assert started(in_python(value)) is None


@pytest.mark.slow
@given(
    before=st.lists(st.sampled_from(["--conf", "--class", "-v", "a=b", "-x", "$(A)", "", "--"])),
    after=st.lists(st.text(max_size=8), max_size=4),
)
def test_no_word_of_the_author_s_is_lost_or_moved(before: list[str], after: list[str]) -> None:
    words = ["driver", *before, *after]
    made = started({"args": words})
    if made is not None:
        at = next(n for n, word in enumerate(made["args"]) if word == SETTING)
        assert [*made["args"][: at - 1], *made["args"][at + 1 :]] == words
