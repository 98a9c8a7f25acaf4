"""Scenarios of pods that no Job makes: bare pods, and pods of engines and other controllers."""

from __future__ import annotations

from plimsoll_operator.names import labels
from tests.harm import engines
from tests.harm.manifests import a_pod
from tests.harm.plays import bare
from tests.harm.scenario import Scenario

UNTRIED = a_pod("untried")
UNTRIED["metadata"]["annotations"] = {labels.RETRY: "never"}

SCENARIOS = (
    Scenario("a bare pod", plays=bare(a_pod("bare")), lowers=True),
    Scenario("a bare pod that says retry: never", plays=bare(UNTRIED)),
    Scenario(
        "a bare pod restarted in place (OnFailure)",
        plays=bare(a_pod("inplace", restartPolicy="OnFailure")),
    ),
    Scenario(
        "a bare pod restarted in place (Always)",
        plays=bare(a_pod("always", restartPolicy="Always")),
    ),
    Scenario("an Airflow task with retries=0", plays=engines.airflow(0)),
    Scenario("an Airflow task with retries=2", plays=engines.airflow(2)),
    Scenario("an Argo step without retryStrategy", plays=engines.argo(None)),
    Scenario("an Argo step with retryStrategy limit 1", plays=engines.argo(1)),
    Scenario("a Nextflow process", plays=engines.nextflow()),
    Scenario("a GitLab runner's pod", plays=engines.gitlab()),
    Scenario("a Jenkins agent", plays=engines.jenkins()),
    Scenario("a pod of a controller nobody knows", plays=engines.foreign_controller()),
)
