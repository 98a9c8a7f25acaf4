"""The part of a task's page about its Jobs over items."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.views.splitting_facts import (
    AskedJob,
    LeasedFacts,
    SplittingFacts,
    leased_facts_of,
    splitting_facts,
)
from plimsoll_operator.web.page.splitting_section import (
    LeasedPart,
    SplittingPart,
    leased_part,
    splitting_part,
)
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import Store
from tests.builders.splitting.taught_chunks import a_taught, chunks_of, uneven_taught
from tests.builders.stores import NOON_S, TRAIN, an_attempt
from tests.rigs.browser.page_readers import asking, bare


@pytest.fixture
def facts(tmp_path: Path) -> SplittingFacts:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    killed = an_attempt("killed").knowing(**{"chunk-items": 90.0}).in_run("job:none")
    lost = killed.ending(Outcome.OOM_KILLED).given(64 * MIB).running(NOON_S, NOON_S + 5)
    store.observations.record([*chunks_of("one"), lost.built])
    found = splitting_facts(store, TRAIN)
    store.close()
    assert found is not None
    return found


def part_of(facts: SplittingFacts | None) -> SplittingPart:
    part = splitting_part(facts)
    assert part is not None
    return part


@pytest.mark.slow
def test_it_draws_the_best_cut_beside_what_was_written(facts: SplittingFacts) -> None:
    part = part_of(facts)
    assert "less time" in part.words["best cut"]
    assert "as written: 8 pods of 50" in part.time
    assert f"best cut: {facts.cut.pods} pods" in part.time
    assert 'class="band"' in part.time


@pytest.mark.slow
def test_memory_shows_pods_that_got_through_and_those_that_were_killed(
    facts: SplittingFacts,
) -> None:
    part = part_of(facts)
    assert part.killed
    memory = part.memory
    assert memory is not None
    assert memory.count('class="need"') == 8
    assert "killed at 64Mi with 90" in memory


@pytest.mark.slow
def test_memory_shows_what_the_best_cut_needs(facts: SplittingFacts) -> None:
    memory = part_of(facts).memory
    assert memory is not None
    assert "as written: 8 pods of 50, " in memory
    assert f"best cut: {facts.cut.pods} pods" in memory


@pytest.mark.slow
def test_where_memory_counts_the_best_cut_is_the_one_that_is_weighed(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record(chunks_of("one"))
    found = splitting_facts(store, TRAIN, AskedJob(memory_weight=1.0))
    store.close()
    assert found is not None
    part = part_of(found)
    assert part.memory_weight == 1.0
    assert part.words["best cut"].endswith("less time × memory^1")
    assert f"best cut: {found.cut.pods} pods" in part.time


@pytest.mark.slow
def test_where_nobody_measured_memory_there_is_no_picture_of_it(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    unmeasured = [
        an_attempt(f"u{at}")
        .knowing(**{"chunk-items": 10.0})
        .in_run(f"job:one:{at}")
        .peaking(None)
        .given(GIB)
        .running(NOON_S, NOON_S + 60)
        .built
        for at in range(4)
    ]
    store.observations.record(unmeasured)
    part = part_of(splitting_facts(store, TRAIN))
    assert part.memory is None
    assert part.words["memory"] == "not measured"
    store.close()


def test_a_task_without_jobs_over_items_has_no_such_part(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record([an_attempt("a").built])
    assert splitting_part(splitting_facts(store, TRAIN)) is None
    store.close()


def leases_of(taught: object) -> LeasedFacts:
    facts = leased_facts_of(TRAIN, taught)
    assert facts is not None
    return facts


def leased(taught: object) -> LeasedPart:
    part = leased_part(leases_of(taught))
    assert part is not None
    return part


def test_leases_have_the_words_of_the_command() -> None:
    facts = leases_of(a_taught())
    part = leased_part(facts)
    assert part is not None
    assert part.words == facts.words
    assert part.words["the last job"] == (
        "3,990 items of 4,000 done, in 61 leases; 2 taken back, 1 refused"
    )


def test_leases_are_drawn_with_bands_what_was_seen_and_the_first_of_the_next_job() -> None:
    part = leased(a_taught())
    assert part.memory is not None
    for drawn in (part.time, part.memory):
        assert 'class="band"' in drawn
        assert 'class="history"' in drawn
        assert "the first lease: 30 items" in drawn
    assert "the first lease: 30 items, 60 s" in part.time
    assert "the first lease: 30 items, 80Mi" in part.memory
    assert 'class="request"' in part.memory
    assert "The limit is 1Gi." in part.memory
    assert 'class="kill"' not in part.memory


def test_where_memory_counts_the_first_lease_is_the_one_that_is_weighed() -> None:
    facts = leased_facts_of(TRAIN, a_taught(), AskedJob(memory_weight=1.0))
    part = leased_part(facts)
    assert facts is not None
    assert facts.next is not None
    assert part is not None
    assert part.memory_weight == 1.0
    assert facts.next.items < 30
    assert f"the first lease: {facts.next.items} items" in part.time


def test_the_smallest_lease_that_was_killed_is_a_cross() -> None:
    part = leased(uneven_taught(killed=(60, GIB)))
    assert part.killed
    assert part.memory is not None
    assert "killed at 1Gi with 60" in part.memory


def test_of_unmeasured_leases_there_is_no_picture_of_memory() -> None:
    part = leased(a_taught(measured=False))
    assert part.memory is None
    assert not part.limit
    assert not part.killed


def test_where_the_last_leased_job_was_not_kept_no_first_lease_is_drawn() -> None:
    part = leased({name: each for name, each in a_taught().items() if name != "last"})
    assert not part.first
    assert "the first lease" not in part.time
    assert part.memory is not None
    assert 'class="request"' not in part.memory


def test_a_task_of_which_no_leased_job_has_ended_has_no_such_part() -> None:
    assert leased_part(leased_facts_of(TRAIN, None)) is None


def test_a_lease_of_a_single_item_can_be_drawn() -> None:
    part = leased(a_taught(sizes=(1,)))
    assert part.time.count(">1</text>") == 1
    assert part.memory is not None


@pytest.mark.slow
async def test_the_page_weighs_by_the_policy_that_rules_the_task(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record(chunks_of("one"))
    cluster = bare(store)
    pages = []
    for weight in (0, 0.5):
        spec = {"splitting": {"memoryWeight": weight}}
        cluster.book.policies.set_profile_spec(TRAIN.namespace, TRAIN.name, spec)
        async with asking(cluster) as reader:
            pages.append((await reader.get(f"/tasks/{TRAIN}"))[1])
    store.close()
    time, both = pages
    assert "less time." in time
    assert "memory counts" not in time
    assert "less time × memory^0.5. By its policy, memory counts" in both
