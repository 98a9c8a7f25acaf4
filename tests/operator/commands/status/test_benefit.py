"""Whether `plimsoll status` says at once that tasks would have been better off as written."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.commands.status.benefit import benefit_of
from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.commands.status.tasks import namespace_states, task_states
from tests.builders.kubernetes.cluster_status import NOW_S, a_profile, what_is_seen


def told(*profiles: Any) -> Check | None:
    return benefit_of(namespace_states(task_states(profiles), ()))


def sized(namespace: str, held_gb_h: float, asked_gb_h: float) -> Any:
    lately = {"heldGbH": held_gb_h, "askedGbH": asked_gb_h}
    return a_profile(f"task-{held_gb_h}", namespace=namespace, lately=lately)


def test_nothing_is_said_before_a_run_was_sized() -> None:
    assert told() is None
    assert told(a_profile()) is None


def test_a_fleet_that_saves_says_how_much() -> None:
    check = told(sized("a", 10.0, 40.0), sized("b", 10.0, 40.0))
    assert check == Check("benefit", Level.GOOD, "saved 75% (60 GB·h) lately")


def test_a_fleet_that_would_have_been_better_off_without_says_so() -> None:
    check = told(sized("a", 60.0, 40.0), sized("b", 39.0, 40.0))
    assert check is not None
    assert check.level is Level.WARNING
    better = "all tasks together would have been better off without Plimsoll: 19 GB·h more"
    assert better in check.words
    assert check.words.endswith("as in a")
    assert check.todo is not None
    assert check.todo.startswith("plimsoll pause -n a")


def test_a_namespace_that_would_have_been_better_off_is_named_beside_the_saving() -> None:
    check = told(sized("a", 60.0, 40.0), sized("b", 100.0, 400.0))
    assert check is not None
    assert check.level is Level.WARNING
    assert "but 1 namespace would have been better off without Plimsoll: a" in check.words


def test_a_percent_more_is_rounding() -> None:
    check = told(sized("a", 40.2, 40.0))
    assert check is not None
    assert check.level is Level.GOOD


def test_the_summary_shows_it_and_no_figure_that_is_no_number_breaks_it() -> None:
    profiles = [sized("a", 60.0, 40.0), a_profile("b", lately={"heldGbH": "much"}, guarded=7)]
    summary = summary_of(what_is_seen(profiles=profiles), NOW_S)
    assert [each.level for each in summary.checks if each.name == "benefit"] == [Level.WARNING]
    assert any(step.startswith("benefit: plimsoll pause") for step in summary.next_steps)
    assert summary.healthy


def test_tasks_that_the_guard_holds_are_counted() -> None:
    held = a_profile("c", namespace="a", guarded="the task follows this rule")
    check = told(sized("a", 10.0, 40.0), held)
    assert check is not None
    assert check.words.endswith("lately; 1 task follows a simple rule, which did better for long")
