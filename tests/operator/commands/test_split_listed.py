"""`plimsoll split` and the page, of Jobs whose chunks become smaller."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.splitting.split import split_command
from plimsoll_operator.controller.profiles.splitting_known import SplittingKnown
from plimsoll_operator.names.labels import CHUNK_ITEMS
from plimsoll_operator.views.splitting_facts import AskedJob, splitting_facts
from plimsoll_operator.web.page.splitting_section import splitting_part
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import Store
from tests.builders.stores import NOON_S, TRAIN, an_attempt

SHARES = ((32, 126.0), (32, 171.0))
LISTED = ((27, 130.0), (27, 124.0), (4, 20.0), (4, 22.0), (2, 9.0))


def pods_of(job: str, at_s: float, chunks: Sequence[tuple[int, float]]) -> Iterator[Observation]:
    """Two workers take the chunks one after the other."""
    free = [at_s, at_s]
    for index, (items, seconds) in enumerate(chunks):
        at = free.index(min(free))
        made = an_attempt(f"{job}-{index}").knowing(**{CHUNK_ITEMS: float(items)})
        made = made.in_run(f"job:{job}:{index}").peaking(20 * MIB).given(64 * MIB)
        yield made.running(free[at], free[at] + seconds).built
        free[at] += seconds + 2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    opened.observations.record(list(pods_of("one", NOON_S, SHARES)))
    yield opened
    opened.close()


def url_of(store: Store, tmp_path: Path) -> str:
    del store
    return f"sqlite:///{tmp_path}/plimsoll.db"


def told(
    url: str, capsys: pytest.CaptureFixture[str], asked: AskedJob | None = None
) -> tuple[dict[str, object], str]:
    assert split_command(str(TRAIN), url, OutputForm.JSON, asked or AskedJob()) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    assert split_command(str(TRAIN), url, OutputForm.TABLE, asked or AskedJob()) == 0
    return document, capsys.readouterr().out


@pytest.mark.slow
def test_after_a_run_in_shares_it_says_what_a_list_would_gain(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, shown = told(url_of(store, tmp_path), capsys)
    assert (document["pods"], document["least_items_per_pod"]) == (2, None), "no even cut is better"
    listed = document["listed"]
    assert isinstance(listed, dict)
    assert (listed["items_per_pod"], listed["gain"] > 0.04) == (27, True)
    assert listed["least_items_per_pod"] < 27
    (line,) = [line for line in shown.splitlines() if "by a list" in line]
    assert "pods of 27 to" in line


@pytest.mark.slow
def test_of_a_job_that_lists_its_chunks_it_says_the_largest_and_the_smallest(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.observations.record(list(pods_of("two", NOON_S + 1000, LISTED)))
    document, shown = told(url_of(store, tmp_path), capsys)
    job = document["job"]
    assert isinstance(job, dict)
    assert (job["items"], job["pods"], document["listed"]) == (64, 5, None)
    assert (document["pods"], document["items_per_pod"]) == (5, 27)
    assert document["least_items_per_pod"] == 2
    assert "as it is, 5 pods of 27 to 2 items: nothing to gain" in shown
    assert "27 to 2" in shown.split("best cut")[1].split("nothing to gain")[1], "in its table, too"
    known, _ = SplittingKnown(store).of(TRAIN, NOON_S + 2000, has_chunks=True)
    assert known.cut is not None
    assert known.cut.verdict == "as it is, 5 pods of 27 to 2 items: nothing to gain"


@pytest.mark.slow
def test_another_job_of_a_task_that_lists_is_not_cut_yet(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.observations.record(list(pods_of("two", NOON_S + 1000, LISTED)))
    document, shown = told(url_of(store, tmp_path), capsys, AskedJob(items=128))
    job = document["job"]
    assert isinstance(job, dict)
    assert (job["items"], job["pods"]) == (128, 2)
    assert "of 27 to 2" not in shown


@pytest.mark.slow
def test_the_page_draws_it(store: Store) -> None:
    store.observations.record(list(pods_of("two", NOON_S + 1000, LISTED)))
    facts = splitting_facts(store, TRAIN)
    part = splitting_part(facts)
    assert part is not None
    assert "as written: 5 pods of 27 to 2" in part.time
    assert part.words["best cut"].startswith("as it is, 5 pods of 27 to 2 items")


@pytest.mark.slow
def test_a_chunk_that_was_killed_counts_with_its_own_items(store: Store) -> None:
    """The death of a small chunk says something about small ones, whatever the largest had."""
    killed = an_attempt("killed").knowing(**{CHUNK_ITEMS: 4.0}).in_run("job:two:2")
    dead = killed.ending(Outcome.OOM_KILLED).given(64 * MIB).running(NOON_S + 900, NOON_S + 905)
    again = list(pods_of("two", NOON_S + 1000, LISTED))
    store.observations.record([dead.built, *again])
    facts = splitting_facts(store, TRAIN)
    assert facts is not None
    assert facts.learned.killed == ((4, 64 * MIB),)
    assert facts.job.sizes == (27, 27, 4, 4, 2), "its next pod has the same index and items"
