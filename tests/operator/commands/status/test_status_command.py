"""`plimsoll status`: what counts as healthy, what it prints about tasks, and what to do next."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from plimsoll_operator.commands.status.checks import Check, Level, checks_of
from plimsoll_operator.commands.status.cluster_reader import claim_names, lease_name
from plimsoll_operator.commands.status.cluster_state import ClusterState, Unseen
from plimsoll_operator.commands.status.summary import Summary, summary_of
from plimsoll_operator.commands.status.tables import status_tables
from plimsoll_operator.commands.status.tasks import task_states
from tests.builders.kubernetes.cluster_status import (
    NOW_S,
    a_bundle,
    a_claim,
    a_condition,
    a_deployment,
    a_lease,
    a_profile,
    a_webhook,
    what_is_seen,
)

HOSTILE = "[red]oh[/red] \x1b[31mred"


def checked(name: str, seen: ClusterState) -> Check:
    return next(each for each in checks_of(seen, NOW_S) if each.name == name)


def summary(**changes: Any) -> Summary:
    return summary_of(what_is_seen(**changes), NOW_S)


def text_of(told: Summary, limit: int = 40) -> str:
    console = Console(width=200, record=True, file=StringIO())
    console.print(status_tables(told, limit))
    return console.export_text()


def test_a_healthy_installation_says_who_leads_since_when_and_how_fresh_admission_is() -> None:
    told = summary()
    assert told.healthy
    assert [each.level for each in told.checks] == [Level.GOOD] * 9
    text = text_of(told)
    assert "Plimsoll in plimsoll is healthy" in text
    assert "plimsoll-controller-0 leads, for 3 h" in text
    assert "all 2 admission pods heard the controller within 2 s" in text
    assert "fails open, authority valid for 90 d" in text


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        pytest.param("webhook", {"webhooks": []}, "no MutatingWebhookConfiguration", id="webhook"),
        pytest.param(
            "webhook",
            {"webhooks": [a_webhook(clientConfig={})]},
            "does not know admission's authority",
            id="no authority",
        ),
        pytest.param(
            "webhook",
            {"webhooks": [a_webhook(clientConfig={"caBundle": "AAAA"})]},
            "no certificate",
            id="rubbish for an authority",
        ),
        pytest.param(
            "webhook",
            {"webhooks": [a_webhook(clientConfig={"caBundle": a_bundle(-timedelta(hours=5))})]},
            "expired 5 h ago",
            id="an authority that has expired",
        ),
        pytest.param(
            "admission",
            {"deployments": [a_deployment("admission", ready=0, wanted=2)]},
            "0 of 2 replicas ready",
            id="no admission replica",
        ),
        pytest.param(
            "controller",
            {"deployments": [a_deployment("admission")]},
            "no Deployment of the controller",
            id="no controller",
        ),
        pytest.param(
            "certificate",
            {"certificates_end_s": {"a": NOW_S + 9e6, "b": NOW_S - 7200}},
            "expired 2 h ago",
            id="a certificate that has expired",
        ),
        pytest.param("leader", {"lease": {}}, "no controller leads", id="nobody leads"),
        pytest.param(
            "leader",
            {"lease": a_lease(renewed_ago_s=40)},
            "last said so 40 s ago",
            id="a leader that fell silent",
        ),
        pytest.param(
            "feed",
            {"feed_ages_s": {"a": 1.0, "b": None}},
            "1 of 2 admission pods never heard",
            id="a replica without a feed",
        ),
        pytest.param(
            "store",
            {"claims": [a_claim("Pending")]},
            "no storage class, and the cluster no default",
            id="a claim without a class",
        ),
        pytest.param(
            "store",
            {"claims": [a_claim("Bound"), a_claim("Pending", storageClassName="slow")]},
            "waits for a volume (storage class slow)",
            id="a claim that its class does not satisfy",
        ),
        pytest.param(
            "store", {"claims": [a_claim("Lost")]}, "plimsoll-store is Lost", id="a lost volume"
        ),
        pytest.param(
            "store", {"claims": [a_claim(None)]}, "no claim plimsoll-store", id="no claim"
        ),
    ],
)
def test_what_keeps_pods_from_being_sized_or_learned_from_is_not_healthy(
    name: str, changes: dict[str, Any], words: str
) -> None:
    check = checked(name, what_is_seen(**changes))
    assert check.level is Level.BAD
    assert words in check.words
    assert check.todo
    assert not summary(**changes).healthy


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        pytest.param(
            "admission",
            {"deployments": [a_deployment("admission", ready=1, wanted=2)]},
            "1 of 2 replicas ready",
            id="one replica of two",
        ),
        pytest.param(
            "webhook",
            {"webhooks": [a_webhook(clientConfig={"caBundle": a_bundle(timedelta(hours=30))})]},
            "valid for 30 h",
            id="an authority that expires soon",
        ),
        pytest.param(
            "webhook", {"webhooks": [a_webhook(failurePolicy="Fail")]}, "not Ignore", id="Fail"
        ),
        pytest.param(
            "feed", {"feed_ages_s": {"a": 7200.0}}, "heard the controller 2 h ago", id="stale"
        ),
        pytest.param(
            "feed",
            {"lowering": {"a": 0.0, "b": None}},
            "1 of 2 admission pods raise sizes and lower none",
            id="a replica that only raises",
        ),
        pytest.param("agent", {"agents": []}, "not installed", id="no agent"),
        pytest.param(
            "agent",
            {"agents": [{"status": {"desiredNumberScheduled": 3, "numberReady": 2}}]},
            "on 2 of 3 nodes",
            id="a node without an agent",
        ),
        pytest.param(
            "agent",
            {"agents": [{"status": {"desiredNumberScheduled": 0, "numberReady": 0}}]},
            "on no node",
            id="agents that fit no node",
        ),
        pytest.param(
            "version",
            {
                "deployments": [
                    a_deployment("admission", version="0.2.0"),
                    a_deployment("controller"),
                ]
            },
            "0.1.0 and 0.2.0 side by side",
            id="an upgrade half-way",
        ),
        pytest.param(
            "sizing",
            {
                "policies": [
                    {
                        "metadata": {"name": "cluster", "namespace": "plimsoll"},
                        "spec": {"paused": True},
                    }
                ]
            },
            "paused on the whole cluster",
            id="paused",
        ),
    ],
)
def test_what_needs_a_look_is_told_and_healthy_all_the_same(
    name: str, changes: dict[str, Any], words: str
) -> None:
    check = checked(name, what_is_seen(**changes))
    assert check.level is Level.WARNING
    assert words in check.words
    assert check.todo


def test_a_claim_that_waits_is_told_where_to_look() -> None:
    told = summary(claims=[a_claim("Pending")])
    steps = [step for step in told.next_steps if step.startswith("store: ")]
    assert "kubectl describe pvc -n plimsoll plimsoll-store" in steps[0]


def test_a_claim_with_a_volume_is_good_and_no_claim_is_not_looked_at() -> None:
    assert checked("store", what_is_seen(claims=[a_claim("Bound")])).level is Level.GOOD
    assert checked("store", what_is_seen(claims=None)).level is Level.UNSEEN
    assert "store" not in [each.name for each in checks_of(what_is_seen(), NOW_S)]


def test_the_claims_are_those_that_the_controller_mounts() -> None:
    volumes = [{"name": "tmp"}, {"name": "store", "persistentVolumeClaim": {"claimName": "mine"}}]
    controller = a_deployment("controller")
    controller["spec"]["template"] = {"spec": {"volumes": volumes}}
    assert claim_names([a_deployment("admission"), controller], "plimsoll") == ["mine"]
    assert claim_names([controller], "elsewhere") == []
    assert claim_names([a_deployment("controller")], "plimsoll") == []


def test_a_policy_named_cluster_elsewhere_pauses_nothing() -> None:
    elsewhere = {"metadata": {"name": "cluster", "namespace": "shop"}, "spec": {"paused": True}}
    assert checked("sizing", what_is_seen(policies=[elsewhere])).level is Level.GOOD


def test_what_may_not_be_read_is_told_with_the_servers_words_and_is_not_unhealthy() -> None:
    unseen = (Unseen("leader", "leases is forbidden"), Unseen("webhook", "webhooks is forbidden"))
    told = summary(lease=None, webhooks=None, feed_ages_s=None, unseen=unseen)
    assert told.healthy
    assert checked("leader", what_is_seen(lease=None, unseen=unseen)).words == "leases is forbidden"
    assert "? webhook: webhooks is forbidden" in text_of(told)


def test_whoever_may_write_the_authority_is_named() -> None:
    hooks = [a_webhook(clientConfig={"caBundle": e}) for e in (None, "AAAA", a_bundle(timedelta()))]
    assert all("cert-manager" in str(summary(webhooks=[each]).next_steps) for each in hooks)


def test_an_empty_cluster_is_told_how_to_install() -> None:
    told = summary(deployments=[], webhooks=[], agents=[], lease=None, profiles=[])
    assert not told.healthy
    assert [each.name for each in told.checks] == ["installation", "sizing"]
    assert "helm install plimsoll" in told.next_steps[0]


def test_tasks_in_trouble_come_first_with_the_reason_then_those_with_most_to_gain() -> None:
    profiles = [
        a_profile("small", wouldSaveGbH=0.1),
        a_profile("large", wouldSaveGbH=9.0),
        a_profile(
            "leaks", conditions=[a_condition("Leaking", "True", "LiftsExhausted", "3 lifts")]
        ),
        a_profile("fine", conditions=[a_condition("Leaking", "False", "LiftsHelp")]),
    ]
    told = summary(profiles=profiles)
    assert [each.name for each in told.tasks] == ["leaks", "large", "fine", "small"]
    text = text_of(told)
    assert "LiftsExhausted: 3 lifts" in text
    assert text.index("in trouble") < text.index("large")
    assert "look at shop/leaks: plimsoll explain shop/leaks" in told.next_steps


@pytest.mark.parametrize(
    ("kind", "status", "troubled"),
    [
        ("MeasurementsFresh", "False", True),
        ("MeasurementsFresh", "Unknown", False),
        ("TrainingFailed", "True", True),
        ("Degraded", "True", True),
        ("Degraded", "False", False),
        ("ModelReady", "False", False),
        ("Drifting", "True", False),
    ],
)
def test_a_condition_is_trouble_or_not(kind: str, status: str, troubled: bool) -> None:
    [state] = task_states([a_profile(conditions=[a_condition(kind, status, "Why")])])
    assert bool(state.status.troubles) is troubled


def test_enforcing_is_advised_where_it_saves_and_kills_few() -> None:
    few = a_profile("a", namespace="few", wouldSaveGbH=5.0, wouldKill=1)
    many = a_profile("b", namespace="many", wouldSaveGbH=50.0, wouldKill=20)
    enforced = a_profile("c", namespace="done", mode="enforce", wouldSaveGbH=5.0)
    steps = summary(profiles=[few, many, enforced]).next_steps
    [advice] = [step for step in steps if "plimsoll enforce" in step]
    assert "enforcing in few would have saved 5 GB·h and killed 1 of 40 runs" in advice


def test_a_task_that_asks_for_too_little_has_a_column_of_its_own() -> None:
    asking = a_profile(
        saved="none (3 GB·h more)", savedGbH=-3.0, asks="too little: 100Mi, needs 210Mi"
    )
    text = text_of(summary(profiles=[asking, a_profile("other", "lab")]))
    assert "asks for" in text
    assert "too little: 100Mi, needs 210Mi" in text
    assert "none" in text
    assert "-3" not in text
    told = summary(profiles=[asking]).to_dict()["tasks"][0]
    assert (told["asks"], told["saved_gb_h"]) == ("too little: 100Mi, needs 210Mi", -3.0)
    assert "asks for" not in text_of(summary())


def test_eighty_columns_cut_no_figure() -> None:
    asking = a_profile(
        mode="enforce", saved="none (3 GB·h more)", savedGbH=-3.0, asks="too little: 1Gi, needs 2Gi"
    )
    many = [asking, a_profile("join", "lab"), a_profile("train", "lab", wouldKill=12)]
    console = Console(width=80, record=True, file=StringIO())
    console.print(status_tables(summary(profiles=many), 40))
    lines = console.export_text().splitlines()
    heads = [line.split() for line in lines if line.startswith(("task ", "namespace "))]
    figures = ["runs", "OOMs", "saved", "save", "kill"]
    assert heads == [
        ["task", "mode", "phase", *figures],
        ["task", "asks", "for"],
        ["namespace", "modes", "tasks", *figures],
    ]


def test_namespaces_are_added_up() -> None:
    profiles = [a_profile("a"), a_profile("b"), a_profile("c", namespace="lab", mode="enforce")]
    shop, lab = summary(profiles=profiles).namespaces
    assert (shop.namespace, shop.tasks, shop.runs, shop.would_kill_runs) == ("shop", 2, 80, 2)
    assert shop.would_save_gb_h == pytest.approx(2.4)
    assert (lab.modes, lab.tasks) == ({"enforce": 1}, 1)


def test_a_program_is_told_all_that_people_are() -> None:
    told = summary().to_dict()
    assert told["healthy"] is True
    assert {each["name"] for each in told["checks"]} >= {"webhook", "leader", "feed", "sizing"}
    assert told["tasks"][0]["would_save_gb_h"] == pytest.approx(1.2)
    assert told["namespaces"][0]["would_kill_runs"] == 1


def test_a_profile_with_rubbish_in_its_status_is_shown_as_far_as_it_goes() -> None:
    rubbish = a_profile(HOSTILE, runs="many", wouldSaveGbH=True, conditions="x", lastDecisions=[])
    told = summary(profiles=[rubbish, {"metadata": {"name": "bare", "namespace": "shop"}}])
    assert [each.status.runs for each in told.tasks] == [0, 0]
    assert "\x1b" not in text_of(told)
    assert "[red]oh[/red]" in text_of(told)


@pytest.mark.slow
def test_of_thousands_of_tasks_the_first_are_shown_and_the_rest_are_counted() -> None:
    told = summary(profiles=[a_profile(f"task-{place}") for place in range(5000)])
    text = text_of(told, limit=10)
    assert "and 4,990 more" in text
    assert text.count("shop/task-") == 10
    assert len(told.to_dict()["tasks"]) == 5000


def test_the_lease_is_the_one_that_the_controllers_compete_for() -> None:
    named = a_deployment("controller")
    container = {"env": [{"name": "PLIMSOLL_LEASE", "value": "other"}]}
    named["spec"]["template"] = {"spec": {"containers": [container]}}
    assert lease_name([named], "plimsoll") == "other"
    assert lease_name([a_deployment("controller")], "plimsoll") == "plimsoll-controller"


def test_why_attempts_did_not_succeed_lately_is_told_where_some_did_not() -> None:
    words = "killed at its limit (3), preempted (1)"
    told = summary(profiles=[a_profile("fails", causes=words), a_profile("fine")])
    assert [each["causes"] for each in told.to_dict()["tasks"]] == [words, None]
    text = text_of(told)
    assert "did not succeed lately" in text
    assert f"shop/fails  {words}" in text
    assert "did not succeed lately" not in text_of(summary(profiles=[a_profile("fine")]))


def test_runs_killed_below_their_request_are_told_where_there_are_some() -> None:
    words = "3 of the last 400 runs were killed below the request"
    told = summary(
        profiles=[a_profile("killed", killedBelowRequest={"text": words}), a_profile("spared")]
    )
    assert [each["killed_below_request"] for each in told.to_dict()["tasks"]] == [words, None]
    assert f"shop/killed  {words}" in text_of(told)
