"""A Job over items whose program reads where each pod's items begin."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.commands.sizes.explain import asked_by
from plimsoll_operator.names import labels
from plimsoll_operator.pods.chunk_starts import MOST_STARTS_BYTES, STARTS
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.sizing.job_sizing import Moment
from plimsoll_operator.splitting.cut_job import CHUNK_FEATURE, CutOutcome, cut_new_job
from plimsoll_operator.splitting.items_job import NotOverItems, read_items_job
from plimsoll_operator.splitting.leased_job import Leasing
from plimsoll_operator.views.explanation import PodDecision
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, learned_of
from tests.builders.splitting.items_jobs import Json, a_job, after, answered, env_of, moment_of

ITEMS, PODS = 64, 2
INDEX = "batch.kubernetes.io/job-completion-index"


def moment(mode: Mode = Mode.ENFORCE) -> Moment:
    """Knowledge from two shares of items that differ: no number of even chunks is much better."""
    runs = [ChunkRun(ITEMS // PODS, seconds, 1.5, 20 * MIB) for seconds in (90.0, 220.0)]
    return moment_of(mode, learned_of(runs))


def listed(starts: str | None = "", items: int = ITEMS, pods: int = PODS, **spec: Any) -> Json:
    """A Job as its author wrote it. starts: None omits the variable, "" omits its value."""
    job = a_job(completions=pods, parallelism=PODS, **spec)
    told = [{"name": "PLIMSOLL_ITEMS", "value": str(items)}]
    told.append({"name": "PLIMSOLL_SHARES", "value": str(pods)})
    if starts is not None:
        # The API server keeps no empty value.
        told.append({"name": STARTS, **({"value": starts} if starts else {})})
    main_of(job)["env"] = told
    job["metadata"]["annotations"] = {labels.ITEMS: str(items)}
    return job


def main_of(job: Json) -> Json:
    container: Json = job["spec"]["template"]["spec"]["containers"][0]
    return container


def cut_in(job: Json) -> Json:
    """The Job after admission."""
    made = after(job, answered(job, moment()))
    assert made["spec"]["completions"] > PODS
    return made


def note_of(job: Json) -> Json:
    note: Json = json.loads(job["metadata"]["annotations"][labels.CUT])
    return note


def numbers_in(text: str) -> list[int]:
    return [int(each) for each in text.split()]


def test_it_is_told_where_the_items_of_its_pods_begin() -> None:
    job = listed()
    found = answered(job, moment())
    made = after(job, found)
    pods, env = made["spec"]["completions"], env_of(made)
    starts = numbers_in(env[STARTS])
    sizes = [end - first for first, end in pairwise(starts)]
    assert found.outcome is CutOutcome.CUT
    assert (len(sizes), starts[0], starts[-1]) == (pods, 0, ITEMS)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] < ITEMS // PODS
    assert (env["PLIMSOLL_SHARES"], env["PLIMSOLL_ITEMS"]) == (str(pods), str(ITEMS))
    notes = made["spec"]["template"]["metadata"]["annotations"]
    assert notes[CHUNK_FEATURE] == str(sizes[0]), "a floor and a mode are those of the largest"
    note = note_of(made)
    assert (note["pods"], note["items"], note["least"], note["done"]) == (
        pods,
        sizes[0],
        sizes[-1],
        True,
    )


def test_without_the_variable_its_chunks_are_even() -> None:
    job = listed(None)
    found = answered(job, moment())
    assert found.outcome is CutOutcome.CUT
    made = after(job, found)
    assert (made["spec"]["completions"], STARTS in env_of(made)) == (6, False)
    assert "least" not in note_of(made)


def test_even_chunks_leave_the_variable_empty() -> None:
    """Forty single items that cost a start each: even chunks are best."""
    job = a_job()
    main_of(job)["env"].append({"name": STARTS})
    made = after(job, answered(job))
    assert made["spec"]["completions"] == 20
    (variable,) = [each for each in main_of(made)["env"] if each["name"] == STARTS]
    assert variable == {"name": STARTS}


def test_where_nothing_is_enforced_it_is_only_said() -> None:
    job = listed()
    found = answered(job, moment(Mode.RECOMMEND))
    made = after(job, found)
    assert found.outcome is CutOutcome.RECOMMENDED
    assert main_of(made)["env"] == main_of(job)["env"]
    assert note_of(made)["least"] < note_of(made)["items"]


def beside(kind: str, *names: str) -> Callable[[Json], None]:
    """Add a container with these variables."""

    def add(job: Json) -> None:
        values = {"PLIMSOLL_SHARES": str(PODS), STARTS: None}
        env = [
            {"name": name, **({"value": values[name]} if values[name] else {})} for name in names
        ]
        other = {"name": "other", "image": "other", "env": env}
        job["spec"]["template"]["spec"].setdefault(kind, []).append(other)

    return add


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_all_containers_are_told_alike(kind: str) -> None:
    job = listed()
    beside(kind, "PLIMSOLL_SHARES", STARTS)(job)
    job["metadata"]["annotations"]["plimsoll.dev/container"] = main_of(job)["name"]
    job["spec"]["template"]["metadata"]["annotations"] = {
        labels.CONTAINER: main_of(job)["name"],
    }
    made = cut_in(job)
    other = made["spec"]["template"]["spec"][kind][-1]
    told = {each["name"]: each.get("value") for each in other["env"]}
    assert told == {name: env_of_main(made)[name] for name in ("PLIMSOLL_SHARES", STARTS)}


def env_of_main(job: Json) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in main_of(job)["env"]}


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_who_reads_the_shares_alone_keeps_them_even(kind: str) -> None:
    """Its formula would give other items than the list."""
    job = listed()
    job["spec"]["template"]["metadata"]["annotations"] = {labels.CONTAINER: main_of(job)["name"]}
    beside(kind, "PLIMSOLL_SHARES")(job)
    assert read_items_job(job).cuttable.most_listed == 0
    made = after(job, answered(job, moment()))
    assert (made["spec"]["completions"], env_of_main(made)[STARTS]) == (6, "")


def test_a_list_of_which_the_sized_container_knows_nothing_is_not_written() -> None:
    job = listed(None)
    beside("initContainers", STARTS)(job)
    assert read_items_job(job).cuttable.most_listed == 0


def test_a_list_fits_its_bytes_whatever_is_listed() -> None:
    few = read_items_job(listed())
    many = read_items_job(listed(items=10**15))
    for found, items in ((few, ITEMS), (many, 10**15)):
        most = found.cuttable.most_listed
        assert len(" ".join([str(items)] * (most + 1))) <= MOST_STARTS_BYTES
    job = listed()
    beside("initContainers", "PLIMSOLL_SHARES", STARTS)(job)
    assert read_items_job(job).cuttable.most_listed < few.cuttable.most_listed / 2


def test_a_second_look_changes_nothing_nor_does_a_copy_get_another_cut() -> None:
    made = cut_in(listed())
    again = answered(made, moment())
    assert (again.outcome, again.patch, again.warning) == (CutOutcome.CUT, (), "")
    largest = str(note_of(made)["items"])
    assert again.notes[CHUNK_FEATURE] == largest


STALE = [
    pytest.param({"items": 65}, id="of other items"),
    pytest.param({"pods": 3}, id="of other pods"),
]


@pytest.mark.parametrize("other", STALE)
def test_a_copy_whose_list_does_not_fit_is_told_what_to_write(other: dict[str, int]) -> None:
    starts = env_of(cut_in(listed()))[STARTS]
    found = answered(listed(starts, **other), moment())
    assert (found.outcome, found.patch, found.notes) == (CutOutcome.UNREADABLE, (), {})
    assert 'PLIMSOLL_STARTS to be empty (value: "")' in found.warning
    assert f"from 0 to {other.get('items', ITEMS)}" in found.warning


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param([{"name": STARTS, "value": " "}], id="spaces"),
        pytest.param([{"name": STARTS, "value": "0 32 63"}], id="another total"),
        pytest.param([{"name": STARTS, "valueFrom": {"fieldRef": {}}}], id="from elsewhere"),
        pytest.param(
            [{"name": STARTS, "value": "0 9 64"}, {"name": STARTS, "value": "0 8 64"}], id="two"
        ),
        pytest.param([{"name": STARTS, "value": "0 9 64"}, {"name": STARTS}], id="one is empty"),
        pytest.param([{"name": STARTS, "value": ["0 9 64"]}], id="no text"),
    ],
)
def test_what_makes_no_sense_is_refused(variables: list[Json]) -> None:
    job = listed(None)
    main_of(job)["env"] += variables
    with pytest.raises(NotOverItems, match=STARTS):
        read_items_job(job)


def test_whose_author_lists_his_own_has_the_job_as_he_wrote_it() -> None:
    found = answered(listed("0 40 64"), moment())
    assert (found.outcome, found.patch) == (CutOutcome.KEPT, ())
    assert "PLIMSOLL_STARTS says where each pod's items begin" in found.warning
    assert found.notes == {CHUNK_FEATURE: "40"}


def test_a_job_that_lists_its_shares_leases_nothing() -> None:
    leasing = Leasing("http://leases:8083", b"k" * 32, "run-1")
    for starts, outcome in (("", CutOutcome.LEASED), ("0 40 64", CutOutcome.KEPT)):
        job = listed(starts)
        job["metadata"]["annotations"][labels.LEASES] = "true"
        found = cut_new_job(job, moment(), leasing)
        assert found is not None
        assert found.outcome is outcome


def pod_of(job: Json, index: int | None) -> Json:
    """A pod as the Job controller makes it."""
    template = job["spec"]["template"]
    own = {} if index is None else {INDEX: str(index)}
    metadata = {**template["metadata"]}
    metadata["annotations"] = {**metadata["annotations"], **own}
    return {"metadata": metadata, "spec": template["spec"]}


def test_each_pod_says_how_many_items_it_does_and_so_do_its_retries() -> None:
    made = cut_in(listed())
    starts = numbers_in(env_of(made)[STARTS])
    for index, (first, end) in enumerate(pairwise(starts)):
        assert read_features(pod_of(made, index)).values == {labels.CHUNK_ITEMS: end - first}


def test_what_is_observed_and_what_is_explained_are_the_pods_own_items() -> None:
    """The controller reads it from the pod itself, also where admission was away."""
    made = cut_in(listed())
    starts = numbers_in(env_of(made)[STARTS])
    last = len(starts) - 2
    pod = pod_of(made, last)
    pod["metadata"] |= {"name": f"train-{last}-abcde", "uid": "uid-1", "namespace": "shop"}
    watched = read_pod(pod, lambda task: Knowledge(task=task, policy=Policy()))
    assert watched is not None
    own = {labels.CHUNK_ITEMS: float(starts[-1] - starts[-2])}
    assert watched.attempt.features == own
    asked = asked_by(pod, PodDecision("train", None))
    assert asked is not None
    assert asked.features == own


@pytest.mark.parametrize(
    ("starts", "index", "items"),
    [
        pytest.param("0 40 64", 5, 32, id="an index beyond the list"),
        pytest.param("0 40 64", None, 32, id="no index"),
        pytest.param("0 x 64", 0, 32, id="no numbers"),
        pytest.param("0 64 40", 1, 32, id="a list that falls"),
        pytest.param(None, 0, 32, id="no list"),
        pytest.param("", 0, 32, id="an empty list"),
        pytest.param("0 40 64", 1, 24, id="its own"),
    ],
)
def test_whose_list_says_nothing_of_it_says_what_its_template_does(
    starts: str | None, index: int | None, items: int
) -> None:
    job = listed(starts)
    job["spec"]["template"]["metadata"]["annotations"] = {CHUNK_FEATURE: "32"}
    assert read_features(pod_of(job, index)).values == {labels.CHUNK_ITEMS: items}


def test_a_pod_of_no_job_over_items_has_no_such_feature() -> None:
    job = listed("0 40 64")
    job["spec"]["template"]["metadata"]["annotations"] = {}
    assert read_features(pod_of(job, 1)).values == {}
