"""Bare pods whose input a person uses, or whose installer waits for them by name."""

from __future__ import annotations

import pytest

from plimsoll_operator.pods.identity import Retrier, identify
from tests.builders.pods import a_pod, memory_of
from tests.operator.sizing.admitted import ASKING, after, state_of
from tests.rigs.servers.admission_servers import knowledge_of


@pytest.mark.parametrize(
    ("fields", "retrier"),
    [
        pytest.param({"stdin": True, "tty": True}, Retrier.MAKER, id="kubectl run -it"),
        pytest.param({"stdin": False}, Retrier.PLIMSOLL, id="nobody"),
        pytest.param({"stdin": "yes"}, Retrier.PLIMSOLL, id="nonsense"),
    ],
)
def test_a_pod_that_somebody_talks_to_is_never_copied(
    fields: dict[str, object], retrier: Retrier
) -> None:
    """``kubectl run -i`` says how the first pod ended, and deletes it with ``--rm``."""
    identity = identify(a_pod().with_container("shell", **fields).built())
    assert identity is not None
    assert identity.retrier is retrier


@pytest.mark.parametrize("hook", ["helm.sh/hook", "argocd.argoproj.io/hook"])
def test_a_bare_hook_of_an_installation_is_never_copied(hook: str) -> None:
    """``helm test`` fails with the pod that it made, and a copy would install a second time."""
    identity = identify(a_pod().annotated({hook: "test"}).built())
    assert identity is not None
    assert identity.retrier is Retrier.MAKER


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        pytest.param({"batch.amazonaws.com/job-id": "b1"}, "aws-batch.14638eb9", id="AWS Batch"),
        pytest.param({"runner-pod": "arc-x-runner"}, "arc-x-runner-workflow", id="GitHub's runner"),
        pytest.param({"io.drone": "true"}, "drone-0a1b2c", id="Drone"),
        pytest.param({"app": "snakemake"}, "snakejob-5f3e", id="Snakemake"),
        pytest.param({"woodpecker-ci.org/step": "build"}, "wp-01he8b", id="Woodpecker"),
        pytest.param({"step": "build"}, "wp-01he8bebctabr3kgk0qj36d2me-0", id="Woodpecker 2"),
    ],
)
def test_a_pod_that_its_product_watches_is_neither_copied_nor_lowered(
    labels: dict[str, str], name: str
) -> None:
    pod = ASKING.with_labels(labels).named(name)
    identity = identify(pod.built())
    assert identity is not None
    assert identity.retrier is Retrier.MAKER
    assert memory_of(after(pod, state_of(knowledge_of()))) == memory_of(ASKING)


@pytest.mark.parametrize(
    ("labels", "name"),
    [({"app": "train"}, "train-1"), ({"step": "build"}, "train-1"), ({"app": "x"}, "wp-1")],
)
def test_a_pod_that_only_looks_a_little_like_these_is_run_again(
    labels: dict[str, str], name: str
) -> None:
    identity = identify(ASKING.with_labels(labels).named(name).built())
    assert identity is not None
    assert identity.retrier is Retrier.PLIMSOLL
