"""`plimsoll status` says in one line what is lent, where a policy lets pods lend."""

from __future__ import annotations

from typing import Any, cast

import pytest

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.cluster_reader import ClusterReader
from plimsoll_operator.commands.status.cluster_state import Unseen
from plimsoll_operator.commands.status.lending import any_lends, lending_check, lending_now
from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_predictor.core.units import GIB
from tests.builders.controller.lent_metrics import scraped
from tests.builders.kubernetes.cluster_status import NOW_S, a_deployment, what_is_seen

LENDS: Any = {"metadata": {"name": "default", "namespace": "shop"}, "spec": {"lending": "auto"}}


async def test_what_the_leader_measures_is_read() -> None:
    assert lending_now([b"plimsoll_leads 0\n", await scraped()]) == LendingNow(
        lent_bytes=3 * GIB,
        attempts=4,
        nodes=2,
        waiting=1,
        taken_back={"grew": 4, "sibling": 1},
    )


@pytest.mark.parametrize("text", [b"", b"plimsoll_leads 0\n", b"}{ \xff", b"no metrics 1 2 3"])
def test_who_does_not_lead_or_speaks_otherwise_tells_nothing(text: bytes) -> None:
    assert lending_now([text]) is None


def test_strange_figures_count_as_none() -> None:
    strange = b"plimsoll_lending_pods NaN\nplimsoll_lending_lent_bytes -5\nplimsoll_lending_on 1\n"
    assert lending_now([strange]) == LendingNow()


def test_where_no_policy_lends_nothing_is_said() -> None:
    assert lending_check(what_is_seen(lending=LendingNow(attempts=4))) is None
    never = {"spec": {"lending": "never"}}
    assert lending_check(what_is_seen(policies=[never])) is None
    assert not any_lends([{"spec": None}, {}])


@pytest.mark.parametrize("where", ["policies", "profiles"])
def test_where_one_lends_its_line_says_what(where: str) -> None:
    told = lending_check(what_is_seen(**{where: [LENDS]}, lending=LendingNow()))
    words = "nothing is lent now; none took back what it had lent"
    assert told == Check("lending", Level.GOOD, words)


def test_a_cluster_that_cannot_lend_is_told_to_look() -> None:
    told = lending_check(what_is_seen(policies=[LENDS], lending=LendingNow(possible=False)))
    assert told is not None
    assert told.level is Level.WARNING
    assert "cannot resize" in told.words


def test_who_may_not_read_it_is_told_so_and_nothing_is_unhealthy_for_it() -> None:
    unseen = (Unseen("lending", "pods/proxy is forbidden"),)
    summary = summary_of(what_is_seen(policies=[LENDS], unseen=unseen), NOW_S)
    assert Check("lending", Level.UNSEEN, "pods/proxy is forbidden") in summary.checks
    assert summary.healthy
    assert not summary.hidden
    assert summary.to_dict()["lending"] is None


def test_a_program_is_told_the_figures() -> None:
    summary = summary_of(what_is_seen(policies=[LENDS], lending=LendingNow(attempts=4)), NOW_S)
    assert summary.to_dict()["lending"]["attempts"] == 4


class Answers:
    """An API server with one controller that leads; it counts requests for metrics."""

    def __init__(self, policies: list[Any], metrics: bytes) -> None:
        self.policies = policies
        self.metrics = metrics
        self.asked: list[str] = []

    clock_s = None

    async def get(self, path: str) -> Any:
        if path == "/version":
            return {}
        raise NotFound(path)

    async def items(self, path: str, query: dict[str, str] | None = None) -> list[Any]:
        if path.endswith("/deployments"):
            return [a_deployment("admission"), a_deployment("controller")]
        if path.endswith("/sizingpolicies"):
            return self.policies
        if path.endswith("/pods"):
            component = (query or {})["labelSelector"].rpartition("=")[2]
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            return [{"metadata": {"name": f"{component}-a"}, "status": ready}]
        return []

    async def text(self, path: str) -> bytes:
        self.asked.append(path)
        return self.metrics


@pytest.mark.parametrize("lends", [True, False])
async def test_the_controller_is_asked_only_where_a_policy_lends(*, lends: bool) -> None:
    answers = Answers([LENDS] if lends else [], await scraped())
    reader = ClusterReader(cast(ApiServer, answers), Installation(), None)
    state = await reader.read()
    asked = [each for each in answers.asked if "/controller-a:8081/" in each]
    assert bool(asked) is lends
    assert (state.lending is not None) is lends
    if state.lending is not None:
        assert state.lending.words == (
            "4 attempts on 2 nodes lend 3Gi now; 5 attempts took back what they had lent"
            " (4 used more, 1 as a sibling grew); 1 attempt waiting for room to take back"
        )
