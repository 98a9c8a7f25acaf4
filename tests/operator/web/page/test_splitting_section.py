"""The part of a task's page about its Jobs over items."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.views.splitting_facts import SplittingFacts, splitting_facts
from plimsoll_operator.web.page.splitting_section import SplittingPart, splitting_part
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import Store
from tests.builders.stores import NOON_S, TRAIN, an_attempt
from tests.operator.commands.test_split_command import chunks_of


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


def test_it_draws_the_best_cut_beside_what_was_written(facts: SplittingFacts) -> None:
    part = part_of(facts)
    assert "less time" in part.words["best cut"]
    assert "as written: 8 pods of 50" in part.time
    assert f"best cut: {facts.cut.pods} pods" in part.time
    assert 'class="band"' in part.time


def test_memory_shows_pods_that_got_through_and_those_that_were_killed(
    facts: SplittingFacts,
) -> None:
    memory = part_of(facts).memory
    assert memory is not None
    assert memory.count('class="need"') == 8
    assert "killed at 64Mi with 90" in memory


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
