"""Scenarios of programs that read the limit, and of pods that ask in unusual ways."""

from __future__ import annotations

from typing import Any

from tests.harm.engines import TRAININGS, polled
from tests.harm.manifests import a_container, a_job, a_pod, a_template, eats, memory
from tests.harm.plays import bare, jobs, of_class
from tests.harm.scenario import ASKED_MIB, NEEDS_MIB, Past, Scenario
from tests.rigs.images.runtimes_image import IMAGE, JAVA, PYTHON

TRIES = 4
"""Enough for a first size below what was asked for."""
DEFAULT_HEAP_MIB, HEAP_MIB = 640, 256
CACHE_MIB, LEAST_CACHE_MIB, CACHE_SHARE = 128, 40, 0.6
RESUMES: dict[str, Any] = {
    "restartPolicy": "OnFailure",
    "volumes": [{"name": "state", "emptyDir": {}}],
}


def _past(*peaks_mib: float, asked_mib: int, **more: Any) -> Past:
    return Past(peaks_mib * 3, asked_mib, **more)


def _runs(asked_mib: int, *command: str) -> Any:
    return a_template(a_container(command, memory(asked_mib, asked_mib), image=IMAGE))


def resuming() -> dict[str, Any]:
    """Killed by its author's own limit the first time; succeeds the second time, in place."""
    container = a_container((*PYTHON, "resume", "/state", "90"), memory(64, 64), image=IMAGE)
    return {**container, "volumeMounts": [{"name": "state", "mountPath": "/state"}]}


HOLDS: Any = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
SHARES: dict[str, Any] = {"volumes": [{"name": "shared", "emptyDir": {}}]}
ENDS_ITS_PROXY = f"""
import time
held = bytearray({NEEDS_MIB} << 20)
held[::4096] = b"1" * len(range(0, len(held), 4096))
time.sleep(1)
open("/shared/done", "w")
"""
WAITS_FOR_ITS_TASK = """
import os, time
while not os.path.exists("/shared/done"):
    time.sleep(0.2)
"""


def proxied() -> dict[str, Any]:
    """A task, and a proxy that goes on until the task tells it to end."""
    does = (*PYTHON[:-1], "-c")
    task = a_container((*does, ENDS_ITS_PROXY), image=IMAGE)
    proxy = a_container((*does, WAITS_FOR_ITS_TASK), memory(48, 48), image=IMAGE)
    containers = [{**task, **HOLDS}, {**proxy, **HOLDS, "name": "proxy"}]
    return {"containers": containers, **SHARES}


SCENARIOS = (
    Scenario(
        "a JVM with its default heap",
        plays=jobs(
            a_job(
                "jvm",
                _runs(
                    DEFAULT_HEAP_MIB,
                    JAVA[0],
                    "-XX:+ExitOnOutOfMemoryError",
                    *JAVA[1:],
                    "Heap",
                    "110",
                    "1",
                ),
                backoffLimit=TRIES - 1,
            )
        ),
        past=_past(140, 146, 150, 144, asked_mib=DEFAULT_HEAP_MIB),
        ends_itself_with=(3,),
    ),
    Scenario(
        "a JVM with MaxRAMPercentage=75",
        plays=jobs(
            a_job(
                "jvm",
                _runs(HEAP_MIB, JAVA[0], "-XX:MaxRAMPercentage=75", *JAVA[1:], "Heap", "130", "1"),
                backoffLimit=TRIES - 1,
            )
        ),
        past=_past(92, 98, 95, 100, asked_mib=HEAP_MIB),
        ends_itself_with=(1,),
    ),
    Scenario(
        "a JVM that is tried once",
        plays=jobs(
            a_job(
                "jvm",
                _runs(HEAP_MIB, JAVA[0], "-XX:MaxRAMPercentage=75", *JAVA[1:], "Heap", "130", "1"),
                backoffLimit=0,
            )
        ),
        past=_past(92, 98, 95, 100, asked_mib=HEAP_MIB),
        ends_itself_with=(1,),
    ),
    Scenario(
        "a Python cache as large as the limit allows",
        plays=jobs(
            a_job(
                "cache",
                _runs(CACHE_MIB, *PYTHON, "cache", str(LEAST_CACHE_MIB), str(CACHE_SHARE)),
                backoffLimit=TRIES - 1,
            )
        ),
        # The cache shrank with the sizes.
        past=Past(
            (84,) * 2 + (70,) * 2 + (58,) * 24,
            CACHE_MIB,
            allocated_mib=(128,) * 2 + (104,) * 2 + (84,) * 24,
        ),
        ends_itself_with=(1,),
    ),
    Scenario(
        "a program that ends by 137 before the kernel does it",
        plays=jobs(
            a_job("watchful", _runs(ASKED_MIB, *PYTHON, "watchdog", "90"), backoffLimit=TRIES - 1)
        ),
        ends_itself_with=(137,),
    ),
    Scenario(
        "a program whose worker is killed",
        plays=jobs(
            a_job(
                "parent", a_template(a_container(["/task", "worker", "90"])), backoffLimit=TRIES - 1
            )
        ),
    ),
    Scenario(
        "a Job that goes on where its first start was killed",
        plays=jobs(a_job("resuming", a_template(resuming(), **RESUMES), backoffLimit=2)),
        past=None,
    ),
    Scenario(
        "an unknown controller's pod that goes on after a kill",
        plays=polled(a_pod("resuming", resuming(), **RESUMES), owner=TRAININGS),
        past=None,
    ),
    Scenario(
        "a pod whose limit is above its request",
        plays=jobs(
            a_job(
                "between",
                a_template(a_container(eats(120), memory(64, 160))),
                backoffLimit=TRIES - 1,
            )
        ),
        past=_past(40, 42, 41, 39, asked_mib=64, allocated_mib=(160,) * 12),
    ),
    Scenario(
        "a pod with a request and no limit",
        plays=jobs(
            a_job(
                "open", a_template(a_container(eats(120), memory(64, None))), backoffLimit=TRIES - 1
            )
        ),
        past=_past(40, 42, 41, 39, asked_mib=64),
    ),
    Scenario(
        "a bare pod with a request and no limit",
        plays=bare(a_pod("open", a_container(eats(120), memory(64, None)))),
        past=_past(40, 42, 41, 39, asked_mib=64),
    ),
    Scenario(
        "a Guaranteed pod with one whole CPU",
        plays=of_class(
            "Guaranteed",
            a_pod(
                "pinned",
                a_container(
                    eats(),
                    {
                        "requests": {"cpu": "1", "memory": "128Mi"},
                        "limits": {"cpu": "1", "memory": "128Mi"},
                    },
                ),
            ),
        ),
    ),
    Scenario(
        "a BestEffort pod",
        plays=of_class("BestEffort", a_pod("besteffort", a_container(eats(), {}))),
    ),
    Scenario(
        "a Job whose proxy waits for its task's word",
        plays=jobs(a_job("proxied", a_template(**proxied()), backoffLimit=TRIES - 1)),
        lowers=True,
    ),
    Scenario(
        "a bare pod whose proxy waits for its task's word",
        plays=bare(a_pod("proxied", **proxied())),
    ),
    Scenario(
        "a Job with a sidecar",
        plays=jobs(
            a_job(
                "accompanied",
                a_template(
                    initContainers=[
                        {
                            **a_container(eats(20, for_s=300), memory(48, 48)),
                            "name": "sidecar",
                            "restartPolicy": "Always",
                        }
                    ]
                ),
                backoffLimit=TRIES - 1,
            )
        ),
    ),
)
