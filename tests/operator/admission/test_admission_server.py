"""The server as the API server meets it: over TLS, with whatever bodies come."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.admission import answering
from plimsoll_operator.admission.server import MAX_BODY_BYTES
from plimsoll_operator.names import labels
from plimsoll_operator.processes.admission import Running
from plimsoll_predictor.core.policy import Mode
from tests.builders.pods import APod, a_pod, a_review, decision_of, memory_of
from tests.rigs.servers.admission_servers import (
    Caller,
    a_server,
    knowledge_of,
    patch_in,
    until_true,
)

POD = a_pod().asking("4Gi").limited("4Gi")
UNCHANGED = {"uid": "review-1", "allowed": True}


def failed_open(server: Running, reason: str) -> float:
    value = server.metrics.registry.get_sample_value(
        "plimsoll_admission_failed_open_total", {"reason": reason}
    )
    return value or 0.0


async def sized(caller: Caller, pod: APod = POD) -> APod:
    return pod.patched(patch_in(await caller.review(pod)))


async def test_a_labelled_pod_is_sized(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        after = await sized(caller)
        assert memory_of(after) == ("1127Mi", "1127Mi")
        assert decision_of(after)["was"] == {"request": "4Gi", "limit": "4Gi"}
        enforced = server.metrics.registry.get_sample_value(
            "plimsoll_admission_pods_total", {"outcome": "enforced", "reason": "max-seen"}
        )
        assert enforced == 1


async def test_the_answer_is_one_that_the_api_server_takes(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        answer = await caller.send(json.dumps(a_review(POD)).encode())
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response = answer["response"]
    assert set(response) == {"uid", "allowed", "patchType", "patch"}
    assert (response["uid"], response["allowed"]) == ("review-1", True)


async def test_a_dry_run_gets_the_same_answer(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        before = dict(server.state.tasks)
        assert await caller.review(POD, dry_run=True) == await caller.review(POD)
        assert server.state.tasks == before


async def test_pods_are_counted_and_not_questions(tmp_path: Path) -> None:
    """A dry run makes no pod, and a pod that another webhook changes is asked for twice."""

    def counted() -> dict[str, float]:
        (family,) = (
            each
            for each in server.metrics.registry.collect()
            if each.name == "plimsoll_admission_pods"
        )
        totals = [each for each in family.samples if each.name.endswith("_total")]
        return {each.labels["outcome"]: each.value for each in totals}

    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        await caller.review(POD.received(), dry_run=True)
        assert counted() == {}
        after = await sized(caller, POD.received())
        assert counted() == {"enforced": 1}
        await caller.review(after)
        assert counted() == {"enforced": 1}
        left = await sized(caller, after.asking("3Gi").limited("3Gi"))
        assert counted() == {"enforced": 1, "left": 1}, "it is left only now"
        await caller.review(left)
        assert counted() == {"enforced": 1, "left": 1}


async def test_an_unknown_task_is_admitted_with_its_own_request(tmp_path: Path) -> None:
    async with a_server(tmp_path) as (caller, _, _):
        after = await sized(caller)
    assert memory_of(after) == ("4Gi", "4Gi")
    assert decision_of(after)["reason"] == "cold-start"


async def test_an_unknown_mode_is_admitted_with_a_warning(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        response = await caller.review(POD.in_mode("sometimes"))
        assert (await caller.review(POD)).get("warnings") is None
    assert response["allowed"] is True
    assert len(response["warnings"]) == 1
    assert labels.MODE in response["warnings"][0]


async def test_a_pod_that_is_not_ours_is_admitted_unchanged(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        assert await caller.review(POD.unlabelled()) == UNCHANGED


def a_body(**changes: Any) -> bytes:
    return json.dumps({**a_review(POD), **changes}).encode()


def a_request(**changes: Any) -> bytes:
    return json.dumps(a_review(POD, **changes)).encode()


@pytest.mark.parametrize(
    ("body", "reason", "uid"),
    [
        pytest.param(b"", "malformed", "", id="empty"),
        pytest.param(b"{", "malformed", "", id="cut off"),
        pytest.param(a_body()[:-1], "malformed", "review-1", id="cut off at its end"),
        pytest.param(b"\xff\xfe", "malformed", "", id="not text"),
        pytest.param(b"[" * 100_000, "malformed", "", id="deep"),
        pytest.param(a_body().replace(b"4Gi", b"\xff"), "malformed", "review-1", id="bad text"),
        pytest.param(b"[]", "foreign", "", id="a list"),
        pytest.param(b"null", "foreign", "", id="null"),
        pytest.param(b'{"kind":"AdmissionReview"}', "foreign", "", id="no request"),
        pytest.param(a_body(kind="Pod"), "foreign", "review-1", id="another kind"),
        pytest.param(a_body(kind=None), "foreign", "review-1", id="no kind"),
        pytest.param(a_body(request=3), "foreign", "", id="a request that is a number"),
        pytest.param(a_request(uid=7), "foreign", "", id="a uid that is a number"),
        pytest.param(a_body(apiVersion="admission.k8s.io/v9"), "version", "review-1", id="v9"),
        pytest.param(a_body(apiVersion=None), "version", "review-1", id="no version"),
        pytest.param(a_request(operation="DELETE"), "not-a-creation", "review-1", id="deletion"),
        pytest.param(a_request(operation="UPDATE"), "not-a-creation", "review-1", id="update"),
        pytest.param(a_request(subResource="resize"), "not-a-creation", "review-1", id="resize"),
        pytest.param(a_request(object=None), "not-a-creation", "review-1", id="no object"),
        pytest.param(a_request(object=[1]), "not-a-creation", "review-1", id="a list for a pod"),
        pytest.param(
            a_request(resource={"group": "apps", "version": "v1", "resource": "deployments"}),
            "not-a-creation",
            "review-1",
            id="a Deployment",
        ),
    ],
)
async def test_whatever_comes_is_admitted_unchanged_and_counted(
    tmp_path: Path, body: bytes, reason: str, uid: str
) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        answer = await caller.send(body)
        assert answer["response"] == {"uid": uid, "allowed": True}
        assert failed_open(server, reason) == 1
        assert memory_of(await sized(caller))[0] == "1127Mi"


async def test_v1beta1_is_answered_in_its_own_version(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        answer = await caller.send(a_body(apiVersion="admission.k8s.io/v1beta1"))
    assert answer["apiVersion"] == "admission.k8s.io/v1beta1"
    assert answer["response"] == UNCHANGED


async def test_a_review_of_3_mib_is_sized(tmp_path: Path) -> None:
    pod = POD.annotated({"example.com/notes": "x" * (3 * 2**20)})
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        assert memory_of(await sized(caller, pod))[0] == "1127Mi"


@pytest.mark.slow
async def test_a_review_over_the_limit_is_admitted_by_its_uid(tmp_path: Path) -> None:
    huge = POD.annotated({"example.com/notes": "x" * (MAX_BODY_BYTES + 1)})
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        assert await caller.review(huge) == UNCHANGED
        assert failed_open(server, "oversized") == 1
        assert memory_of(await sized(caller))[0] == "1127Mi"


@pytest.mark.slow
async def test_ten_thousand_annotations_and_huge_values_are_admitted(tmp_path: Path) -> None:
    prefix = labels.FEATURE_PREFIX
    pod = POD.annotated({f"{prefix}f{i}": "1" for i in range(10_000)}).knowing(
        notes="x" * 262_144, rows="NaN", columns="1e308", region="nörd"
    )
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        after = await sized(caller, pod)
        assert memory_of(after)[0] == "1127Mi"
        ignored = server.metrics.registry.get_sample_value(
            "plimsoll_admission_ignored_features_total"
        )
        assert ignored == 10_004 - 64


async def test_an_error_in_sizing_admits_the_pod_and_tells_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(answering, "size", broken)
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        for _ in range(20):
            assert await caller.review(POD) == UNCHANGED
        assert failed_open(server, "error") == 20
    logged = capsys.readouterr().out
    assert "RuntimeError" in logged
    assert "hunter2" not in logged
    assert logged.count("failed-open") == 1


async def test_knowledge_that_is_too_old_changes_no_pod(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        server.freshness.heard_s = server.freshness.heard_s or 0.0
        server.freshness.max_age_s = -1.0
        assert await caller.review(POD) == UNCHANGED
        assert failed_open(server, "stale") == 1


async def test_a_change_in_the_feed_is_served_at_once(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of(mode=Mode.OFF)) as (caller, server, board):
        assert await caller.review(POD) == UNCHANGED
        board.publish(replace(knowledge_of(), runs=21))
        await until_true(lambda: any(k.runs == 21 for k in server.state.tasks.values()))
        assert memory_of(await sized(caller))[0] == "1127Mi"


async def test_other_paths_are_not_found(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        url = caller.url.replace("/size", "/other")
        async with caller.session.post(url, data=a_body(), ssl=caller.tls) as response:
            assert response.status == 404
            assert "only /size" in (response.reason or "")
        async with caller.session.get(caller.url, ssl=caller.tls) as response:
            assert response.status == 405


async def test_health_and_metrics_are_on_the_plain_port(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        base = f"http://127.0.0.1:{server.metrics_port}"

        async def page(path: str) -> tuple[int, str]:
            async with caller.session.get(base + path) as response:
                return response.status, await response.text()

        assert await page("/healthz") == (200, "ok\n")
        assert await page("/readyz") == (200, "ok\n")
        await caller.review(POD)
        _, text = await page("/metrics")
        assert 'plimsoll_admission_pods_total{outcome="enforced",reason="max-seen"} 1.0' in text
        assert "plimsoll_admission_tasks 1.0" in text
        server.drain()
        assert (await page("/readyz"))[0] == 503


@pytest.mark.slow
async def test_many_connections_at_once_are_all_answered(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        answers = await asyncio.gather(*(caller.review(POD, uid=f"u{i}") for i in range(200)))
    assert [answer["uid"] for answer in answers] == [f"u{i}" for i in range(200)]
    assert all("patch" in answer for answer in answers)


async def test_a_draining_server_answers_and_ends_each_connection(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, _):
        body = json.dumps(a_review(POD)).encode()

        async def connection_after() -> str | None:
            async with caller.session.post(caller.url, data=body, ssl=caller.tls) as response:
                assert patch_in((await response.json())["response"]) != []
                return response.headers.get("Connection")

        assert await connection_after() is None
        server.drain()
        assert await connection_after() == "close"
