"""The Job of a run: its template, the run's memory and values, and what others see of it."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.campaigns.job_facts import seen_jobs
from plimsoll_operator.campaigns.job_manifest import RUN_PREFIX, job_manifest, job_name, run_key
from plimsoll_operator.campaigns.spec import FeatureSpec, read_campaign
from plimsoll_operator.names import labels
from plimsoll_operator.pods.features import read_features
from plimsoll_operator.pods.identity import identify
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.campaigns.seen import SeenJob
from plimsoll_predictor.core.units import MIB
from tests.operator.campaigns.documents import UID, a_job, its_pod, stored

RUN = CampaignRun(scenario=7, attempt=2, values={"mib": "30"}, memory_bytes=256 * MIB)


def its_pod_of(job: dict[str, Any]) -> dict[str, Any]:
    """The pod that the Job's controller makes."""
    pod: dict[str, Any] = copy.deepcopy(job["spec"]["template"])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    pod["metadata"] |= {"namespace": "shop", "uid": "p", "ownerReferences": [owner]}
    return pod


def test_a_run_is_one_pod_with_the_campaigns_memory_that_nothing_but_the_campaign_repeats() -> None:
    campaign = read_campaign(stored())
    job = job_manifest(campaign, RUN)
    assert (job["spec"]["backoffLimit"], job["spec"]["template"]["spec"]["restartPolicy"]) == (
        0,
        "Never",
    )
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"memory": "256Mi"},
        "limits": {"memory": "256Mi"},
    }
    assert container["env"] == [{"name": "MIB", "value": "30"}]
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "ProfilingCampaign",
        campaign.uid,
        True,
    )


def test_its_pod_is_learned_as_the_task_with_its_features_and_only_recommended_for() -> None:
    campaign = read_campaign(stored())
    pod = its_pod_of(job_manifest(campaign, RUN))
    identity = identify(pod)
    assert identity is not None
    assert identity.task == campaign.task
    assert identity.run == run_key(campaign.uid, 7)
    assert identity.run.startswith(RUN_PREFIX)
    assert read_features(pod).values == {"mib": 30.0}
    assert pod["metadata"]["annotations"][labels.MODE] == "recommend"


def test_what_a_template_says_of_modes_and_runs_gives_way() -> None:
    document = stored()
    document["spec"]["podTemplate"]["metadata"] = {
        "labels": {labels.MODE: "enforce", "team": "a", labels.TASK: "other"},
        "annotations": {labels.MODE: "enforce", labels.ITEM: "x", "team": "b"},
    }
    meta = job_manifest(read_campaign(document), RUN)["spec"]["template"]["metadata"]
    assert labels.MODE not in meta["labels"]
    assert (meta["labels"]["team"], meta["labels"][labels.TASK]) == ("a", "train")
    assert (meta["annotations"][labels.MODE], meta["annotations"][labels.ITEM]) == (
        "recommend",
        "7",
    )
    assert meta["annotations"]["team"] == "b"


def test_values_are_passed_by_argument_and_annotation_as_they_are() -> None:
    document = stored(
        features=[
            {"name": "mib", "argument": "--mib", "annotation": "example.com/mib", "env": "HOME"}
        ]
    )
    container = document["spec"]["podTemplate"]["spec"]["containers"][0]
    container |= {"args": ["run"], "env": [{"name": "HOME", "value": "/"}, {"name": "A"}]}
    run = CampaignRun(scenario=0, values={"mib": "$(A)"}, memory_bytes=MIB)
    template = job_manifest(read_campaign(document), run)["spec"]["template"]
    (made,) = template["spec"]["containers"]
    assert made["args"] == ["run", "--mib=$$(A)"]
    assert made["env"] == [{"name": "HOME", "value": "$$(A)"}, {"name": "A"}]
    assert template["metadata"]["annotations"]["example.com/mib"] == "$(A)"
    assert container["args"] == ["run"], "the campaign itself is not changed"


def test_a_value_comes_before_the_variables_that_refer_to_it() -> None:
    """Kubernetes replaces $(NAME) only by what is written earlier."""
    document = stored(features=[{"name": "mib", "env": "MIB"}, {"name": "new", "env": "NEW"}])
    (container,) = document["spec"]["podTemplate"]["spec"]["containers"]
    other = {"name": "OTHER", "value": "$(NEW)"}
    path = {"name": "PATH", "value": "/data/$(MIB)"}
    by_hand = {"name": "MIB", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    container["env"] = [other, by_hand, path]
    run = CampaignRun(scenario=0, values={"mib": "30", "new": "x"}, memory_bytes=MIB)
    (made,) = job_manifest(read_campaign(document), run)["spec"]["template"]["spec"]["containers"]
    assert made["env"] == [
        {"name": "NEW", "value": "x"},
        other,
        {"name": "MIB", "value": "30"},
        path,
    ]


def expanded(text: str) -> str:
    """What the kubelet makes of a variable or an argument, if X is "replaced"."""
    return re.sub(r"\$\$|\$\(X\)", lambda found: {"$$": "$"}.get(found[0], "replaced"), text)


@pytest.mark.parametrize("value", ["a$$b", "$$(X)", "$(X)", "5$", "5$$", "$a", "$(", "$$$(X)"])
def test_a_value_arrives_as_it_is_whatever_kubernetes_replaces(value: str) -> None:
    features = [{"name": "mib", "env": "MIB", "argument": "--mib"}]
    run = CampaignRun(scenario=0, values={"mib": value}, memory_bytes=MIB)
    template = job_manifest(read_campaign(stored(features=features)), run)["spec"]["template"]
    (made,) = template["spec"]["containers"]
    assert expanded(made["env"][0]["value"]) == value
    assert expanded(made["args"][-1]) == f"--mib={value}"


@pytest.mark.parametrize(
    ("allowed", "written", "seconds"),
    [
        pytest.param(600, None, 600, id="the campaign's"),
        pytest.param(600, 60, 60, id="the template's, which is smaller"),
        pytest.param(600, 900, 600, id="the campaign's, which is smaller"),
        pytest.param(None, 60, 60, id="the template's alone"),
        pytest.param(None, None, None, id="none"),
    ],
)
def test_a_deadline_is_the_pods_so_that_no_wait_for_room_counts(
    allowed: int | None, written: int | None, seconds: int | None
) -> None:
    document = stored(activeDeadlineSeconds=allowed)
    document["spec"]["podTemplate"]["spec"]["activeDeadlineSeconds"] = written
    job = job_manifest(read_campaign(document), RUN)
    assert "activeDeadlineSeconds" not in job["spec"]
    assert job["spec"]["template"]["spec"]["activeDeadlineSeconds"] == seconds
    assert document["spec"]["podTemplate"]["spec"]["activeDeadlineSeconds"] == written


def test_a_jobs_name_fits_and_differs_by_campaign_scenario_and_attempt() -> None:
    long = "a.b-" * 60 + "c"
    last = CampaignRun(scenario=4999, attempt=10, values={}, memory_bytes=1)
    names = {
        job_name(name, uid, run) for name in (long, "b") for uid in "xy" for run in (RUN, last)
    }
    assert len(names) == 8
    assert max(map(len, names)) <= 63
    assert not any("." in name for name in names)


def test_a_jobs_end_is_read_from_its_conditions() -> None:
    done = {"type": "Complete", "status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"}
    bad = {"type": "Failed", "status": "True", "message": "DeadlineExceeded"}
    not_yet = {"type": "Failed", "status": "False"}
    seen = seen_jobs(
        UID,
        [
            a_job(0, conditions=[done]),
            a_job(1, conditions=[bad]),
            a_job(2, conditions=[not_yet], active=1),
            a_job(3, owner="another of this name"),
            {"metadata": {"labels": {labels.SCENARIO: "x"}}},
        ],
        [its_pod(2, containerStatuses=[{"state": {"running": {}}}])],
    )
    assert seen == {
        (0, 1): SeenJob(succeeded=True, finished_s=60.0, stuck_why=seen[0, 1].stuck_why),
        (1, 1): SeenJob(failed=True, stuck_why="DeadlineExceeded"),
        (2, 1): SeenJob(
            started=True, goes_on=True, stuck_why=seen[2, 1].stuck_why, pod_uid="pod-2"
        ),
    }


@pytest.mark.parametrize(
    ("states", "goes_on"),
    [
        pytest.param(("terminated",), False, id="its phase says so a little later"),
        pytest.param(("terminated", "running"), True, id="a second container runs"),
        pytest.param(("terminated", "waiting"), True, id="a second container waits for its image"),
        pytest.param((), False, id="no container was made"),
    ],
)
def test_a_pod_goes_on_until_all_its_containers_have_ended(
    states: tuple[str, ...], goes_on: bool
) -> None:
    pod = its_pod(0, containerStatuses=[{"state": {each: {}}} for each in states])
    (seen,) = seen_jobs(UID, [a_job(0, active=1)], [pod]).values()
    assert seen.goes_on is goes_on


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        pytest.param([], "it has no pod; `kubectl describe job job-0`", id="no pod"),
        pytest.param(
            [its_pod(0, containerStatuses=[{"state": {"waiting": {"reason": "ErrImagePull"}}}])],
            "ErrImagePull: image registry/none:1",
            id="no image",
        ),
        pytest.param(
            [
                its_pod(
                    0,
                    conditions=[
                        {
                            "type": "PodScheduled",
                            "status": "False",
                            "message": "0/1 nodes are available: 1 Insufficient memory.",
                        }
                    ],
                )
            ],
            "no node takes it: 0/1 nodes are available: 1 Insufficient memory.",
            id="no node",
        ),
    ],
)
def test_why_nothing_started_is_said(pods: list[dict[str, Any]], words: str) -> None:
    (seen,) = seen_jobs(UID, [a_job(0, active=1)], pods).values()
    assert not seen.started
    assert words in seen.stuck_why
    assert seen.lacks_room is ("Image" not in words)


@pytest.mark.parametrize("kind", ["FailureTarget", "Failed"])
def test_a_job_that_ran_longer_than_allowed_is_told_from_others(kind: str) -> None:
    late = {"type": kind, "status": "True", "reason": "DeadlineExceeded"}
    (seen,) = seen_jobs(UID, [a_job(0, conditions=[late])], []).values()
    (other,) = seen_jobs(UID, [a_job(0, conditions=[late | {"reason": "x"}])], []).values()
    assert (seen.too_long, other.too_long) == (True, False)


def test_no_feature_says_of_a_run_what_the_campaign_says_of_it() -> None:
    campaign = read_campaign(stored())
    told = replace(
        campaign,
        features=tuple(
            FeatureSpec(name="mib", annotation=each)
            for each in (labels.MODE, labels.RUN, labels.ITEM, labels.RETRY)
        ),
    )
    own, made = (
        job_manifest(each, RUN)["spec"]["template"]["metadata"]["annotations"]
        for each in (campaign, told)
    )
    assert made == own
