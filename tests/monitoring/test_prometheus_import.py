"""Past pods from a real Prometheus: what they teach, and what cannot be known."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from plimsoll_operator.__main__ import app
from plimsoll_operator.commands.past_runs.import_prometheus import (
    PrometheusRequest,
    prometheus_command,
)
from plimsoll_operator.prometheus_history import client as prometheus_client
from plimsoll_operator.prometheus_history import windows
from plimsoll_operator.prometheus_history.client import PrometheusClient, PrometheusServer
from plimsoll_operator.prometheus_history.past_pods import ReadingRules
from plimsoll_operator.prometheus_history.promql import Where
from plimsoll_operator.prometheus_history.windows import PastReader
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import Store
from tests.monitoring.past_clusters import NODE, PastCluster, PastPodSeries, flat
from tests.monitoring.prometheus_servers import Prometheus, a_prometheus

HOUR_S = 3600.0
NOW_S = float(int(time.time()))
FIRST_S = NOW_S - 60 * HOUR_S
RUNS = 12


def a_cron_pod(number: int, *, namespace: str = "shop", name: str = "nightly") -> PastPodSeries:
    """A pod of a CronJob's Job, four hours after the last one."""
    job = f"{name}-{28_000_000 + number}"
    return PastPodSeries(
        name=f"{job}-x7k2p",
        namespace=namespace,
        start_s=FIRST_S + number * 4 * HOUR_S,
        owner=("Job", job),
        memory=flat((300 + number) * MIB),
    )


def a_job_pod(namespace: str, **changes: object) -> PastPodSeries:
    """A pod of a Job called load, the only one in its namespace."""
    pod = PastPodSeries(
        name="load-x7k2p", namespace=namespace, start_s=FIRST_S + HOUR_S, owner=("Job", "load")
    )
    return pod.but(**changes)


def a_spike(at_s: float, for_s: float) -> object:
    return lambda s: (800 if at_s <= s < at_s + for_s else 200) * MIB


KILLED = a_job_pod("kills", phase="Failed", reason="OOMKilled", limit_bytes=512 * MIB)
CLUSTER = (
    *(a_cron_pod(number) for number in range(RUNS)),
    KILLED,
    a_job_pod("kills", name="load-b4d6f", start_s=FIRST_S + 2 * HOUR_S),
    a_job_pod("kills", name="load-c8f2g", start_s=FIRST_S + 30 * HOUR_S),
    a_job_pod(
        "labelled",
        owner=("", ""),
        labels={"plimsoll_dev_task": "train", "app": "ignored"},
        annotations={"features_plimsoll_dev_rows": "1200", "features_plimsoll_dev_region": "eu"},
    ),
    a_job_pod("apps", labels={"app": "join-sales"}),
    a_job_pod(
        "airflow",
        owner=("", ""),
        containers=("base", "istio-proxy"),
        labels={
            "dag_id": "sales",
            "task_id": "load",
            "run_id": "r1",
            "kubernetes_pod_operator": "True",
        },
    ),
    a_job_pod("services", owner=("ReplicaSet", "web-5d4f6"), labels={"app": "web"}),
    a_job_pod("bare", owner=("", "")),
    a_job_pod("vanished", lingers_s=0.0),
    a_job_pod("evicted", phase="Failed", reason="Error", evicted=True),
    a_job_pod("failed", phase="Failed", reason="Error"),
    a_job_pod("gap", runtime_s=2 * HOUR_S, unread=(1800.0, 5400.0)),
    a_job_pod("gap", name="other-x7k2p", owner=("Job", "other"), runtime_s=2 * HOUR_S),
    a_job_pod("short", runtime_s=65.0),
    a_job_pod("long", runtime_s=24 * HOUR_S, memory=a_spike(2 * HOUR_S, 120.0)),
    a_job_pod("twins", memory=flat(100 * MIB), uid="11111111-2222-4333-8444-555555555555"),
    a_job_pod(
        "twins",
        memory=flat(200 * MIB),
        start_s=FIRST_S + 1.5 * HOUR_S,
        uid="11111111-2222-4333-8444-666666666666",
    ),
    a_job_pod("restarted", killed_before=1, limit_bytes=512 * MIB),
    a_job_pod("unlimited", limit_bytes=None),
    a_job_pod("unasked", limit_bytes=None, request_bytes=None),
    a_job_pod("several", containers=("first", "second")),
    a_job_pod("full", memory=flat(1000 * MIB), limit_bytes=GIB),
)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    past = PastCluster().add(*CLUSTER).text()
    with a_prometheus(tmp_path_factory.mktemp("prometheus"), past=past) as server:
        yield server


def read(
    prometheus: Prometheus,
    namespace: str,
    *,
    how: ReadingRules | None = None,
    since_s: float = FIRST_S - HOUR_S,
) -> tuple[list[Observation], windows.Progress]:
    async def reading() -> tuple[list[Observation], windows.Progress]:
        async with PrometheusClient(PrometheusServer.at(prometheus.url)) as client:
            reader = PastReader(client, Where((namespace,)), how or ReadingRules())
            found: list[Observation] = []
            async for told in reader.read(since_s, NOW_S):
                found += told
            return found, reader.progress

    return asyncio.run(reading())


def one(prometheus: Prometheus, namespace: str, how: ReadingRules | None = None) -> Observation:
    found, _ = read(prometheus, namespace, how=how)
    assert len(found) == 1, found
    return found[0]


def test_a_cron_jobs_pods_are_runs_of_one_task(prometheus: Prometheus) -> None:
    found, _ = read(prometheus, "shop")
    assert [each.task for each in found] == [TaskId("shop", "nightly")] * RUNS
    assert len({each.run for each in found}) == RUNS
    assert [each.attempt for each in found] == [1] * RUNS
    assert [each.working_set_peak_bytes for each in found] == [(300 + n) * MIB for n in range(RUNS)]


def test_an_attempt_has_all_that_the_series_say(prometheus: Prometheus) -> None:
    first = read(prometheus, "shop")[0][0]
    start_s = FIRST_S
    assert first.outcome is Outcome.SUCCEEDED
    assert (first.request_bytes, first.allocation_bytes) == (GIB, GIB)
    assert (first.submitted_s, first.started_s) == (start_s - 5, start_s)
    assert first.finished_s == start_s + 600
    assert (first.node, first.image, first.request_cores) == (NODE, "train:1", 0.5)
    assert first.anon_peak_bytes == 270 * MIB
    assert first.cpu_s == pytest.approx(0.5 * 580)
    assert (first.exit_code, first.peak_cores, first.kernel_peak_bytes) == (None, None, None)


def test_the_peak_is_the_highest_sample_and_a_margin_and_says_where_it_is_from(
    prometheus: Prometheus,
) -> None:
    first = read(prometheus, "shop", how=ReadingRules(margin=0.2))[0][0]
    assert first.working_set_peak_bytes == 300 * MIB
    assert first.peak_bytes == round(360 * MIB)
    assert first.peak_source is PeakSource.IMPORTED


def test_no_margin_goes_over_the_limit_that_sufficed(prometheus: Prometheus) -> None:
    assert one(prometheus, "full").peak_bytes == GIB


def test_an_oom_kill_teaches_more_than_its_limit_and_its_retry_is_the_same_run(
    prometheus: Prometheus,
) -> None:
    killed, retried, later = read(prometheus, "kills")[0]
    assert killed.outcome is Outcome.OOM_KILLED
    assert killed.need is not None
    assert (killed.need.size_bytes, killed.need.censored) == (512 * MIB, True)
    assert (retried.run, retried.attempt) == (killed.run, 2)
    assert later.run != killed.run, "the Job's name was used again after it had succeeded"


def test_plimsolls_own_label_and_features_are_read(prometheus: Prometheus) -> None:
    found = one(prometheus, "labelled")
    assert found.task == TaskId("labelled", "train")
    assert found.features == {"rows": 1200.0, "region": "eu"}


def test_another_label_may_name_the_task(prometheus: Prometheus) -> None:
    assert one(prometheus, "apps").task.name == "load"
    assert one(prometheus, "apps", ReadingRules(task_label="app")).task.name == "join-sales"


def test_airflows_labels_name_task_and_run_and_base_is_the_container(
    prometheus: Prometheus,
) -> None:
    found = one(prometheus, "airflow")
    assert found.task == TaskId("airflow", "sales.load")
    assert found.run == "airflow:sales.load:r1"
    assert found.workflow_run == "airflow:sales:r1"


@pytest.mark.parametrize("namespace", ["services", "bare"])
def test_what_is_no_batch_task_is_left_alone(prometheus: Prometheus, namespace: str) -> None:
    found, progress = read(prometheus, namespace)
    assert (found, progress.pods) == ([], 0)


def test_a_pod_whose_end_was_never_shown_is_left_out_and_counted(prometheus: Prometheus) -> None:
    found, progress = read(prometheus, "vanished")
    assert found == []
    assert progress.left_out["its end was not seen"] == 1


@pytest.mark.parametrize(
    ("namespace", "outcome"), [("evicted", Outcome.EVICTED), ("failed", Outcome.FAILED)]
)
def test_other_ends_teach_no_need(prometheus: Prometheus, namespace: str, outcome: Outcome) -> None:
    found = one(prometheus, namespace)
    assert (found.outcome, found.need) == (outcome, None)


def test_a_run_read_too_seldom_has_no_peak(prometheus: Prometheus) -> None:
    by_task = {each.task.name: each for each in read(prometheus, "gap")[0]}
    assert by_task["load"].peak_bytes is None
    assert by_task["load"].working_set_peak_bytes == 300 * MIB
    assert by_task["other"].peak_bytes == 330 * MIB
    assert one(prometheus, "short").peak_bytes is None


def test_a_spike_in_an_early_window_of_a_long_run_is_found(prometheus: Prometheus) -> None:
    assert one(prometheus, "long").working_set_peak_bytes == 800 * MIB


def test_a_run_that_began_before_the_stretch_has_no_peak(prometheus: Prometheus) -> None:
    found, _ = read(prometheus, "long", since_s=FIRST_S + 10 * HOUR_S)
    assert [(each.outcome, each.peak_bytes) for each in found] == [(Outcome.SUCCEEDED, None)]


def test_pods_of_one_name_are_told_apart_by_their_cgroup(prometheus: Prometheus) -> None:
    found, _ = read(prometheus, "twins")
    assert [each.working_set_peak_bytes for each in found] == [100 * MIB, 200 * MIB]


def test_a_kill_before_a_restart_in_place_is_an_attempt_and_the_last_has_no_peak(
    prometheus: Prometheus,
) -> None:
    killed, last = read(prometheus, "restarted")[0]
    assert (killed.outcome, killed.allocation_bytes) == (Outcome.OOM_KILLED, 512 * MIB)
    assert last.attempt_uid == f"{killed.attempt_uid}/1"
    assert (last.outcome, last.peak_bytes) == (Outcome.SUCCEEDED, None)


def test_what_nobody_asked_for_is_none(prometheus: Prometheus) -> None:
    unlimited, unasked = one(prometheus, "unlimited"), one(prometheus, "unasked")
    assert (unlimited.request_bytes, unlimited.allocation_bytes) == (GIB, None)
    assert (unasked.request_bytes, unasked.allocation_bytes) == (None, None)


def test_a_pod_of_several_containers_that_nobody_tells_apart_is_left_out(
    prometheus: Prometheus,
) -> None:
    found, progress = read(prometheus, "several")
    assert found == []
    assert progress.left_out["it is not known which of its containers is sized"] == 1


def test_an_answer_that_is_too_large_is_asked_for_in_halves(
    prometheus: Prometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = read(prometheus, "shop")
    monkeypatch.setattr(prometheus_client, "MAX_SERIES", 4)
    assert read(prometheus, "shop")[0] == whole


def test_a_server_that_loads_few_samples_at_once_is_asked_for_less(
    tmp_path: Path, prometheus: Prometheus
) -> None:
    past = PastCluster().add(*(a_cron_pod(number) for number in range(RUNS))).text()
    with a_prometheus(tmp_path, past=past, flags=("--query.max-samples=25",)) as small:
        with pytest.raises(AssertionError, match="too many samples"):
            small.query("max_over_time(kube_pod_info[6h])", FIRST_S + 6 * HOUR_S)
        assert read(small, "shop")[0] == read(prometheus, "shop")[0]


def import_from(prometheus: Prometheus, store: Path, *options: str) -> tuple[int, str]:
    words = ["import", "--prometheus", prometheus.url, "--since", "3d", "--store", str(store)]
    done = CliRunner().invoke(app, [*words, *options], env={"COLUMNS": "200"})
    return done.exit_code, done.output


def stored(store: Path, task: TaskId) -> list[Observation]:
    opened = Store.open(str(store))
    try:
        return opened.observations.of_task(task)
    finally:
        opened.close()


NIGHTLY = TaskId("shop", "nightly")


def test_the_command_keeps_what_it_found_and_says_so(
    prometheus: Prometheus, tmp_path: Path
) -> None:
    status, said = import_from(prometheus, tmp_path / "store.db", "-n", "shop")
    assert status == 0, said
    assert f"{RUNS} attempts of 1 task were found" in said
    assert f"{RUNS} new, 0 known before, 0 bad rows left out" in said
    kept = stored(tmp_path / "store.db", NIGHTLY)
    assert [each.peak_bytes for each in kept] == [
        each.peak_bytes for each in read(prometheus, "shop")[0]
    ]


def test_importing_again_doubles_nothing(prometheus: Prometheus, tmp_path: Path) -> None:
    for new in (RUNS, 0):
        _, said = import_from(prometheus, tmp_path / "store.db", "-n", "shop")
        assert f"{new} new, {RUNS - new} known before" in said


def test_what_plimsoll_measured_itself_is_not_replaced(
    prometheus: Prometheus, tmp_path: Path
) -> None:
    first = read(prometheus, "shop")[0][0]
    measured = Observation(
        attempt_uid=first.attempt_uid,
        task=NIGHTLY,
        run="job:its-uid",
        outcome=Outcome.SUCCEEDED,
        peak_bytes=700 * MIB,
        peak_source=PeakSource.AGENT,
        finished_s=first.finished_s,
    )
    store = Store.open(str(tmp_path / "store.db"))
    store.observations.record([measured])
    store.close()
    import_from(prometheus, tmp_path / "store.db", "-n", "shop")
    kept = {each.attempt_uid: each for each in stored(tmp_path / "store.db", NIGHTLY)}
    assert len(kept) == RUNS
    assert kept[first.attempt_uid] == measured


def test_what_was_found_can_be_saved_and_looked_at_first(
    prometheus: Prometheus, tmp_path: Path
) -> None:
    file = tmp_path / "past.csv"
    status, said = import_from(prometheus, tmp_path / "s.db", "-n", "kills", "--save", str(file))
    assert status == 0, said
    assert file.read_text().count("oom-killed") == 1
    assert not (tmp_path / "s.db").exists()


def ask(prometheus: Prometheus, folder: Path, **changes: object) -> tuple[int, str]:
    said = io.StringIO()
    request = PrometheusRequest(address=prometheus.url, **changes)  # type: ignore[arg-type]
    console = Console(file=said, width=300)
    return prometheus_command(request, folder / "past.csv", NOW_S, console), said.getvalue()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"since": "soon"}, "'soon' is no time"),
        ({"since": "2099-01-01"}, "is not in the past"),
        ({"since": "1d", "until": "2d"}, "--until is not after --since"),
        ({"matchers": ['cluster=prod"']}, "is no matcher"),
        ({"namespaces": ['x",a="']}, "is no namespace's name"),
        ({"namespaces": ["nowhere"]}, "no pods of tasks were found in nowhere"),
        ({"namespaces": ["vanished"]}, "no pod's end was seen in vanished"),
        ({"address": "localhost:9090"}, "is no address of a Prometheus"),
        ({"address": "http://u:secret@/x"}, "is no address of a Prometheus"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(
    prometheus: Prometheus, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    address = {"address": prometheus.url, **changes}
    said = io.StringIO()
    status = prometheus_command(
        PrometheusRequest(**address),  # type: ignore[arg-type]
        tmp_path / "past.csv",
        NOW_S,
        Console(file=said, width=400),
    )
    assert status == 1
    assert words in said.getvalue()
    assert "secret" not in said.getvalue()


def test_a_matcher_narrows_what_is_looked_at(prometheus: Prometheus, tmp_path: Path) -> None:
    status, said = ask(prometheus, tmp_path, since="3d", matchers=('namespace=~"kills|shop"',))
    assert status == 0, said
    assert f"{RUNS + 3} attempts of 2 tasks were found" in said
