"""A copy of a cut Job with other items: what was found for the other's chunks does not hold."""

from __future__ import annotations

import json

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.splitting.cut_job import CHUNK_FEATURE, CutOutcome
from tests.builders.splitting.items_jobs import (
    ITEMS,
    Json,
    a_job,
    after,
    answered,
    applied,
    moment_of,
    one_each,
)

PODS = 20


def a_copy(items: int) -> Json:
    """A Job that was cut into ``PODS``, as people copy and edit it."""
    made = after(a_job(), answered(a_job()))
    assert made["spec"]["completions"] == PODS
    made["metadata"]["annotations"][labels.ITEMS] = str(items)
    for each in made["spec"]["template"]["spec"]["containers"][0]["env"]:
        if each["name"] == "PLIMSOLL_ITEMS":
            each["value"] = str(items)
    return made


def of_template(job: Json) -> dict[str, str]:
    found: dict[str, str] = job["spec"]["template"]["metadata"]["annotations"]
    return found


def test_it_is_cut_by_its_own_items_and_has_their_memory() -> None:
    copied = a_copy(ITEMS // 4)
    found = answered(copied, moment_of(learned=one_each(100)))
    assert found.outcome is CutOutcome.CUT
    made = after(copied, found)
    pods = made["spec"]["completions"]
    assert pods < PODS
    assert of_template(made)[CHUNK_FEATURE] == str(ITEMS // 4 // pods)
    memory = labels.CHUNK_MEMORY
    assert of_template(made)[memory] != of_template(copied)[memory]
    note = json.loads(made["metadata"]["annotations"][labels.CUT])
    assert (note["was"], note["pods"]) == (PODS, pods)


@pytest.mark.parametrize("why", ["nothing is known", "it is applied", "nothing is to be gained"])
def test_if_it_stays_as_it_is_nothing_of_the_other_is_said_of_it(why: str) -> None:
    copied, moment = a_copy(10 * ITEMS), moment_of(learned=one_each(100))
    if why == "nothing is known":
        moment = moment_of(chunks={})
    elif why == "it is applied":
        applied(copied)
    made = after(copied, answered(copied, moment))
    assert made["spec"]["completions"] == PODS
    note = json.loads(made["metadata"]["annotations"].get(labels.CUT, "{}"))
    assert not {"items", "done"} & set(note)
    assert of_template(made)[CHUNK_FEATURE] == str(10 * ITEMS // PODS)
    assert labels.CHUNK_MEMORY not in of_template(made)


def test_with_the_same_items_it_stays_as_it_is_cut() -> None:
    copied = a_copy(ITEMS)
    found = answered(copied, moment_of(learned=one_each(100)))
    assert (found.outcome, found.patch) == (CutOutcome.CUT, ())
    assert of_template(after(copied, found)) == of_template(copied)
