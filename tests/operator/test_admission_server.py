"""The server as the API server meets it: over TLS, with whatever bodies come."""

from __future__ import annotations

from pathlib import Path

from plimsoll_operator import labels

from tests.builders import a_pod, decision_of, memory_of
from tests.operator.admission_servers import a_server, knowledge_of, patch_in


async def test_a_labelled_pod_is_sized_over_tls(tmp_path: Path) -> None:
    pod = a_pod().asking("4Gi").limited("4Gi")
    async with a_server(tmp_path, knowledge_of()) as (caller, _, _):
        after = pod.patched(patch_in(await caller.review(pod)))
    assert memory_of(after) == ("1127Mi", "1127Mi")
    assert decision_of(after)["was"] == {"request": "4Gi", "limit": "4Gi"}
