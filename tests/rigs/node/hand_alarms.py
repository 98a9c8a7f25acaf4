"""An agent's way from a reading to a raise, without its loop: the readings are made by hand.

So a pod that does nothing is raised when a test says so, by the real controller and API server.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plimsoll_operator.agent.alarm_sender import AlarmSender
from plimsoll_operator.agent.peak_sender import Controller
from plimsoll_operator.agent.pod_cgroups import find_hierarchy, find_kubepods, pods_used_bytes
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_operator.processes.agent import api_server, own_raises
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import create
from tests.e2e.workloads import a_pod
from tests.rigs.node.agent_accounts import AgentAccount
from tests.rigs.node.enforced_limits import CGROUPS, limit_file, limit_in, limited_container

LEFT_MIB = 8
IDLE_MIB = 64


async def an_idle_pod(shop: Shop, name: str) -> str:
    """Create a pod that does nothing, and wait until the kernel enforces its limit; its UID."""
    manifest = a_pod(name, "eat 8 600", task=name, memory=f"{IDLE_MIB}Mi")
    uid = str((await create(shop, manifest)).metadata.uid)

    def runs() -> bool:
        try:
            return limit_in(limit_file(uid)) == IDLE_MIB * MIB
        except FileNotFoundError:
            return False

    await until("its limit is enforced", runs)
    return uid


@dataclass(frozen=True, slots=True)
class HandAlarms:
    """Sends alarms about pods of the node to a running Plimsoll."""

    sender: AlarmSender

    @property
    def granted(self) -> frozenset[str]:
        """The pods for which a raise is granted in advance."""
        return self.sender.own.granted if self.sender.own else frozenset()

    def alarm(self, pod_uid: str) -> Alarm:
        """Return one as if the pod had grown by 10 MiB a second, and had little left."""
        container_id, file = limited_container(pod_uid)
        limit_bytes = limit_in(file)
        used_bytes = limit_bytes - LEFT_MIB * MIB
        return Alarm(
            pod_uid=pod_uid,
            container_id=container_id,
            used_bytes=used_bytes,
            anon_bytes=used_bytes,
            file_bytes=0,
            limit_bytes=limit_bytes,
            growth_bytes_s=10.0 * MIB,
            step_bytes=0,
            steps=0,
            react_s=0.5,
            shape=((0.0, 0), (12.0, used_bytes)),
        )


@contextlib.contextmanager
def hand_alarms(
    cluster: Cluster, plimsoll: Plimsoll, folder: Path, account: AgentAccount | None
) -> Iterator[HandAlarms]:
    """Send them for as long as the block lasts.

    account: with it, the agent raises by itself what is granted; None leaves all to the controller.
    """
    (node,) = [each["metadata"]["name"] for each in cluster.get("nodes")["items"]]
    told = account.environment(folder) if account is not None else {}
    settings = AgentSettings(
        controller_url=f"http://127.0.0.1:{plimsoll.ports.controller}",
        token_file=plimsoll.state / "token",
        node_name=node,
        state_dir=folder,
        api_server=told.get("PLIMSOLL_API_SERVER"),
        api_token_file=Path(told.get("PLIMSOLL_API_TOKEN_FILE", "/none")),
        api_ca_file=Path(told.get("PLIMSOLL_API_CA_FILE", "/none")),
    )
    hierarchy = find_hierarchy(CGROUPS)
    # Other suites' clusters come and go on this machine meanwhile.
    own_cgroup = cluster.handle.layout.name
    kubepods = tuple(path for path in find_kubepods(hierarchy) if own_cgroup in path.parts)
    controller, api = Controller(settings), api_server(settings)
    sender = AlarmSender(
        node,
        controller.send,
        lambda: pods_used_bytes(hierarchy, kubepods),
        own=None if api is None else own_raises(node, controller.send, api),
    )
    sender.start()
    try:
        yield HandAlarms(sender)
    finally:
        sender.stop(5.0)
        controller.close()
        if api is not None:
            api.close()
