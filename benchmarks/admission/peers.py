"""The two servers that are compared, each run as a process of its own.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.admission.peers plimsoll|kopf FOLDER

It serves until SIGTERM. Both size with the same code, from the same snapshot in the folder; kopf's
does so in an ordinary handler.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import functools
import signal
from pathlib import Path
from typing import Any

from tests.rigs.servers.ports import free_port

SNAPSHOT = "snapshot.jsonl"
CERTIFICATE = "tls.crt"
KEY = "tls.key"
PORT = "port"
"""The file to which a server writes its port when it listens."""
RESOURCE = "pods"


def serve_plimsoll(folder: Path) -> None:
    """The admission server, as deployed; its controller is down, so it serves from its snapshot."""
    from plimsoll_operator.admission.settings import AdmissionSettings
    from plimsoll_operator.processes.admission import serve

    port = free_port()
    token = folder / "token"
    token.write_text("unused")
    settings = AdmissionSettings(
        listen_address="127.0.0.1",
        listen_port=port,
        metrics_listen_port=0,
        certificate_file=folder / CERTIFICATE,
        key_file=folder / KEY,
        feed_url=f"http://127.0.0.1:{free_port()}",
        feed_token_file=token,
        snapshot_file=folder / SNAPSHOT,
        drain_s=0.0,
    )
    (folder / PORT).write_text(str(port))
    serve(settings)


def serve_kopf(folder: Path) -> None:
    """Kopf's own server and dispatch, on the event loop that kopf itself prefers."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_kopf(folder))


async def _serve_kopf(folder: Path) -> None:
    import kopf
    from kopf._cogs.structs.ephemera import AnyMemo
    from kopf._cogs.structs.references import Insights, Resource
    from kopf._core.engines.admission import serve_admission_request
    from kopf._core.engines.indexing import OperatorIndexers
    from kopf._core.intents.registries import SmartOperatorRegistry
    from kopf._core.reactor.inventory import ResourceMemories

    registry = SmartOperatorRegistry()
    _register(registry, folder)
    insights = Insights()
    insights.webhook_resources.add(
        Resource(group="", version="v1", plural=RESOURCE, kind="Pod", namespaced=True)
    )
    # Kopf's operator binds this before it gives the function to its webhook server.
    answer = functools.partial(
        serve_admission_request,
        settings=kopf.OperatorSettings(),
        registry=registry,
        insights=insights,
        memories=ResourceMemories(),
        memobase=AnyMemo(kopf.Memo()),
        indices=OperatorIndexers().indices,
    )
    port = free_port()
    server = kopf.WebhookServer(
        addr="127.0.0.1", port=port, certfile=folder / CERTIFICATE, pkeyfile=folder / KEY
    )
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    async with server:
        async for _ in server(answer):
            (folder / PORT).write_text(str(port))
            await told.wait()
            break


def _register(registry: Any, folder: Path) -> None:
    import kopf

    from plimsoll_operator.admission.snapshot import load_snapshot
    from plimsoll_operator.names.labels import DECISION
    from plimsoll_operator.sizing.pod_sizing import size
    from plimsoll_operator.sizing.state import AdmissionState

    state = AdmissionState()
    load_snapshot(folder / SNAPSHOT, state)

    @kopf.on.mutate(RESOURCE, id="size", operations=["CREATE"], registry=registry)
    async def size_pod(body: kopf.Body, patch: kopf.Patch, namespace: str | None, **_: Any) -> None:
        sized = size(dict(body), state, namespace)
        containers = copy.deepcopy(body["spec"]["containers"])
        for operation in sized.patch:
            _, *parts = operation["path"].replace("~1", "/").split("/")
            if parts[0] == "spec":
                _set(containers[int(parts[2])], parts[3:], operation["value"])
            else:
                value = operation["value"]
                note = value[DECISION] if isinstance(value, dict) else value
                patch.metadata.annotations[DECISION] = note
        patch.spec["containers"] = containers


def _set(target: dict[str, Any], parts: list[str], value: object) -> None:
    for part in parts[:-1]:
        target = target.setdefault(part, {})
    target[parts[-1]] = value


def main() -> None:
    """Serve one of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=("plimsoll", "kopf"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    {"plimsoll": serve_plimsoll, "kopf": serve_kopf}[options.peer](options.folder)


if __name__ == "__main__":
    main()
